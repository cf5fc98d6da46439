//! Entries as values: the envelope, and what each kind has besides it.
//!
//! [`Session::entry`](crate::session::Session::entry) reads one. What such a value does not keep of a line is said at
//! [`agent_message`](super::agent_message#what-a-typed-value-does-not-keep).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent_message::{AgentMessage, Content};
use super::entry::EntryKind;
use super::message_parts::{or_default, plain_numbers, read_by_name, Extra, Usage};
use crate::base::memory;
use crate::json::json_of;

/// An entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Value")]
pub struct SessionEntry {
    /// Its id, which no other entry of the session has.
    pub id: String,
    /// The id of its parent; None for a root.
    pub parent_id: Option<String>,
    /// Its time as the file has it, ISO 8601. A damaged entry may lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// What its kind has besides.
    #[serde(flatten)]
    pub fields: OwnFields,
}

/// Any JSON value is an entry: what is not as it should be is in [`OwnFields::Other`].
impl From<Value> for SessionEntry {
    fn from(value: Value) -> Self {
        let mut all = match value {
            Value::Object(all) => all,
            _ => Map::new(),
        };
        let mut text = |key: &str| match all.remove(key) {
            Some(Value::String(text)) => Some(text),
            // An odd value stays among the fields that are not declared.
            Some(odd) if !odd.is_null() => {
                all.insert(key.to_owned(), odd);
                None
            }
            _ => None,
        };
        let (id, parent_id, timestamp) = (text("id"), text("parentId"), text("timestamp"));
        Self { id: id.unwrap_or_default(), parent_id, timestamp, fields: OwnFields::from(Value::Object(all)) }
    }
}

macro_rules! own_fields {
    ($($(#[$doc:meta])* $kind:ident($fields:ident),)+) => {
        read_by_name!(OwnFields by "type", a EntryKind: $($kind),+; Unknown);

        /// What an entry has besides its envelope, by its kind.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        #[non_exhaustive]
        // As for messages: patterns cannot look into a box.
        #[allow(clippy::large_enum_variant)]
        pub enum OwnFields {
            $($(#[$doc])* $kind($fields),)+
            /// Those of an entry of another kind, or of one whose fields are not as its kind declares them.
            #[serde(untagged)]
            Other(Value),
        }

        impl OwnFields {
            /// The kind of their entry.
            pub fn kind(&self) -> EntryKind {
                match self {
                    $(Self::$kind(_) => EntryKind::$kind,)+
                    Self::Other(fields) => {
                        let name = fields.get("type").and_then(Value::as_str);
                        name.map_or(EntryKind::Unknown, |name| EntryKind::from_name(name.as_bytes()))
                    }
                }
            }

            /// Their JSON, without `type`.
            pub(crate) fn to_json(&self) -> memory::Result<String> {
                match self {
                    $(Self::$kind(fields) => json_of(fields),)+
                    Self::Other(fields) => {
                        let mut fields = fields.clone();
                        fields.as_object_mut().and_then(|fields| fields.remove("type"));
                        json_of(&fields)
                    }
                }
            }
        }

        $(impl From<$fields> for OwnFields {
            fn from(fields: $fields) -> Self {
                Self::$kind(fields)
            }
        })+
    };
}

own_fields! {
    /// A message of the user, the model or a tool.
    Message(MessageEntry),
    /// Another thinking level.
    ThinkingLevelChange(ThinkingLevelChangeEntry),
    /// Another model.
    ModelChange(ModelChangeEntry),
    /// Usage that no message has.
    Usage(UsageEntry),
    /// A summary in place of what came before its first kept entry.
    Compaction(CompactionEntry),
    /// A summary of a branch that was left.
    BranchSummary(BranchSummaryEntry),
    /// An extension's own data.
    Custom(CustomEntry),
    /// An extension's message to the model.
    CustomMessage(CustomMessageEntry),
    /// What the model sees of an earlier entry.
    ContextEdit(ContextEditEntry),
    /// A label of an entry, or its removal.
    Label(LabelEntry),
    /// The session's name.
    SessionInfo(SessionInfoEntry),
}

/// A message of the user, the model or a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageEntry {
    /// The message.
    pub message: AgentMessage,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

impl From<AgentMessage> for MessageEntry {
    fn from(message: AgentMessage) -> Self {
        Self { message, extra: Extra::new() }
    }
}

/// Another thinking level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingLevelChangeEntry {
    /// `off`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; readers take any word.
    pub thinking_level: String,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Another model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelChangeEntry {
    /// Who runs the model.
    pub provider: String,
    /// The model.
    pub model_id: String,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Usage that no message has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageEntry {
    /// What it was spent on, a word of the writer's: `cache_warm`, for example.
    pub kind: String,
    /// Who runs the model.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The tokens and their price.
    pub usage: Usage,
    /// A note for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A summary in place of what came before its first kept entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEntry {
    /// The summary.
    pub summary: String,
    /// The id of the first entry before the compaction that stays in the context; the compaction's own if none does.
    pub first_kept_entry_id: String,
    /// The size of the context before, in tokens.
    #[serde(default, serialize_with = "plain_numbers")]
    pub tokens_before: f64,
    /// Data of whoever wrote the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What the summary cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether an extension wrote the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
    /// The prompt and the tools at this point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<AgentMessage>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A summary of a branch that was left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEntry {
    /// The id of the leaf that was left, or `root`.
    pub from_id: String,
    /// What happened on the branch.
    pub summary: String,
    /// Data of whoever wrote the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What the summary cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether an extension wrote the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An extension's own data, which no model sees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomEntry {
    /// The extension, or a kind of data of it.
    pub custom_type: String,
    /// Its data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An extension's message to the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessageEntry {
    /// The extension, or a kind of data of it.
    pub custom_type: String,
    /// A text, or blocks of text and images.
    #[serde(default, deserialize_with = "or_default")]
    pub content: Content,
    /// Whether the user sees it; models do in any case.
    #[serde(default)]
    pub display: bool,
    /// Data of the extension, which no model sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the model sees of an earlier entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextEditEntry {
    /// The id of that entry.
    pub target_id: String,
    /// What the model sees in place of its content; None leaves the entry out.
    // A missing one means something else.
    #[serde(deserialize_with = "Option::deserialize")]
    pub replacement: Option<Replacement>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The content that replaces that of an entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    /// A text, or blocks.
    pub content: Content,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A label of an entry, or its removal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelEntry {
    /// The id of that entry.
    pub target_id: String,
    /// The label. None, or an empty one, removes the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The session's name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionInfoEntry {
    /// The name. None, or an empty one, removes the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

#[cfg(test)]
mod tests;
