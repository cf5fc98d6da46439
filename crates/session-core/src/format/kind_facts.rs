//! The columns of the table of kinds (`kinds.rs`): the facts that a row states of a kind of entry, a role, or a type of
//! content block.

use serde::{Serialize, Serializer};

use crate::base::named::named;

named! {
    /// A kind of text that a search can be limited to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TextScope {
        /// Messages of the user.
        User = "user",
        /// Answers of the assistant, and the errors of its failed calls.
        Assistant = "assistant",
        /// Names of sessions, and labels.
        Name = "name",
        /// Summaries of compactions and branches.
        Summary = "summary",
        /// Tool calls and their results, commands of the user's shell and their output.
        Tool = "tool",
        /// The assistant's thinking.
        Thinking = "thinking",
        /// Messages and data of extensions, and contents that the model sees in place of an entry's content.
        Custom = "custom",
    }
}

impl TextScope {
    /// The default scopes of a search: the conversation, and the texts that distinguish sessions.
    pub const DEFAULT: [Self; 4] = [Self::User, Self::Assistant, Self::Name, Self::Summary];
}

/// One row of the table. A field that a row does not set has its value in [`KindFacts::NONE`].
#[derive(Debug, Clone, Copy)]
pub struct KindFacts {
    /// The speaker that people are shown; empty if it is the name of the kind or role.
    pub speaker: &'static str,
    /// The fields besides `parentId` that contain ids of other entries.
    pub refers_to: &'static [&'static str],
    /// The texts that a reader is shown, in this order, and the texts that a search reads.
    pub says: &'static [Says],
    /// The fields whose texts a redaction keeps, because they name a tool, a model or a kind of data.
    pub names: &'static [&'static str],
    /// The fields whose numbers and flags a redaction keeps, because they are sizes, times or states.
    pub amounts: &'static [&'static str],
    /// For a kind of entry: its message for the model.
    pub gives: Gives,
    /// For a role: whether its messages are conversation, which creates a new session's file and counts as activity.
    pub is_conversation: bool,
    /// For a role: the type of its content, and the effect of a context edit on it.
    pub content: ContentRule,
    /// The kind of model call that its `usage` belongs to, if it has a usage.
    pub call: Option<ModelCall>,
    /// Whether a new line has `id`, `parentId` and `timestamp` after the kind's own fields, as pi writes it.
    pub is_envelope_last: bool,
}

impl KindFacts {
    /// The facts of an unknown kind.
    pub const NONE: Self = Self {
        speaker: "",
        refers_to: &[],
        says: &[],
        names: &[],
        amounts: &[],
        gives: Gives::Nothing,
        is_conversation: false,
        content: ContentRule::Fixed,
        call: None,
        is_envelope_last: false,
    };

    /// The texts among [`says`](Self::says).
    pub fn texts(&self) -> impl Iterator<Item = &'static SaidText> {
        self.says.iter().filter_map(|says| match says {
            Says::Text(text) => Some(text),
            Says::Sentence(_) => None,
        })
    }

    /// The texts that a search reads, each with its scope.
    pub fn searched(&self) -> impl Iterator<Item = (TextScope, &'static SaidText)> {
        self.texts().filter_map(|text| text.scope.map(|scope| (scope, text)))
    }
}

/// The message that an entry adds to the model's context.
#[derive(Debug, Clone, Copy)]
pub enum Gives {
    /// No message.
    Nothing,
    /// The entry's `message`.
    Message,
    /// A message that is made from the entry's fields.
    Made(MadeMessage),
}

/// A message that is made from an entry: its role, these fields of the entry in this order, and the entry's time as
/// `timestamp`.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeMessage {
    /// The role's name.
    pub role: &'static str,
    /// The fields. A missing `content` becomes an empty list.
    pub fields: &'static [&'static str],
    /// Whether the entry makes no message if its `summary` is empty.
    pub needs_summary: bool,
    /// The field with a message that precedes the made one, if the entry has that field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'static str>,
}

/// The content that messages of a role may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentRule {
    /// Any value. A context edit does not change it.
    Fixed,
    /// A text or blocks; the model receives an empty text if it is missing. A context edit does not change it.
    Prompt,
    /// A text or blocks; the model receives an empty list if it is missing. A context edit replaces it.
    TextOrBlocks,
    /// Blocks only; the model receives an empty list if it is missing. A context edit replaces it; a replacement that
    /// is a text becomes one text block.
    Blocks,
    /// A text or blocks. A context edit replaces it only in a message that is made from an entry, not in a stored
    /// message.
    Made,
}

