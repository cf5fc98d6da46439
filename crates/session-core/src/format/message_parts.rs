//! Parts of messages: content blocks, usage and others. Names and units are those of pi's declarations.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::kinds::BlockType;

/// Fields that a type does not declare.
pub type Extra = Map<String, Value>;

/// 2^53. From here on `f64` does not have every integer, and JavaScript may write one in other digits than an `i64`.
const UNSAFE_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Writes a number as JavaScript does: an integer without a fraction.
pub(super) fn plain_numbers<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() < UNSAFE_INTEGER {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// As [`plain_numbers`], for a number that may be missing.
pub(super) fn plain_number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => plain_numbers(number, serializer),
        None => serializer.serialize_none(),
    }
}

/// Reads null as the default value, as pi does for content.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads an enum of structs by the name in the field `$tag`, which is a name of the table of kinds. Any JSON value can
/// be read: with another name, or with fields that do not have the declared types, it becomes `Other`. We do not use
/// serde's derived reader, because it reads a number as the position of a variant. Each name of the table is listed;
/// names after `;` have no struct.
macro_rules! read_by_name {
    ($enum:ident by $tag:literal, a $names:ident: $($variant:ident),+; $($other:ident),+) => {
        impl From<Value> for $enum {
            fn from(mut value: Value) -> Self {
                let tag = value.as_object_mut().and_then(|fields| fields.shift_remove($tag));
                let name = tag.as_ref().and_then(Value::as_str).unwrap_or_default();
                let read = match $names::from_name(name.as_bytes()) {
                    $($names::$variant => Deserialize::deserialize(&value).ok().map(Self::$variant),)+
                    $($names::$other)|+ => None,
                };
                read.unwrap_or_else(|| {
                    if let (Some(fields), Some(tag)) = (value.as_object_mut(), tag) {
                        fields.shift_insert(0, $tag.to_owned(), tag);
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

/// Declares structs of JSON objects: keys are in camel case, and fields that are not declared are in `extra`.
macro_rules! declared {
    ($($(#[$doc:meta])* pub struct $name:ident { $($fields:tt)* })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($fields)*
            /// Fields that are not declared here.
            #[serde(flatten)]
            pub extra: Extra,
        }
    )+};
}
pub(super) use declared;

read_by_name!(ContentBlock by "type", a BlockType: Text, Image, Thinking, ToolCall; Other);

/// A block of a message's content. The variant is its `type`.
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
    /// The JSON value of a block of another type, or whose fields do not have the types that its type declares.
    #[serde(untagged)]
    Other(Value),
}

impl ContentBlock {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into(), ..TextContent::default() })
    }
}

declared! {
    /// A text block.
    pub struct TextContent {
        /// The text.
        pub text: String,
        /// An opaque signature by which a provider recognises its own text in a later request.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub text_signature: Option<String>,
    }

    /// Reasoning that a model showed before its answer.
    pub struct ThinkingContent {
        /// The reasoning.
        pub thinking: String,
        /// An opaque signature by which a provider recognises its own reasoning in a later request.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub thinking_signature: Option<String>,
        /// Whether the provider withheld the reasoning. `thinking_signature` then contains the data that the provider
        /// expects back.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub redacted: Option<bool>,
    }

    /// An image.
    pub struct ImageContent {
        /// The image's bytes in base64.
        pub data: String,
        /// The media type, for example `image/png`.
        #[serde(default)]
        pub mime_type: String,
    }

    /// A model's request to run a tool.
    pub struct ToolCall {
        /// The call's id, to which the result refers by `toolCallId`.
        pub id: String,
        /// The name of the tool.
        pub name: String,
        /// The arguments, as the model wrote them.
        #[serde(default)]
        pub arguments: Map<String, Value>,
        /// An opaque signature by which a provider recognises the thought that led to the call.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub thought_signature: Option<String>,
        /// The group of the tool, for providers that group tools.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub namespace: Option<String>,
        /// The error if the model's arguments were not a JSON object, and their text. Then `arguments` are empty and
        /// the call fails.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub arguments_error: Option<String>,
    }

    /// Tokens of one or more model calls, and their price. The numbers are `f64`, because pi counts in JavaScript
    /// numbers.
    pub struct Usage {
        /// Input tokens that were not in the provider's cache.
        #[serde(default, serialize_with = "plain_numbers")]
        pub input: f64,
        /// Output tokens, including reasoning.
        #[serde(default, serialize_with = "plain_numbers")]
        pub output: f64,
        /// Input tokens that were read from the provider's cache.
        #[serde(default, serialize_with = "plain_numbers")]
        pub cache_read: f64,
        /// Input tokens that were written to the provider's cache.
        #[serde(default, serialize_with = "plain_numbers")]
        pub cache_write: f64,
        /// The part of `cache_write` that is cached for an hour, if the provider reports it.
        #[serde(rename = "cacheWrite1h", skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub cache_write_1h: Option<f64>,
        /// The part of `output` that is reasoning, if the provider reports it.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub reasoning: Option<f64>,
        /// The sum of the four numbers of tokens. May be missing in old files.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub total_tokens: Option<f64>,
        /// The price in US dollars. May be missing in old files.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cost: Option<Cost>,
    }

    /// The price of model calls in US dollars. All but `total` are computed from the prices in pi's catalog.
    pub struct Cost {
        /// The price of `Usage::input`.
        #[serde(default, serialize_with = "plain_numbers")]
        pub input: f64,
        /// The price of `Usage::output`.
        #[serde(default, serialize_with = "plain_numbers")]
        pub output: f64,
        /// The price of `Usage::cache_read`.
        #[serde(default, serialize_with = "plain_numbers")]
        pub cache_read: f64,
        /// The price of `Usage::cache_write`.
        #[serde(default, serialize_with = "plain_numbers")]
        pub cache_write: f64,
        /// The whole price: as billed by the provider, else the sum of the others.
        #[serde(default, serialize_with = "plain_numbers")]
        pub total: f64,
        /// Whether the provider billed `total`. If missing, `total` is computed.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub total_from_provider: Option<bool>,
    }

    /// Where to fetch an answer that the provider finishes later.
    pub struct DeferredHandle {
        /// The provider of the model.
        pub provider: String,
        /// The model that pi requested.
        pub model_id: String,
        /// The name of the provider's programming interface.
        pub api: String,
        /// The provider's own token for the answer.
        pub id: String,
        /// When the provider deletes the answer, in milliseconds since 1970.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub expires_at: Option<f64>,
        /// Milliseconds to wait before the next request for the answer.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub poll_after_ms: Option<f64>,
        /// The data that is needed to convert the answer into a message.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub data: Option<Value>,
    }

    /// A problem during a model call.
    pub struct Diagnostic {
        /// The kind of problem; the writer chooses the word.
        #[serde(rename = "type")]
        pub kind: String,
        /// Milliseconds since 1970.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub timestamp: Option<f64>,
        /// The error that was thrown: `message`, and `name`, `stack` and `code` if they are known.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub error: Option<Value>,
        /// Further data.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub details: Option<Value>,
    }

    /// The calls that a tool made to other tools. Their results are not recorded.
    pub struct NestedToolCalls {
        /// The calls.
        pub calls: Vec<NestedToolCall>,
        /// False if calls or arguments are omitted, or if a call had not finished.
        pub complete: bool,
    }

    /// A call that a tool made to another tool.
    pub struct NestedToolCall {
        /// The call's id.
        pub id: String,
        /// The name of the tool that was called.
        pub name: String,
        /// The arguments; missing if they are too large.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub arguments: Option<Map<String, Value>>,
        /// The size of the arguments as JSON, in bytes of UTF-8, if they are missing.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub arguments_bytes: Option<f64>,
        /// `ok`, `error`, or `unfinished` if it was still running when the calling tool ended.
        pub status: String,
        /// How long it ran, in milliseconds.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number")]
        pub duration_ms: Option<f64>,
        /// The error, truncated.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub error: Option<String>,
    }

    /// A tool that is offered to a model.
    pub struct Tool {
        /// The tool's name.
        pub name: String,
        /// What the tool does.
        #[serde(default)]
        pub description: String,
        /// The JSON schema of its arguments.
        #[serde(default)]
        pub parameters: Value,
        /// How strictly the provider should enforce the schema: false, or `{ type: "json_schema", strict: "prefer" |
        /// "require" }`, or `{ type: "grammar", variants }`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub constrained_sampling: Option<Value>,
    }

    /// A tool's name, without its definition.
    pub struct ToolReference {
        /// The name.
        pub name: String,
    }
}

/// Why a model's answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// The answer has not ended.
    Pending,
    /// The model finished.
    Stop,
    /// The answer reached its maximal length.
    Length,
    /// The model waits for the results of tools.
    ToolUse,
    /// The call failed.
    Error,
    /// The user stopped the answer.
    Aborted,
    /// The provider will have the answer later.
    Deferred,
    /// Any other reason.
    #[serde(untagged)]
    Other(String),
}
