//! Parts of messages: content blocks, usage, and what else a message holds. Names and units are those of pi's declarations.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::kinds::BlockType;

/// Fields that a type does not declare, by their names.
pub type Extra = Map<String, Value>;

/// The least integer that `f64` does not have, 2^53, and so the least that JavaScript writes in another way than an `i64`.
const UNSAFE_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Writes a number as JavaScript does: a whole one without a fraction.
pub(super) fn plain_numbers<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() < UNSAFE_INTEGER {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// As [`plain_numbers`], of a number that may be missing.
pub(super) fn plain_number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => plain_numbers(number, serializer),
        None => serializer.serialize_none(),
    }
}

/// Reads null as the default value, as pi does of content.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads an enum of structs by the name in one of its fields, `$tag`: a name of the table of kinds. Any JSON value can be read: one of
/// another name, or whose fields are not as its name declares them, is `Other`. serde's own derived reader takes a number for the position
/// of a variant. Each name of the table is listed, those after `;` as names without a struct.
macro_rules! read_by_name {
    ($enum:ident by $tag:literal, a $names:ident: $($variant:ident),+; $($other:ident),+) => {
        impl From<Value> for $enum {
            fn from(mut value: Value) -> Self {
                let tag = value.as_object_mut().and_then(|fields| fields.remove($tag));
                let name = tag.as_ref().and_then(Value::as_str).unwrap_or_default();
                let read = match $names::from_name(name.as_bytes()) {
                    $($names::$variant => Deserialize::deserialize(&value).ok().map(Self::$variant),)+
                    $($names::$other)|+ => None,
                };
                read.unwrap_or_else(|| {
                    if let (Some(fields), Some(tag)) = (value.as_object_mut(), tag) {
                        fields.insert($tag.to_owned(), tag);
                    }
                    Self::Other(value)
                })
            }
        }

        impl<'de> Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Value::deserialize(deserializer).map(Self::from)
            }
        }
    };
}
pub(super) use read_by_name;

read_by_name!(ContentBlock by "type", a BlockType: Text, Image, Thinking, ToolCall; Other);

/// A block of a message's content, by its `type`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum ContentBlock {
    /// A text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Reasoning that the model showed.
    Thinking(ThinkingContent),
    /// The model's request to run a tool.
    ToolCall(ToolCall),
    /// A block of another type, or one whose fields are not as its type declares them: its JSON value.
    #[serde(untagged)]
    Other(Value),
}

impl ContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into(), ..TextContent::default() })
    }
}

/// A text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Opaque proof by which a provider recognises its own text in a later request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Reasoning that a model showed before its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingContent {
    /// The reasoning.
    pub thinking: String,
    /// Opaque proof by which a provider recognises its own reasoning in a later request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// Whether the provider withheld the reasoning; what it wants back is in `thinking_signature`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// The picture's bytes in base64.
    pub data: String,
    /// `image/png`, for example.
    #[serde(default)]
    pub mime_type: String,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A model's request to run a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The result names it as `toolCallId`.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// As the model gave them.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Opaque proof by which a provider recognises the thought that led here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// The group that the tool was offered under, for providers that group tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Why the model's arguments were no JSON object, and their text. `arguments` are empty then, and the call fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Tokens of one or more model calls, and their price. pi counts in numbers of JavaScript, and so do these.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens sent that no cache had.
    #[serde(default, serialize_with = "plain_numbers")]
    pub input: f64,
    /// Tokens that the model wrote, its reasoning among them.
    #[serde(default, serialize_with = "plain_numbers")]
    pub output: f64,
    /// Tokens read from the provider's cache.
    #[serde(default, serialize_with = "plain_numbers")]
    pub cache_read: f64,
    /// Tokens written to the provider's cache.
    #[serde(default, serialize_with = "plain_numbers")]
    pub cache_write: f64,
    /// Tokens of `cache_write` that are kept for an hour, where the provider tells.
    #[serde(rename = "cacheWrite1h", skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
    pub cache_write_1h: Option<f64>,
    /// Tokens of `output` spent on reasoning, where the provider tells.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
    pub reasoning: Option<f64>,
    /// Tokens of all four together. Old files may lack it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
    pub total_tokens: Option<f64>,
    /// US dollars. Old files may lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The price of model calls in US dollars. All but `total` are computed from the prices of pi's catalog.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Of the tokens sent that no cache had.
    #[serde(default, serialize_with = "plain_numbers")]
    pub input: f64,
    /// Of the tokens that the model wrote.
    #[serde(default, serialize_with = "plain_numbers")]
    pub output: f64,
    /// Of the tokens read from the provider's cache.
    #[serde(default, serialize_with = "plain_numbers")]
    pub cache_read: f64,
    /// Of the tokens written to the provider's cache.
    #[serde(default, serialize_with = "plain_numbers")]
    pub cache_write: f64,
    /// Of all: as the provider billed it, or else the sum of the others.
    #[serde(default, serialize_with = "plain_numbers")]
    pub total: f64,
    /// Whether the provider billed `total`; if absent, it is computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_from_provider: Option<bool>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Why a model's answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// It has not ended.
    Pending,
    /// The model was done.
    Stop,
    /// The answer reached the limit of its length.
    Length,
    /// The model waits for the results of tools.
    ToolUse,
    /// The call failed.
    Error,
    /// The user stopped it.
    Aborted,
    /// The provider will have the answer later.
    Deferred,
    /// Any other reason.
    #[serde(untagged)]
    Other(String),
}

/// Where to fetch an answer that the provider will have ready later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeferredHandle {
    /// Who runs the model.
    pub provider: String,
    /// The model that was asked.
    pub model_id: String,
    /// The interface that was spoken.
    pub api: String,
    /// The provider's own token for the answer.
    pub id: String,
    /// When the provider forgets the answer, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
    pub expires_at: Option<f64>,
    /// Milliseconds to wait before asking for it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
    pub poll_after_ms: Option<f64>,
    /// What is needed to make a message of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A note about trouble during a model call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The kind of trouble, a word that the writer chooses.
    #[serde(rename = "type")]
    pub kind: String,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
    pub timestamp: Option<f64>,
    /// What was thrown: `message`, and `name`, `stack` and `code` where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// Whatever else is worth knowing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The calls that a tool made to other tools. Their results are not recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NestedToolCalls {
    /// The calls.
    pub calls: Vec<NestedToolCall>,
    /// False if calls or arguments are left out, or a call had not finished.
    pub complete: bool,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A call that a tool made to another tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NestedToolCall {
    /// Its id.
    pub id: String,
    /// The name of the tool that was called.
    pub name: String,
    /// Its arguments; left out if they are too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The size of the arguments as JSON, in bytes of UTF-8, where they are left out.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
    pub arguments_bytes: Option<f64>,
    /// `ok`, `error`, or `unfinished` if it still ran when the calling tool was done.
    pub status: String,
    /// How long it ran, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
    pub duration_ms: Option<f64>,
    /// What went wrong, cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// The JSON schema of its arguments.
    #[serde(default)]
    pub parameters: Value,
    /// How strictly the provider should hold the model to the schema: false, or
    /// `{ type: "json_schema", strict: "prefer" | "require" }`, or `{ type: "grammar", variants }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constrained_sampling: Option<Value>,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A tool's name, without its definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolReference {
    /// The name.
    pub name: String,
    /// Fields that are not declared here.
    #[serde(flatten)]
    pub extra: Extra,
}