/// The call that a usage belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelCall {
    /// A call of the model. It is counted even if it has no `usage`.
    Model,
    /// Calls that a tool made.
    Tool,
    /// The call that wrote a summary.
    Summary,
}

/// A text or a sentence of an entry, a message or a block.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum Says {
    /// The texts in a field.
    Text(SaidText),
    /// A sentence about the entry.
    Sentence(Sentence),
}

/// The texts in a field.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SaidText {
    /// The field. A dot separates the name of a field in a field.
    pub field: &'static str,
    /// Where the texts are in the value.
    pub form: TextForm,
    /// The scope in which a search finds the texts. None: no search reads them, but the texts of a block have the scope
    /// of the content that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<TextScope>,
    /// How a reader is shown the texts. None: a sentence contains them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<PartKind>,
    /// The title of an output, a call or a list of tools. `{field}` is replaced by the text of that field.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub title: &'static str,
    /// The field that marks the part as a failure, if its value is truthy in JavaScript.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub failed: &'static str,
}

named! {
    /// Where the texts are in a field's value.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TextForm {
        /// The value is a text. A search ignores any other value.
        Text = "text",
        /// Every string in the value, except keys.
        Json = "json",
        /// A text, or blocks: the texts of the text blocks.
        Content = "content",
        /// A text, or the blocks of an assistant: texts, thinking and tool calls.
        Answer = "answer",
        /// `calls`, a list of the calls that a tool made, with `name`, `arguments` and `error`.
        Calls = "calls",
        /// An object of named texts.
        Sections = "sections",
        /// A list of tools, whose names are shown.
        Tools = "tools",
    }
}

named! {
    /// How a reader is shown a text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PartKind {
        /// As conversation.
        Text = "text",
        /// As a call of a tool or a command.
        Call = "call",
        /// As the output of a tool or a command.
        Output = "output",
        /// As a remark.
        Note = "note",
    }
}

/// A sentence about an entry. `{field}` is replaced by the text of that field. A part in brackets is left out if one of
/// its fields is empty.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sentence {
    /// The sentence.
    pub sentence: &'static str,
    /// The field that decides whether the sentence is shown. None: it is always shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<&'static str>,
    /// The values of `on` with which the sentence is shown. If empty, each value that is truthy in JavaScript.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub values: &'static [&'static str],
    /// The sentence that is shown otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<&'static str>,
}

/// Texts that are shown as conversation.
pub(super) const fn texts(form: TextForm, field: &'static str, scope: Option<TextScope>) -> Says {
    Says::Text(SaidText { field, form, scope, part: Some(PartKind::Text), title: "", failed: "" })
}

pub(super) const fn text(field: &'static str, scope: TextScope) -> Says {
    texts(TextForm::Text, field, Some(scope))
}

pub(super) const fn content(field: &'static str, scope: TextScope) -> Says {
    texts(TextForm::Content, field, Some(scope))
}

pub(super) const fn sentence(sentence: &'static str) -> Says {
    Says::Sentence(Sentence { sentence, on: None, values: &[], otherwise: None })
}

pub(super) const fn sentence_if(on: &'static str, sentence: &'static str, otherwise: &'static str) -> Says {
    Says::Sentence(Sentence { sentence, on: Some(on), values: &[], otherwise: Some(otherwise) })
}

impl Says {
    pub(super) const fn shown(self, part: PartKind, title: &'static str) -> Self {
        match self {
            Says::Text(text) => Says::Text(SaidText { part: Some(part), title, ..text }),
            sentence => sentence,
        }
    }

    pub(super) const fn in_sentence(self) -> Self {
        match self {
            Says::Text(text) => Says::Text(SaidText { part: None, ..text }),
            sentence => sentence,
        }
    }

    pub(super) const fn failed_if(self, failed: &'static str) -> Self {
        match self {
            Says::Text(text) => Says::Text(SaidText { failed, ..text }),
            sentence => sentence,
        }
    }
}

macro_rules! serialize_as_name {
    ($($enum:ident),+) => {
        $(impl Serialize for $enum {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        })+
    };
}
serialize_as_name!(TextScope, TextForm, PartKind);
