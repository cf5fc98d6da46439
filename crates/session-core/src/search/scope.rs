//! The texts of an entry that a search reads: the texts in the table of kinds (`format/kinds.rs`) with the requested
//! scopes.

use std::borrow::Cow;

use crate::base::memory::{self, push};
use crate::format::header::Version;
use crate::format::kind_facts::{KindFacts, TextForm, TextScope};
use crate::format::kinds::{search_roles, BlockType, EntryKind, Role};
use crate::json::fields;
use crate::json::reader::{elements, read, Members, Raw};
use crate::json::scanner::Scanner;
use crate::json::string_bytes;

/// The search role with this name: a role or a type with texts in the table.
pub fn hit_role(name: &[u8]) -> Option<&'static str> {
    search_roles().into_iter().find(|role| role.as_bytes() == name)
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

/// An entry with the texts of some scopes.
#[derive(Debug, PartialEq)]
pub(crate) struct EntryTexts<'a> {
    /// One of [`search_roles`].
    pub role: &'static str,
    /// The entry's id; empty in version 1, where entries have none.
    pub id: Cow<'a, [u8]>,
    /// The entry's timestamp; empty if it is not a text.
    pub timestamp: Cow<'a, [u8]>,
    /// Parts of the line's JSON, each with its scope. Every string in them is searched, except keys.
    pub texts: Vec<(TextScope, &'a str)>,
}

/// Reads a line of a session. None if it is not an entry that can have texts. Fails with `OutOfMemory` if an allocation
/// fails.
pub(crate) fn entry_texts<'a>(
    line: &'a str,
    version: Version,
    scopes: &[TextScope],
) -> memory::Result<Option<EntryTexts<'a>>> {
    let Some(entry) = Members::read(line)? else { return Ok(None) };
    let id = text_in(entry.get("id"))?;
    if version != Version::V1 && id.is_none() {
        return Ok(None);
    }
    let mut texts = Texts { scopes, found: Vec::new() };
    let kind = EntryKind::from_name(&text_in(entry.get("type"))?.unwrap_or_default());
    let (role, is_searched) = if kind == EntryKind::Message {
        let message = entry.get("message").map_or(Ok(None), |message| Members::read(message.get()))?;
        let Some(message) = message else { return Ok(None) };
        let role = Role::from_name(&text_in(message.get("role"))?.unwrap_or_default()).current();
        (role.name(), texts.add_all(&message, role.facts())?)
    } else {
        (kind.name(), texts.add_all(&entry, kind.facts())?)
    };
    if !is_searched {
        return Ok(None);
    }
    let timestamp = text_in(entry.get("timestamp"))?.unwrap_or_default();
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
            // Can fail, because a line may have millions of them.
            Some(value) => push(&mut self.found, (scope, value.get())),
            None => Ok(()),
        }
    }

    /// Adds the texts of an entry or a message by its row of the table. False if none of its texts is ever searched.
    fn add_all(&mut self, object: &Members<'a>, facts: &KindFacts) -> memory::Result<bool> {
        let mut is_searched = false;
        for (scope, text) in facts.searched() {
            is_searched = true;
            // Only an answer contains texts with other scopes.
            if !self.scopes.contains(&scope) && !matches!(text.form, TextForm::Answer) {
                continue;
            }
            let mut fields = text.field.split('.');
            let mut value = fields.next().and_then(|field| object.get(field));
            for field in fields {
                let inner = value.map_or(Ok(None), |object| Members::read(object.get()))?;
                value = inner.and_then(|object| object.get(field));
            }
            match text.form {
                TextForm::Text => self.add_string(scope, value)?,
                TextForm::Json | TextForm::Sections | TextForm::Tools => self.add_nested(scope, value)?,
                TextForm::Content => self.add_content(scope, value, false)?,
                TextForm::Answer => self.add_content(scope, value, true)?,
                TextForm::Calls => self.add_nested_calls(scope, value)?,
            }
        }
        Ok(is_searched)
    }

    /// Adds the calls that a tool made to other tools.
    fn add_nested_calls(&mut self, scope: TextScope, nested: Option<Raw<'a>>) -> memory::Result<()> {
        let nested = nested.and_then(|nested| read::<NestedFields<Raw<'_>>>(nested.get()));
        let calls = nested.and_then(|nested| nested.calls);
        for call in calls.into_iter().flat_map(|calls| elements(calls.get())).filter(|call| call.starts_with('{')) {
            let Some(call) = read::<NestedCallFields<Raw<'_>>>(call) else { continue };
            self.add_string(scope, call.name)?;
            self.add_nested(scope, call.arguments)?;
            self.add_string(scope, call.error)?;
        }
        Ok(())
    }

    /// Adds a content: a string or blocks. A block's text has the scope of the content, unless the block has a scope of
    /// its own. That counts only in an answer, because only an assistant thinks and calls tools.
    fn add_content(&mut self, scope: TextScope, content: Option<Raw<'a>>, is_answer: bool) -> memory::Result<()> {
        self.add_string(scope, content)?;
        let blocks = content.into_iter().flat_map(|content| elements(content.get()));
        for block in blocks.filter(|block| block.starts_with('{')) {
            let Some(block) = Members::read(block)? else { continue };
            let block_type = BlockType::from_name(&text_in(block.get("type"))?.unwrap_or_default());
            for text in block_type.facts().texts().filter(|text| is_answer || text.scope.is_none()) {
                let (scope, value) = (text.scope.unwrap_or(scope), block.get(text.field));
                match text.form {
                    TextForm::Json => self.add_nested(scope, value)?,
                    _ => self.add_string(scope, value)?,
                }
            }
        }
        Ok(())
    }
}

/// Calls `each` with every string in a JSON text except keys, until `each` fails.
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
mod tests;
