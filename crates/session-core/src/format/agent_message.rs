//! Messages: the `message` of an entry as a Rust value, by its role.
//!
//! Names and units are those of the declarations of pi 1.6.0. [`Session::message`](crate::session::Session::message)
//! reads one, [`Session::append_message`](crate::session::Session::append_message) appends one.
//!
//! ```
//! use pi_session_core::agent_message::{AgentMessage, Content, UserMessage};
//! let message = AgentMessage::user("Hello", 1767225600000.0);
//! let json = r#"{"role":"user","content":"Hello","timestamp":1767225600000}"#;
//! assert_eq!(serde_json::to_string(&message)?, json);
//! let AgentMessage::User(UserMessage { content, .. }) = serde_json::from_str(json)? else { panic!() };
//! assert_eq!(content, Content::from("Hello"));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # What a typed value does not keep
//!
//! A message of any role can be read. If its fields do not have the types that its role declares, it is
//! [`AgentMessage::Other`]. Fields that are not declared here are in `extra`. A typed value does not keep
//!
//! - the order of declared fields, which is that of the declaration (fields in `extra` follow, and JSON values keep
//!   their order),
//! - the texts of numbers (`1.50` becomes `1.5`; integers beyond 2^64 become the nearest `f64`),
//! - repeated keys (the last one counts),
//! - lone surrogates (`"\ud83d"`), which become U+FFFD,
//! - an optional field that is null (it becomes a missing one), and a required field that is missing: it is written
//!   with its default value, for example an empty `content`. A `content` that is null is read as a missing one.
//!
//! serde_json reads no number beyond the range of `f64` (`1e999`) and no text that is nested deeper than 128 levels.
//! `Session::entry`, `Session::message` and `Session::context` then fail with `SessionInvalid`.
//! [`Session::line`](crate::session::Session::line) returns each line unchanged.
//!
//! Values are allocated as usual in Rust: if the system refuses the memory, the process ends. All other calls of this
//! crate fail with `ENOMEM` instead.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message_parts::{
    declared, or_default, plain_number, plain_numbers, read_by_name, ContentBlock, DeferredHandle, Diagnostic, Extra,
    NestedToolCalls, StopReason, Tool, ToolReference, Usage,
};

pub use super::kinds::Role;

read_by_name!(
    AgentMessage by "role", a Role: User, Assistant, ToolResult, System, BashExecution, Custom, BranchSummary, CompactionSummary;
    HookMessage, Other
);

/// A message. The variant is its `role`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "camelCase")]
#[non_exhaustive]
// We box no variant, because patterns cannot look into a box, and because most messages have the largest variant.
#[allow(clippy::large_enum_variant)]
pub enum AgentMessage {
    /// A message that the user wrote.
    User(UserMessage),
    /// An answer of the model.
    Assistant(AssistantMessage),
    /// The result of a tool call.
    ToolResult(ToolResultMessage),
    /// Instructions and tools.
    System(SystemMessage),
    /// A command that the user ran.
    BashExecution(BashExecutionMessage),
    /// A message of an extension to the model.
    Custom(CustomMessage),
    /// The summary of a branch that was left. No entry contains it: the context makes it from a `branch_summary` entry.
    BranchSummary(BranchSummaryMessage),
    /// The summary of everything before a compaction. No entry contains it: the context makes it from a `compaction`
    /// entry.
    CompactionSummary(CompactionSummaryMessage),
    /// The JSON value of a message with another role, or whose fields do not have the types that its role declares.
    #[serde(untagged)]
    Other(Value),
}

impl AgentMessage {
    /// A message of the user with this text, at a time in milliseconds since 1970.
    pub fn user(text: impl Into<String>, timestamp: f64) -> Self {
        let content = Content::Text(text.into());
        Self::User(UserMessage { content, timestamp: Some(timestamp), ..UserMessage::default() })
    }

    /// The message's role.
    pub fn role(&self) -> Role {
        match self {
            Self::User(_) => Role::User,
            Self::Assistant(_) => Role::Assistant,
            Self::ToolResult(_) => Role::ToolResult,
            Self::System(_) => Role::System,
            Self::BashExecution(_) => Role::BashExecution,
            Self::Custom(_) => Role::Custom,
            Self::BranchSummary(_) => Role::BranchSummary,
            Self::CompactionSummary(_) => Role::CompactionSummary,
            Self::Other(value) => {
                let name = value.get("role").and_then(Value::as_str);
                name.map_or(Role::Other, |name| Role::from_name(name.as_bytes()))
            }
        }
    }
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A text.
    Text(String),
    /// A list of blocks.
    Blocks(Vec<ContentBlock>),
}

/// No blocks.
impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<ContentBlock>> for Content {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self::Blocks(blocks)
    }
}

impl Content {
    /// The text itself, or the texts of its text blocks.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (text, blocks) = match self {
            Self::Text(text) => (Some(text.as_str()), [].as_slice()),
            Self::Blocks(blocks) => (None, blocks.as_slice()),
        };
        text.into_iter().chain(texts_of(blocks))
    }
}

/// The texts of the text blocks.
fn texts_of(blocks: &[ContentBlock]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(|block| match block {
        ContentBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    })
}

