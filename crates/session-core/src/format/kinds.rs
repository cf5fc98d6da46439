//! The table of kinds: one row for each kind of entry, each role of a message and each type of a content block. A row
//! states which fields refer to other entries, the texts and their search scope, the message for the model, and what a
//! reader is shown.
//!
//! The context, search, usage, redaction and repair ask this table. JavaScript reads it by `entryKinds()`, and
//! `lib/shared/entries.mjs` shows entries by it. A kind that is not in the table is kept, and shown as JSON. The
//! effects of a kind on the tree (labels, names, the first kept entry) are not in the table but in `tree`, `session`
//! and `index`.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::kind_facts::{
    content, sentence, sentence_if, text, texts, ContentRule, Gives, KindFacts, MadeMessage, ModelCall, PartKind, Says,
    Sentence, TextForm, TextScope,
};
use crate::base::named::named;

/// Defines an enum of names as [`named!`] does. Each name has its row of the table.
macro_rules! table {
    ($(#[$attribute:meta])* $vis:vis enum $enum:ident {
        $($(#[$doc:meta])* $kind:ident = $name:literal { $($fact:ident: $value:expr),* $(,)? })+
        ; $(#[$other_doc:meta])* $other:ident
    }) => {
        named! {
            $(#[$attribute])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            #[non_exhaustive]
            $vis enum $enum { $($(#[$doc])* $kind = $name,)+; $(#[$other_doc])* $other }
        }

        impl $enum {
            /// The value with this name.
            $vis fn from_name(name: &[u8]) -> Self {
                Self::named(name).unwrap_or(Self::$other)
            }

            /// The row of the table.
            $vis fn facts(self) -> &'static KindFacts {
                match self {
                    $(Self::$kind => const { &KindFacts { $($fact: $value,)* ..KindFacts::NONE } },)+
                    Self::$other => &KindFacts::NONE,
                }
            }
        }
    };
}

table! {
    /// The kind of an entry: its `type`. Each variant lists the fields that it must have;
    /// [`file_format`](crate::file_format) describes them. Entries of unknown types are kept and returned unchanged.
    pub enum EntryKind {
        /// A message of the user, the model or a tool: `message`, an object with `role`, `content`, `timestamp` and the
        /// fields of its role.
        Message = "message" {
            gives: Gives::Message,
        }
        /// A change of the thinking level: `thinkingLevel`.
        ThinkingLevelChange = "thinking_level_change" {
            says: &[sentence("thinking level {thinkingLevel}")],
            names: &["thinkingLevel"],
        }
        /// A change of the model: `provider`, `modelId`.
        ModelChange = "model_change" {
            says: &[sentence("model {provider}/{modelId}")],
            names: &["provider", "modelId"],
        }
        /// Usage of a call that has no message: `kind`, `provider`, `model`, `usage`.
        Usage = "usage" {
            says: &[sentence("{kind}: {provider}/{model}[, {note}]")],
            names: &["provider", "model"],
            call: Some(ModelCall::Model),
        }
        /// A summary that replaces everything before its first kept entry: `summary`, `firstKeptEntryId`,
        /// `tokensBefore`.
        Compaction = "compaction" {
            speaker: "summary",
            refers_to: &["firstKeptEntryId"],
            says: &[sentence("summary of {tokensBefore} tokens"), text("summary", TextScope::Summary)],
            amounts: &["tokensBefore", "firstKeptEntryIndex", "fromHook"],
            gives: Gives::Made(MadeMessage {
                role: "compactionSummary",
                fields: &["summary", "tokensBefore"],
                needs_summary: false,
                before: Some("systemMessage"),
            }),
            call: Some(ModelCall::Summary),
        }
        /// A summary of a branch that was left: `fromId`, `summary`.
        BranchSummary = "branch_summary" {
            speaker: "summary",
            refers_to: &["fromId"],
            says: &[sentence("of the branch that ended at {fromId}"), text("summary", TextScope::Summary)],
            amounts: &["fromHook"],
            gives: Gives::Made(MadeMessage {
                role: "branchSummary",
                fields: &["summary", "fromId"],
                needs_summary: true,
                before: None,
            }),
            call: Some(ModelCall::Summary),
        }
        /// An extension's own data: `customType`.
        Custom = "custom" {
            says: &[
                sentence("{customType} {data}"),
                texts(TextForm::Json, "data", Some(TextScope::Custom)).in_sentence(),
            ],
            names: &["customType"],
            is_envelope_last: true,
        }
        /// An extension's message to the model: `customType`, `content`, `display`.
        CustomMessage = "custom_message" {
            speaker: "custom",
            says: &[sentence("{customType}"), content("content", TextScope::Custom)],
            names: &["customType"],
            amounts: &["display"],
            gives: Gives::Made(MadeMessage {
                role: "custom",
                fields: &["customType", "content", "display", "details"],
                needs_summary: false,
                before: None,
            }),
            is_envelope_last: true,
        }
        /// A change of an earlier entry in the context: `targetId`, and `replacement`, which is null or has `content`.
        ContextEdit = "context_edit" {
            speaker: "edit",
            refers_to: &["targetId"],
            says: &[
                sentence_if(
                    "replacement",
                    "replaces {targetId} in the context",
                    "removes {targetId} from the context",
                ),
                content("replacement.content", TextScope::Custom),
            ],
        }
        /// A label of an entry: `targetId`, `label`. Without `label` it removes the label.
        Label = "label" {
            refers_to: &["targetId"],
            says: &[
                sentence_if("label", "labels {targetId}: {label}", "removes the label of {targetId}"),
                text("label", TextScope::Name).in_sentence(),
            ],
        }
        /// The session's name: `name`.
        SessionInfo = "session_info" {
            speaker: "name",
            says: &[
                sentence_if("name", "names the session: {name}", "removes the session's name"),
                text("name", TextScope::Name).in_sentence(),
            ],
        };
        /// Any other `type`.
        Unknown
    }
}

table! {
    /// The role of a message. Messages with a role that is not listed here are kept and returned unchanged.
    pub enum Role {
        /// A message that the user wrote.
        User = "user" {
            is_conversation: true,
            says: &[content("content", TextScope::User)],
            content: ContentRule::TextOrBlocks,
        }
        /// An answer of the model.
        Assistant = "assistant" {
            is_conversation: true,
            says: &[
                texts(TextForm::Answer, "content", Some(TextScope::Assistant)),
                text("errorMessage", TextScope::Assistant).shown(PartKind::Note, "").failed_if("errorMessage"),
                Says::Sentence(Sentence {
                    sentence: "(ended: {stopReason})",
                    on: Some("stopReason"),
                    values: &["aborted", "length"],
                    otherwise: None,
                }),
            ],
            names: &["api", "provider", "model", "thinkingLevel", "stopReason", "responseId"],
            amounts: &["durationMs"],
            content: ContentRule::Blocks,
            call: Some(ModelCall::Model),
        }
        /// The result of a tool call.
        ToolResult = "toolResult" {
            speaker: "tool",
            says: &[
                texts(TextForm::Calls, "nestedCalls", Some(TextScope::Tool)),
                content("content", TextScope::Tool).shown(PartKind::Output, "{toolName}").failed_if("isError"),
            ],
            names: &["toolCallId", "toolName"],
            amounts: &["isError", "durationMs"],
            content: ContentRule::Blocks,
            call: Some(ModelCall::Tool),
        }
        /// The system prompt.
        System = "system" {
            says: &[
                texts(TextForm::Content, "content", None),
                texts(TextForm::Sections, "sections", None),
                texts(TextForm::Tools, "toolsAdded", None).shown(PartKind::Note, "tools added"),
                texts(TextForm::Tools, "toolsRemoved", None).shown(PartKind::Note, "tools removed"),
            ],
            content: ContentRule::Prompt,
        }
        /// A command of the user's shell, and its output.
        BashExecution = "bashExecution" {
            speaker: "command",
            says: &[
                text("command", TextScope::Tool).shown(PartKind::Call, "!"),
                text("output", TextScope::Tool).shown(PartKind::Output, "!").failed_if("exitCode"),
            ],
            amounts: &["exitCode", "cancelled", "truncated", "excludeFromContext"],
        }
        /// A message of an extension to the model.
        Custom = "custom" {
            says: &[content("content", TextScope::Custom)],
            names: &["customType"],
            amounts: &["display"],
            content: ContentRule::Made,
        }
        /// The summary of a branch that was left.
        BranchSummary = "branchSummary" {
            speaker: "summary",
            says: &[texts(TextForm::Text, "summary", None)],
        }
        /// The summary of everything before a compaction.
        CompactionSummary = "compactionSummary" {
            speaker: "summary",
            says: &[texts(TextForm::Text, "summary", None)],
        }
        /// The name of [`Role::Custom`] in files of version 2.
        HookMessage = "hookMessage" {
            speaker: "custom",
            says: &[content("content", TextScope::Custom)],
        };
        /// Any other role, or none.
        Other
    }
}

table! {
    /// The type of a content block. Blocks of other types are kept unchanged.
    pub(crate) enum BlockType {
        /// A text.
        Text = "text" {
            says: &[texts(TextForm::Text, "text", None)],
        }
        /// An image. Searches ignore it.
        Image = "image" {
            names: &["mimeType"],
        }
        /// Reasoning that the model showed.
        Thinking = "thinking" {
            says: &[text("thinking", TextScope::Thinking)],
        }
        /// The model's request to run a tool.
        ToolCall = "toolCall" {
            says: &[
                text("name", TextScope::Tool),
                texts(TextForm::Json, "arguments", Some(TextScope::Tool)),
                text("argumentsError", TextScope::Tool),
            ],
        };
        /// Any other type, or none.
        Other
    }
}

impl EntryKind {
    /// The message that an entry of this kind makes for the model.
    pub fn made(self) -> Option<MadeMessage> {
        match self.facts().gives {
            Gives::Made(made) => Some(made),
            Gives::Nothing | Gives::Message => None,
        }
    }

    /// Whether a context edit may target an entry of this kind. `message` is the role of the message that it contains,
    /// if any.
    pub(crate) fn is_editable(self, message: Option<Role>) -> bool {
        match self.facts().gives {
            Gives::Nothing => false,
            Gives::Message => message.is_some_and(Role::is_editable),
            Gives::Made(made) => made.role().facts().content == ContentRule::Made,
        }
    }
}

impl MadeMessage {
    /// The role, as a [`Role`].
    pub fn role(&self) -> Role {
        Role::from_name(self.role.as_bytes())
    }
}

impl Role {
    /// Whether a message of this role is conversation: the first one creates a new session's file, and each counts as
    /// activity.
    pub fn is_conversation(self) -> bool {
        self.facts().is_conversation
    }

    /// Whether a context edit may replace the content of a stored message of this role.
    pub(crate) fn is_editable(self) -> bool {
        matches!(self.facts().content, ContentRule::TextOrBlocks | ContentRule::Blocks)
    }

    /// The role's name in version 3.
    pub(crate) fn current(self) -> Self {
        match self {
            Role::HookMessage => Role::Custom,
            role => role,
        }
    }
}

/// Every row of the table.
fn rows() -> impl Iterator<Item = &'static KindFacts> {
    let entries = EntryKind::NAMED.iter().map(|(kind, _)| kind.facts());
    let roles = Role::NAMED.iter().map(|(role, _)| role.facts());
    entries.chain(roles).chain(BlockType::NAMED.iter().map(|(block, _)| block.facts()))
}

/// The fields of entries that contain ids of entries.
pub(crate) fn reference_fields() -> Vec<&'static str> {
    let mut fields = vec!["parentId"];
    for field in rows().flat_map(|row| row.refers_to) {
        if !fields.contains(field) {
            fields.push(field);
        }
    }
    fields
}

/// Whether a redaction keeps the text of a field, because it links entries, or names a kind, a tool or a model.
pub(crate) fn is_name(field: &[u8]) -> bool {
    let has = |fields: &[&str]| fields.iter().any(|one| one.as_bytes() == field);
    has(&["type", "role", "id", "parentId", "timestamp"]) || rows().any(|row| has(row.names) || has(row.refers_to))
}

/// The roles that hits can have: roles of messages with searched texts, and types of other entries with such texts.
pub fn search_roles() -> Vec<&'static str> {
    let roles =
        Role::NAMED.iter().filter(|(role, _)| role.current() == *role).map(|(role, name)| (role.facts(), *name));
    let kinds = EntryKind::NAMED.iter().map(|(kind, name)| (kind.facts(), *name));
    let mut found = Vec::new();
    for (facts, name) in roles.chain(kinds) {
        if facts.searched().next().is_some() && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The whole table, as `entryKinds()` returns it to JavaScript.
#[doc(hidden)]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryKinds {
    entries: Rows,
    roles: Rows,
    blocks: Rows,
    scopes: Vec<TextScope>,
    default_scopes: [TextScope; 4],
    search_roles: Vec<&'static str>,
}

impl EntryKinds {
    /// The table.
    pub fn table() -> Self {
        Self {
            entries: Rows(EntryKind::NAMED.map(|(kind, name)| (name, kind.facts())).to_vec()),
            roles: Rows(Role::NAMED.map(|(role, name)| (name, role.facts())).to_vec()),
            blocks: Rows(BlockType::NAMED.map(|(block, name)| (name, block.facts())).to_vec()),
            scopes: TextScope::NAMED.map(|(scope, _)| scope).to_vec(),
            default_scopes: TextScope::DEFAULT,
            search_roles: search_roles(),
        }
    }
}

/// Rows with their names, in the table's order.
#[derive(Debug)]
struct Rows(Vec<(&'static str, &'static KindFacts)>);

/// The part of a row that JavaScript sees.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownFacts {
    speaker: &'static str,
    refers_to: &'static [&'static str],
    says: &'static [Says],
    #[serde(skip_serializing_if = "Option::is_none")]
    makes: Option<MadeMessage>,
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, facts) in &self.0 {
            let speaker = if facts.speaker.is_empty() { name } else { facts.speaker };
            let makes = match facts.gives {
                Gives::Made(made) => Some(made),
                Gives::Nothing | Gives::Message => None,
            };
            map.serialize_entry(name, &ShownFacts { speaker, refers_to: facts.refers_to, says: facts.says, makes })?;
        }
        map.end()
    }
}
