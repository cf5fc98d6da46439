//! Takes out of an entry what it says.

use std::borrow::Cow;

use crate::base::memory::{self, copy_of, push_str};
use crate::base::wtf8::into_string_lossy;
use crate::json::reader::elements;
use crate::json::ObjectText;

use super::text::is_kept;

/// The line of an entry without what the entry says: texts become `replacement` (a JSON string), arguments of calls become empty,
/// and whatever else may say something goes. None if it is not an object.
pub fn blanked(line: &str, replacement: &str) -> memory::Result<Option<Vec<u8>>> {
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
            (b"usage", _) => Some(value),
            (key, Some(b'"')) if is_kept(key) => Some(value),
            (_, Some(b'"')) => Some(copy_of(replacement)?.into()),
            (_, Some(b'{' | b'[')) => None,
            // Numbers, booleans and null: sizes, times, flags.
            _ => Some(value),
        })
    })?;
    object.text().map(Some)
}

/// The blocks of a content: a call of a tool keeps its id and its name, because its result refers to them.
fn blank_content(content: &str, replacement: &str) -> memory::Result<String> {
    let mut blocks = copy_of("[")?;
    for block in elements(content) {
        let block = ObjectText::read(block)?.unwrap_or_default();
        let comma = if blocks.len() > 1 { "," } else { "" };
        let parts = match (block.get("type"), block.get("id"), block.get("name")) {
            (Some(r#""toolCall""#), Some(id), Some(name)) => {
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
