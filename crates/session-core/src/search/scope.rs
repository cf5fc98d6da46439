//! The texts of an entry, and which of them a search reads.

use std::borrow::Cow;

use crate::base::memory::{self, push};
use crate::base::named::named;
use crate::format::agent_message::Role;
use crate::format::header::Version;
use crate::json::reader::{elements, read, Raw};
use crate::json::scanner::Scanner;
use crate::json::{fields, string_bytes};

named! {
    /// A kind of text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TextScope {
        /// What users said.
        User = "user",
        /// What assistants said, and what went wrong with a call.
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
    /// What was said, and what tells sessions apart.
    pub(crate) const DEFAULT: [Self; 4] = [Self::User, Self::Assistant, Self::Name, Self::Summary];
}

/// The roles of hits: the roles of messages, and the types of other entries.
pub const HIT_ROLES: [&str; 11] = [
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "custom",
    "session_info",
    "label",
    "compaction",
    "branch_summary",
    "custom_message",
    "context_edit",
];

/// The one of [`HIT_ROLES`] with a name.
pub fn hit_role(name: &[u8]) -> Option<&'static str> {
    HIT_ROLES.into_iter().find(|role| role.as_bytes() == name)
}

fields! {
    struct SearchedFields<V> {
        kind: V = "type",
        id: V = "id",
        timestamp: V = "timestamp",
        message: V = "message",
        name: V = "name",
        label: V = "label",
        summary: V = "summary",
        content: V = "content",
        data: V = "data",
        replacement: V = "replacement",
    }
}

fields! {
    struct MessageFields<V> {
        role: V = "role",
        content: V = "content",
        command: V = "command",
        output: V = "output",
        error: V = "errorMessage",
        nested: V = "nestedCalls",
    }
}

fields! {
    /// The calls that a tool made to other tools.
    struct NestedFields<V> {
        calls: V = "calls",
    }
}

fields! {
    struct NestedCallFields<V> {
        name: V = "name",
        arguments: V = "arguments",
        error: V = "error",
    }
}

fields! {
    struct ReplacementFields<V> {
        content: V = "content",
    }
}

fields! {
    struct BlockFields<V> {
        kind: V = "type",
        text: V = "text",
        thinking: V = "thinking",
        name: V = "name",
        arguments: V = "arguments",
        arguments_error: V = "argumentsError",
    }
}

/// An entry with the texts of some scopes.
#[derive(Debug, PartialEq)]
pub(crate) struct EntryTexts<'a> {
    /// One of [`HIT_ROLES`].
    pub role: &'static str,
    /// Its id, empty where entries have none.
    pub id: Cow<'a, [u8]>,
    /// Its timestamp, if that is a text.
    pub timestamp: Cow<'a, [u8]>,
    /// JSON within the line, each with its scope: of every string in it, without keys, the text is searched.
    pub texts: Vec<(TextScope, &'a str)>,
}

/// Reads a line of a session; None if it is not an entry that can have texts. An error if there is no memory for the list of them.
pub(crate) fn entry_texts<'a>(
    line: &'a str,
    version: Version,
    scopes: &[TextScope],
) -> memory::Result<Option<EntryTexts<'a>>> {
    let Some(fields) = read::<SearchedFields<Raw<'_>>>(line) else { return Ok(None) };
    let id = text_in(fields.id)?;
    if version != Version::V1 && id.is_none() {
        return Ok(None);
    }
    let kind = text_in(fields.kind)?.unwrap_or_default();
    let mut texts = Texts { scopes, found: Vec::new() };
    let mut message_role = None;
    match &*kind {
        b"message" => {
            let Some(message) = fields.message.and_then(|message| read(message.get())) else { return Ok(None) };
            message_role = Some(texts.add_message(message)?);
        }
        b"session_info" => texts.add_string(TextScope::Name, fields.name)?,
        b"label" => texts.add_string(TextScope::Name, fields.label)?,
        b"compaction" | b"branch_summary" => texts.add_string(TextScope::Summary, fields.summary)?,
        b"custom" => texts.add_nested(TextScope::Custom, fields.data)?,
        b"custom_message" => texts.add_content(TextScope::Custom, fields.content)?,
        b"context_edit" => {
            let replacement = fields.replacement.and_then(|raw| read::<ReplacementFields<Raw<'_>>>(raw.get()));
            texts.add_content(TextScope::Custom, replacement.and_then(|fields| fields.content))?;
        }
        _ => return Ok(None),
    }
    let Some(role) = hit_role(message_role.map_or(&*kind, |role| role.name().as_bytes())) else { return Ok(None) };
    let timestamp = text_in(fields.timestamp)?.unwrap_or_default();
    Ok(Some(EntryTexts { role, id: id.unwrap_or_default(), timestamp, texts: texts.found }))
}

