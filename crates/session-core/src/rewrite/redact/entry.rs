//! Removes the content of an entry.

use std::borrow::Cow;

use crate::base::memory::{self, copy_of, push_str};
use crate::base::wtf8::into_string_lossy;
use crate::format::kind_facts::{Gives, KindFacts, ModelCall, Says};
use crate::format::kinds::{EntryKind, Role};
use crate::json::reader::elements;
use crate::json::{string_bytes, ObjectText};

/// The line of an entry without its content: texts become `replacement` (a JSON string), arguments of calls become
/// empty, and every other value that may have content is removed. None if the line is not an object.
pub(super) fn blanked(line: &str, replacement: &str) -> memory::Result<Option<Vec<u8>>> {
    blanked_object(line, replacement, true)
}

/// Removes the content of an entry or of its message. Keeps only fields of its kind or role, because the name of
/// another field may be content.
fn blanked_object(json: &str, replacement: &str, is_entry: bool) -> memory::Result<Option<Vec<u8>>> {
    let Some(object) = ObjectText::read(json)? else { return Ok(None) };
    let name = object.get(if is_entry { "type" } else { "role" }).map_or(Ok(None), string_bytes)?.unwrap_or_default();
    let (facts, envelope): (&KindFacts, &[&str]) = if is_entry {
        (EntryKind::from_name(&name).facts(), &["type", "id", "parentId", "timestamp"])
    } else {
        (Role::from_name(&name).current().facts(), &["role", "timestamp"])
    };
    let has = |fields: &[&str], key: &[u8]| fields.iter().any(|one| one.as_bytes() == key);
    let says = |key: &[u8]| {
        let is_said = |field: &str| field.split('.').next().is_some_and(|field| field.as_bytes() == key);
        facts.says.iter().any(|says| matches!(says, Says::Text(text) if is_said(text.field)))
    };
    let object = object.with_values(|key, value| {
        Ok(match (key, value.as_bytes().first()) {
            (b"message", Some(b'{')) if is_entry && matches!(facts.gives, Gives::Message) => {
                let message = blanked_object(&value, replacement, false)?;
                message.map(into_string_lossy).transpose()?.map(Cow::Owned)
            }
            (b"usage", _) if facts.call.is_some() => numbers_of_usage(&value)?.map(Cow::Owned),
            (key, Some(b'[')) if key == b"content" && says(key) => Some(blank_content(&value, replacement)?.into()),
            (_, Some(b'{' | b'[')) => None,
            // An entry of this kind must have this field.
            (b"kind", Some(b'"')) if is_entry && facts.call == Some(ModelCall::Model) => {
                Some(copy_of(replacement)?.into())
            }
            (key, _) if has(envelope, key) || has(facts.names, key) || has(facts.refers_to, key) => Some(value),
            (key, Some(b'"')) if says(key) => Some(copy_of(replacement)?.into()),
            (key, Some(b'n')) if says(key) => Some(value),
            // A text in the place of a number is content.
            (key, Some(first)) if *first != b'"' && has(facts.amounts, key) => Some(value),
            _ => None,
        })
    })?;
    object.text().map(Some)
}

/// The keys of usage.
const AMOUNTS: [&str; 9] =
    ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "reasoning", "total", "totalTokens", "cost"];

/// The numbers of a usage under its own keys; None if it is not an object.
fn numbers_of_usage(json: &str) -> memory::Result<Option<String>> {
    let Some(usage) = ObjectText::read(json)? else { return Ok(None) };
    let usage = usage.with_values(|key, value| {
        let is_known = AMOUNTS.iter().any(|known| known.as_bytes() == key);
        Ok(match value.as_bytes().first() {
            Some(b'-' | b'0'..=b'9') if is_known => Some(value),
            Some(b't' | b'f') if key == b"totalFromProvider" => Some(value),
            Some(b'{') if key == b"cost" => numbers_of_usage(&value)?.map(Cow::Owned),
            _ => None,
        })
    })?;
    usage.text().and_then(into_string_lossy).map(Some)
}

/// The blocks of a content. A tool call keeps its id and its name, because its result refers to them.
fn blank_content(content: &str, replacement: &str) -> memory::Result<String> {
    let mut blocks = "[".to_owned();
    for block in elements(content) {
        let block = ObjectText::read(block)?.unwrap_or_default();
        let comma = if blocks.len() > 1 { "," } else { "" };
        let kind = block.get("type").map_or(Ok(None), string_bytes)?;
        let text = |key| block.get(key).filter(|value| value.starts_with('"'));
        let parts = match (kind.as_deref(), text("id"), text("name")) {
            (Some(b"toolCall"), Some(id), Some(name)) => {
                [r#"{"type":"toolCall","id":"#, id, r#","name":"#, name, r#","arguments":{}}"#]
            }
            _ => [r#"{"type":"text","text":"#, replacement, "}", "", ""],
        };
        push_str(&mut blocks, comma)?;
        for part in parts {
            push_str(&mut blocks, part)?;
        }
    }
    push_str(&mut blocks, "]")?;
    Ok(blocks)
}
