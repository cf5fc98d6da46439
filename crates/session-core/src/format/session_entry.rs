//! Entries as Rust values: the envelope, and the own fields of each kind.
//!
//! [`Session::entry`](crate::session::Session::entry) reads one.
//! [`agent_message`](super::agent_message#what-a-typed-value-does-not-keep) lists the parts of a line that such a value
//! does not keep.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent_message::{AgentMessage, Content};
use super::entry::EntryKind;
use super::message_parts::{declared, or_default, plain_numbers, read_by_name, Extra, Usage};
use crate::base::memory;
use crate::json::json_of;

/// An entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Value")]
pub struct SessionEntry {
    /// The entry's id, which is unique in the session.
    pub id: String,
    /// The id of the parent; None for a root.
    pub parent_id: Option<String>,
    /// The entry's time as text of the file, ISO 8601. May be missing in a damaged entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The own fields of its kind.
    #[serde(flatten)]
    pub fields: OwnFields,
}

/// Any JSON value is an entry: unexpected values are in [`OwnFields::Other`].
impl From<Value> for SessionEntry {
    fn from(value: Value) -> Self {
        let mut all = match value {
            Value::Object(all) => all,
            _ => Map::new(),
        };
        let mut text = |key: &str| match all.shift_remove(key) {
            Some(Value::String(text)) => Some(text),
            // A value of another type stays among the fields that are not declared.
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

        /// The own fields of an entry, by its kind.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        #[non_exhaustive]
        // We box no variant, because patterns cannot look into a box.
        #[allow(clippy::large_enum_variant)]
        pub enum OwnFields {
            $($(#[$doc])* $kind($fields),)+
            /// The own fields of an entry of another kind, or of one whose fields do not have the types that its kind
            /// declares.
            #[serde(untagged)]
            Other(Value),
        }

        impl OwnFields {
            /// The kind of the entry.
            pub fn kind(&self) -> EntryKind {
                match self {
                    $(Self::$kind(_) => EntryKind::$kind,)+
                    Self::Other(fields) => {
                        let name = fields.get("type").and_then(Value::as_str);
                        name.map_or(EntryKind::Unknown, |name| EntryKind::from_name(name.as_bytes()))
                    }
                }
            }

            /// The JSON of the fields, without `type`.
            pub(crate) fn to_json(&self) -> memory::Result<String> {
                match self {
                    $(Self::$kind(fields) => json_of(fields),)+
                    Self::Other(fields) => {
                        let mut fields = fields.clone();
                        fields.as_object_mut().and_then(|fields| fields.shift_remove("type"));
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
    /// A change of the thinking level.
    ThinkingLevelChange(ThinkingLevelChangeEntry),
    /// A change of the model.
    ModelChange(ModelChangeEntry),
    /// Usage of a call that has no message.
    Usage(UsageEntry),
    /// A summary that replaces everything before its first kept entry.
    Compaction(CompactionEntry),
    /// A summary of a branch that was left.
    BranchSummary(BranchSummaryEntry),
    /// An extension's own data.
    Custom(CustomEntry),
    /// An extension's message to the model.
    CustomMessage(CustomMessageEntry),
    /// A change of an earlier entry in the context.
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

declared! {
    /// A change of the thinking level.
    pub struct ThinkingLevelChangeEntry {
        /// `off`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. Readers accept any word.
        pub thinking_level: String,
    }

    /// A change of the model.
    pub struct ModelChangeEntry {
        /// The provider of the model.
        pub provider: String,
        /// The model.
        pub model_id: String,
    }

    /// Usage of a call that has no message.
    pub struct UsageEntry {
        /// The purpose of the call; the writer chooses the word, for example `cache_warm`.
        pub kind: String,
        /// The provider of the model.
        pub provider: String,
        /// The model.
        pub model: String,
        /// The tokens and their price.
        pub usage: Usage,
        /// A note for people.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub note: Option<String>,
    }

    /// A summary that replaces everything before its first kept entry.
    pub struct CompactionEntry {
        /// The summary.
        pub summary: String,
        /// The id of the first entry before the compaction that stays in the context. If none stays, the compaction's
        /// own id.
        pub first_kept_entry_id: String,
        /// The size of the context before the compaction, in tokens.
        #[serde(default, serialize_with = "plain_numbers")]
        pub tokens_before: f64,
        /// Data of the summary's author.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub details: Option<Value>,
        /// The usage of the call that wrote the summary.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub usage: Option<Usage>,
        /// Whether an extension wrote the summary.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from_hook: Option<bool>,
        /// The system prompt and the tools at this point.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub system_message: Option<AgentMessage>,
    }

    /// A summary of a branch that was left.
    pub struct BranchSummaryEntry {
        /// The id of the leaf that was left, or `root`.
        pub from_id: String,
        /// The summary.
        pub summary: String,
        /// Data of the summary's author.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub details: Option<Value>,
        /// The usage of the call that wrote the summary.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub usage: Option<Usage>,
        /// Whether an extension wrote the summary.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from_hook: Option<bool>,
    }

    /// An extension's own data. Models do not see it.
    pub struct CustomEntry {
        /// The name of the extension, or of a kind of its data.
        pub custom_type: String,
        /// The data.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub data: Option<Value>,
    }

    /// An extension's message to the model.
    pub struct CustomMessageEntry {
        /// The name of the extension, or of a kind of its data.
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
    }

    /// A change of an earlier entry in the context.
    pub struct ContextEditEntry {
        /// The id of the earlier entry.
        pub target_id: String,
        /// The content that the model sees instead; None removes the entry from the context.
        // Without this, serde would read a missing `replacement` as None, which removes the entry.
        #[serde(deserialize_with = "Option::deserialize")]
        pub replacement: Option<Replacement>,
    }

    /// The content that replaces an entry's content.
    pub struct Replacement {
        /// A text, or blocks.
        pub content: Content,
    }

    /// A label of an entry, or its removal.
    pub struct LabelEntry {
        /// The id of the labelled entry.
        pub target_id: String,
        /// The label. None, or an empty one, removes the label.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub label: Option<String>,
    }

    /// The session's name.
    pub struct SessionInfoEntry {
        /// The name. None, or an empty one, removes the name.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
    }
}

#[cfg(test)]
mod tests;