fn text_in(value: Option<Raw<'_>>) -> memory::Result<Option<Cow<'_, [u8]>>> {
    value.map_or(Ok(None), |raw| string_bytes(raw.get()))
}

struct Texts<'a, 's> {
    scopes: &'s [TextScope],
    found: Vec<(TextScope, &'a str)>,
}

impl<'a> Texts<'a, '_> {
    /// Adds a value if it is a string.
    fn add_string(&mut self, scope: TextScope, value: Option<Raw<'a>>) -> memory::Result<()> {
        self.add_nested(scope, value.filter(|value| value.get().starts_with('"')))
    }

    /// Adds every string in a value, but no keys.
    fn add_nested(&mut self, scope: TextScope, value: Option<Raw<'a>>) -> memory::Result<()> {
        match value.filter(|_| self.scopes.contains(&scope)) {
            // A line may have millions.
            Some(value) => push(&mut self.found, (scope, value.get())),
            None => Ok(()),
        }
    }

    /// Gives the role under which its texts are found.
    fn add_message(&mut self, message: MessageFields<Raw<'a>>) -> memory::Result<Role> {
        let role = Role::from_name(&text_in(message.role)?.unwrap_or_default());
        let scope = match role {
            Role::User => TextScope::User,
            Role::Assistant => TextScope::Assistant,
            Role::ToolResult => TextScope::Tool,
            Role::Custom | Role::HookMessage => TextScope::Custom,
            Role::BashExecution => {
                self.add_string(TextScope::Tool, message.command)?;
                self.add_string(TextScope::Tool, message.output)?;
                return Ok(role);
            }
            _ => return Ok(role),
        };
        self.add_content(scope, message.content)?;
        if role == Role::Assistant {
            self.add_string(TextScope::Assistant, message.error)?;
        }
        if role == Role::ToolResult {
            self.add_nested_calls(message.nested)?;
        }
        // What version 2 called a hook's message is a custom one now.
        Ok(if role == Role::HookMessage { Role::Custom } else { role })
    }

    /// Adds the calls that a tool made to other tools.
    fn add_nested_calls(&mut self, nested: Option<Raw<'a>>) -> memory::Result<()> {
        let nested = nested.and_then(|nested| read::<NestedFields<Raw<'_>>>(nested.get()));
        let calls = nested.and_then(|nested| nested.calls);
        for call in calls.into_iter().flat_map(|calls| elements(calls.get())).filter(|call| call.starts_with('{')) {
            let Some(call) = read::<NestedCallFields<Raw<'_>>>(call) else { continue };
            self.add_string(TextScope::Tool, call.name)?;
            self.add_nested(TextScope::Tool, call.arguments)?;
            self.add_string(TextScope::Tool, call.error)?;
        }
        Ok(())
    }

    /// Adds a content: a string or blocks. Only an assistant thinks and calls tools.
    fn add_content(&mut self, scope: TextScope, content: Option<Raw<'a>>) -> memory::Result<()> {
        self.add_string(scope, content)?;
        let blocks = content.into_iter().flat_map(|content| elements(content.get()));
        for block in blocks.filter(|block| block.starts_with('{')) {
            let Some(block) = read::<BlockFields<Raw<'_>>>(block) else { continue };
            match (text_in(block.kind)?.as_deref(), scope) {
                (Some(b"text"), _) => self.add_string(scope, block.text)?,
                (Some(b"thinking"), TextScope::Assistant) => self.add_string(TextScope::Thinking, block.thinking)?,
                (Some(b"toolCall"), TextScope::Assistant) => {
                    self.add_string(TextScope::Tool, block.name)?;
                    self.add_nested(TextScope::Tool, block.arguments)?;
                    self.add_string(TextScope::Tool, block.arguments_error)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Calls `each` with every string in a JSON text that is not a key, until it fails.
pub(crate) fn strings_in<'a, E>(json: &'a str, mut each: impl FnMut(&'a str) -> Result<(), E>) -> Result<(), E> {
    let mut at = 0;
    while let Some(from) = json.get(at..).and_then(|rest| rest.find('"')).map(|start| at + start) {
        let mut scanner = Scanner::starting_at(json, from);
        let Ok(string) = scanner.span(Scanner::skip_string) else { break };
        at = scanner.at();
        if scanner.next_token() != Ok(Some(b':')) {
            each(string)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'a>(line: &'a str, scopes: &[TextScope]) -> Option<(&'static str, Vec<(&'static str, &'a str)>)> {
        let entry = entry_texts(line, Version::Current, scopes).expect("memory")?;
        let mut strings = Vec::new();
        for (scope, json) in entry.texts {
            let each = |string| {
                strings.push((scope.name(), string));
                Ok::<_, memory::OutOfMemory>(())
            };
            strings_in(json, each).expect("no error");
        }
        Some((entry.role, strings))
    }

    #[test]
    fn each_text_has_its_scope() {
        let all = TextScope::NAMED.map(|(scope, _)| scope);
        for (line, want) in [
            (
                r#"{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"toolCall","name":"c","arguments":{},"argumentsError":"not JSON"}]}}"#,
                Some(("assistant", vec![("tool", "\"c\""), ("tool", "\"not JSON\"")])),
            ),
            (
                r#"{"type":"message","id":"a","message":{"role":"toolResult","content":[],"nestedCalls":{"complete":true,"calls":[{"id":"1","name":"read","arguments":{"path":"pear"},"status":"ok"},7,{"name":"run","status":"error","error":"gone"}]}}}"#,
                Some((
                    "toolResult",
                    vec![("tool", "\"read\""), ("tool", "\"pear\""), ("tool", "\"run\""), ("tool", "\"gone\"")],
                )),
            ),
            (
                r#"{"type":"message","id":"a","message":{"role":"toolResult","content":[],"nestedCalls":[1]}}"#,
                Some(("toolResult", vec![])),
            ),
            (
                r#"{"type":"message","id":"a","message":{"content":[{"type":"text","text":"a"},{"thinking":"b","type":"thinking"},{"type":"toolCall","name":"c","arguments":{"k":["d",{"l" : "e"}]}},{"type":"image","data":"x"}],"role":"assistant"}}"#,
                Some((
                    "assistant",
                    vec![
                        ("assistant", "\"a\""),
                        ("thinking", "\"b\""),
                        ("tool", "\"c\""),
                        ("tool", "\"d\""),
                        ("tool", "\"e\""),
                    ],
                )),
            ),
            (
                r#"{"type":"message","id":"a","message":{"role":"bashExecution","command":"a","output":"b"}}"#,
                Some(("bashExecution", vec![("tool", "\"a\""), ("tool", "\"b\"")])),
            ),
            (r#"{"type":"custom","id":"a","data":{"x":"y"}}"#, Some(("custom", vec![("custom", "\"y\"")]))),
            (
                r#"{"type":"message","id":"a","message":{"role":"hookMessage","content":"a"}}"#,
                Some(("custom", vec![("custom", "\"a\"")])),
            ),
            (
                r#"{"type":"message","id":"a","message":{"role":"assistant","content":[],"errorMessage":"a"}}"#,
                Some(("assistant", vec![("assistant", "\"a\"")])),
            ),
            (
                r#"{"type":"message","id":"a","message":{"role":"user","content":[],"errorMessage":"a"}}"#,
                Some(("user", Vec::new())),
            ),
            (
                r#"{"type":"context_edit","id":"a","replacement":{"content":[{"type":"text","text":"a"}]}}"#,
                Some(("context_edit", vec![("custom", "\"a\"")])),
            ),
            (r#"{"type":"context_edit","id":"a","replacement":null}"#, Some(("context_edit", Vec::new()))),
            (r#"{"type":"label","id":"a","label":"a"}"#, Some(("label", vec![("name", "\"a\"")]))),
            (r#"{"type":"message","message":{"role":"user","content":"no id"}}"#, None),
            (r#"{"type":"message","id":"a","message":{"role":"system","content":"a"}}"#, None),
            (r#"{"type":"session","id":"a","name":"a"}"#, None),
        ] {
            assert_eq!(texts(line, &all), want, "{line}");
        }
    }
}