declared! {
    /// A message that the user wrote.
    pub struct UserMessage {
        /// A text, or blocks of text and images.
        #[serde(default, deserialize_with = "or_default")]
        pub content: Content,
        /// Milliseconds since 1970. May be missing in a file that was edited by hand.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub timestamp: Option<f64>,
    }

    /// An answer of the model.
    pub struct AssistantMessage {
        /// Blocks of text, thinking and tool calls.
        #[serde(default, deserialize_with = "or_default")]
        pub content: Vec<ContentBlock>,
        /// The name of the provider's programming interface.
        #[serde(default)]
        pub api: String,
        /// The provider of the model.
        #[serde(default)]
        pub provider: String,
        /// The model that pi requested.
        #[serde(default)]
        pub model: String,
        /// The model that the provider names in its answer, if it differs from `model`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub response_model: Option<String>,
        /// The provider's id of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub response_id: Option<String>,
        /// The thinking level that was requested, in the provider's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub provider_thinking_level: Option<String>,
        /// The thinking level that was requested, in pi's words: `off`, `minimal`, `low`, `medium`, `high`, `xhigh` or
        /// `max`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub thinking_level: Option<String>,
        /// Problems during the call.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub diagnostics: Option<Vec<Diagnostic>>,
        /// The tokens of the call and their price.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub usage: Option<Usage>,
        /// Why the answer ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub stop_reason: Option<StopReason>,
        /// Where to fetch the answer later; only with the reason `deferred`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub deferred: Option<DeferredHandle>,
        /// The error; only with the reasons `error` and `aborted`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub error_message: Option<String>,
        /// Why the answer ended, in the provider's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub raw_stop_reason: Option<String>,
        /// Whether the model itself ended its turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub end_turn: Option<bool>,
        /// When the request began, in milliseconds since 1970. May be missing in a file that was edited by hand.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub timestamp: Option<f64>,
        /// Milliseconds from `timestamp` until the answer ended.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub duration_ms: Option<f64>,
    }

    /// The result of a tool call.
    pub struct ToolResultMessage {
        /// The `id` of the tool call.
        #[serde(default)]
        pub tool_call_id: String,
        /// The name of the tool.
        #[serde(default)]
        pub tool_name: String,
        /// Blocks of text and images.
        #[serde(default, deserialize_with = "or_default")]
        pub content: Vec<ContentBlock>,
        /// Data for the display. Models do not see it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub details: Option<Value>,
        /// The model calls that the tool itself made.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub usage: Option<Usage>,
        /// The calls of the tool to other tools. Models do not see them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub nested_calls: Option<NestedToolCalls>,
        /// Whether the tool failed. `content` describes the error.
        #[serde(default)]
        pub is_error: bool,
        /// Milliseconds since 1970. May be missing in a file that was edited by hand.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub timestamp: Option<f64>,
        /// How long the tool ran, in milliseconds.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub duration_ms: Option<f64>,
    }

    /// Instructions and tools, valid from this point of the conversation. The first message is the system prompt; each
    /// later one changes it.
    pub struct SystemMessage {
        /// Instructions: a text, or blocks of text. A later message adds to them.
        #[serde(default, deserialize_with = "or_default")]
        pub content: Content,
        /// Named parts of the prompt, in their order. A later message replaces a part by its name; null removes the
        /// part.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sections: Option<Sections>,
        /// Tools that the model may use from here on.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tools_added: Option<Vec<Tool>>,
        /// Tools that the model may no longer use.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tools_removed: Option<Vec<ToolReference>>,
        /// Milliseconds since 1970. May be missing in a file that was edited by hand.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub timestamp: Option<f64>,
    }

    /// A command that the user ran with `!`.
    pub struct BashExecutionMessage {
        /// The command.
        #[serde(default)]
        pub command: String,
        /// The output of both streams, truncated if `truncated`.
        #[serde(default)]
        pub output: String,
        /// The exit code; None if the command was stopped.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub exit_code: Option<i64>,
        /// Whether the user stopped it.
        #[serde(default)]
        pub cancelled: bool,
        /// Whether `output` was truncated.
        #[serde(default)]
        pub truncated: bool,
        /// The file with the whole output, if `output` was truncated.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub full_output_path: Option<String>,
        /// Milliseconds since 1970. May be missing in a file that was edited by hand.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub timestamp: Option<f64>,
        /// Whether the command was run with `!!`, so that models do not see it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub exclude_from_context: Option<bool>,
    }

    /// A message of an extension to the model.
    pub struct CustomMessage {
        /// The name of the extension, or of a kind of its data.
        #[serde(default)]
        pub custom_type: String,
        /// A text, or blocks of text and images.
        #[serde(default, deserialize_with = "or_default")]
        pub content: Content,
        /// Whether the user sees it. Models see it in any case.
        #[serde(default)]
        pub display: bool,
        /// Data of the extension. Models do not see it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub details: Option<Value>,
        /// Milliseconds since 1970. May be missing in a file that was edited by hand.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub timestamp: Option<f64>,
    }

    /// The summary of a branch that was left, in the context.
    pub struct BranchSummaryMessage {
        /// The summary.
        pub summary: String,
        /// The id of the leaf that was left, or `root`. May be missing in a file that was edited by hand.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from_id: Option<String>,
        /// Milliseconds since 1970; None if the entry's timestamp is not ISO.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub timestamp: Option<f64>,
    }

    /// The summary of everything before a compaction, in the context.
    pub struct CompactionSummaryMessage {
        /// The summary.
        #[serde(default)]
        pub summary: String,
        /// The size of the context before the compaction, in tokens.
        #[serde(default, serialize_with = "plain_numbers")]
        pub tokens_before: f64,
        /// Milliseconds since 1970; None if the entry's timestamp is not ISO.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub timestamp: Option<f64>,
    }
}

impl AssistantMessage {
    /// The texts of its text blocks.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        texts_of(&self.content)
    }
}

impl ToolResultMessage {
    /// The texts of its text blocks.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        texts_of(&self.content)
    }
}

/// Named parts of a prompt, in their order: texts, or null to remove a part.
pub type Sections = serde_json::Map<String, Value>;
