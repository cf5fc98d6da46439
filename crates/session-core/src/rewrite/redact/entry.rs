//! Takes out of an entry what it says.

use std::borrow::Cow;

use crate::base::memory::{self, copy_of, push_str};
use crate::base::wtf8::into_string_lossy;
use crate::format::kinds::{is_amount, is_name};
use crate::json::reader::elements;
use crate::json::{string_bytes, ObjectText};

/// The line of an entry without what the entry says: texts become `replacement` (a JSON string), arguments of calls become empty,
/// and whatever else may say something goes. None if it is not an object.
pub(super) fn blanked(line: &str, replacement: &str) -> memory::Result<Option<Vec<u8>>> {
    blanked_object(line, replacement, true)
}

/// An entry, or the message of one.
fn blanked_object(json: &str, replacement: &str, is_entry: bool) -> memory::Result<Option<Vec<u8>>> {
    let Some(object) = ObjectText::read(json)? else { return Ok(None) };
    let object = object.with_values(|key, value| {
        Ok(match (key, value.as_bytes().first()) {
            (b"message", Some(b'{')) if is_entry => {
                let message = blanked_object(&value, replacement, false)?;
                message.map(into_string_lossy).transpose()?.map(Cow::Owned)
            }
            (b"content", Some(b'[')) => Some(blank_content(&value, replacement)?.into()),
            (b"usage", _) => numbers_of_usage(&value)?.map(Cow::Owned),
            (key, Some(b'"')) if is_name(key) => Some(value),
            (_, Some(b'"')) => Some(copy_of(replacement)?.into()),
            (_, Some(b'{' | b'[')) => None,
            (_, Some(b'n')) => Some(value),
            // A number may be all that an extension's data says.
            (key, _) => Some(value).filter(|_| is_name(key) || is_amount(key)),
        })
    })?;
    object.text().map(Some)
}

/// The keys of usage.
const AMOUNTS: [&str; 9] =
    ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "reasoning", "total", "totalTokens", "cost"];

/// The numbers that usage has under its own keys; None if it is no object.
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

/// The blocks of a content: a call of a tool keeps its id and its name, because its result refers to them.
fn blank_content(content: &str, replacement: &str) -> memory::Result<String> {
    let mut blocks = copy_of("[")?;
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
