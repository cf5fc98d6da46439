//! The columns of the table of kinds (`kinds.rs`): what its rows can say of a kind of entry, a role or a type of blocks.

use serde::{Serialize, Serializer};

use crate::base::named::named;

named! {
    /// A kind of text that a search can be limited to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TextScope {
        /// What users said.
        User = "user",
        /// What assistants said, and why a call of theirs failed.
        Assistant = "assistant",
        /// Names of sessions, and labels.
        Name = "name",
        /// Summaries of compactions and branches.
        Summary = "summary",
        /// Tool calls and their results, commands of the user's shell and their output.
        Tool = "tool",
        /// What assistants thought.
        Thinking = "thinking",
        /// What extensions wrote, and what the model sees in place of an entry's content.
        Custom = "custom",
    }
}

impl TextScope {
    /// The scopes of a search that names none: what was said, and what tells sessions apart.
    pub const DEFAULT: [Self; 4] = [Self::User, Self::Assistant, Self::Name, Self::Summary];
}

/// One row of the table. A field that a row leaves out is as in [`KindFacts::NONE`].
#[derive(Debug, Clone, Copy)]
pub struct KindFacts {
    /// What people are shown as the speaker; empty if that is the name of the kind or role.
    pub speaker: &'static str,
    /// The fields that contain ids of other entries, besides `parentId`.
    pub refers_to: &'static [&'static str],
    /// What a reader is shown, in this order, and what a search reads.
    pub says: &'static [Says],
    /// The fields whose texts a redaction keeps, because they name a tool, a model or a kind of data.
    pub names: &'static [&'static str],
    /// The fields whose numbers and flags a redaction keeps, because they are sizes, times and states.
    pub amounts: &'static [&'static str],
    /// Of a kind of entry: what it gives to the model.
    pub gives: Gives,
    /// Of a role: what its content may be, and what a context edit does to it.
    pub content: ContentRule,
    /// The model call that its `usage` belongs to, if it has one.
    pub call: Option<ModelCall>,
    /// Whether a new line has `id`, `parentId` and `timestamp` after the kind's own fields, as pi writes it.
    pub is_envelope_last: bool,
}

impl KindFacts {
    /// A kind that nothing is known of.
    pub const NONE: Self = Self {
        speaker: "",
        refers_to: &[],
        says: &[],
        names: &[],
        amounts: &[],
        gives: Gives::Nothing,
        content: ContentRule::Fixed,
        call: None,
        is_envelope_last: false,
    };

    /// The texts that it says.
    pub fn texts(&self) -> impl Iterator<Item = &'static SaidText> {
        self.says.iter().filter_map(|says| match says {
            Says::Text(text) => Some(text),
            Says::Sentence(_) => None,
        })
    }

    /// Those that a search reads, each with its scope.
    pub fn searched(&self) -> impl Iterator<Item = (TextScope, &'static SaidText)> {
        self.texts().filter_map(|text| text.scope.map(|scope| (scope, text)))
    }
}

/// What an entry gives to the model.
#[derive(Debug, Clone, Copy)]
pub enum Gives {
    /// No message.
    Nothing,
    /// Its `message`.
    Message,
    /// A message that is made of its fields.
    Made(MadeMessage),
}

/// A message that is made of an entry: its role, these fields of the entry in this order, and the entry's time as `timestamp`.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeMessage {
    /// The name of its role.
    pub role: &'static str,
    /// The fields. A missing `content` becomes an empty list.
    pub fields: &'static [&'static str],
    /// Whether the entry gives no message while its `summary` is empty.
    pub needs_summary: bool,
    /// The field with a message that comes before the made one, if the entry has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'static str>,
}

/// What the content of a role's messages may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentRule {
    /// Whatever is stored. A context edit does not change it.
    Fixed,
    /// A text or blocks; the model gets an empty text if it is missing. A context edit does not change it.
    Prompt,
    /// A text or blocks; the model gets an empty list if it is missing. A context edit replaces it.
    TextOrBlocks,
    /// Blocks alone; the model gets an empty list if it is missing. A context edit replaces it, by one text block if it has a text.
    Blocks,
    /// A text or blocks. A context edit replaces it only in the message that an entry makes, not in one that an entry contains.
    Made,
}

/// What usage was spent by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelCall {
    /// A call that is counted even if it has no `usage`.
    Model,
    /// Calls that a tool made.
    Tool,
    /// The call that wrote a summary.
    Summary,
}

/// Something that an entry, a message or a block says.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum Says {
    /// Texts in a field.
    Text(SaidText),
    /// A sentence about the entry.
    Sentence(Sentence),
}

/// The texts in a field.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SaidText {
    /// The field; in a field of a field with a dot between them.
    pub field: &'static str,
    /// Where in the value the texts are.
    pub form: TextForm,
    /// The scope in which a search finds them. None: no search reads them; of a block: they have the scope of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<TextScope>,
    /// How a reader is shown them. None: a sentence contains them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<PartKind>,
    /// What names an output, a call or a list of tools; `{field}` stands for the text of a field.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub title: &'static str,
    /// The field that tells, by a value which is true for JavaScript, that the part is of a failure.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub failed: &'static str,
}

named! {
    /// Where in a field's value the texts are.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TextForm {
        /// The value is a text. A search ignores any other value.
        Text = "text",
        /// Every string in the value, keys left out.
        Json = "json",
        /// A text, or blocks: of these the texts of text blocks.
        Content = "content",
        /// A text, or the blocks of an assistant: texts, thinking and tool calls.
        Answer = "answer",
        /// `calls`, a list of the calls that a tool made: `name`, `arguments`, `error`.
        Calls = "calls",
        /// An object of named texts.
        Sections = "sections",
        /// A list of tools, of which the names are shown.
        Tools = "tools",
    }
}

named! {
    /// How a reader is shown a text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PartKind {
        /// As what was said.
        Text = "text",
        /// As a call of a tool or a command.
        Call = "call",
        /// As what a tool or a command returned.
        Output = "output",
        /// As a remark.
        Note = "note",
    }
}

/// A sentence about an entry, in which `{field}` stands for the text of a field. A part in brackets is left out if one of its fields is
/// empty.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sentence {
    /// The sentence.
    pub sentence: &'static str,
    /// The field that decides whether it is shown; without one it always is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<&'static str>,
    /// The values of `on` with which it is shown; without them every value that is true for JavaScript.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub values: &'static [&'static str],
    /// The sentence that is shown in its place otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<&'static str>,
}

/// Texts that are shown as what was said.
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
