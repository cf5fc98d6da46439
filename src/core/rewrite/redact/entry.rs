//! Takes out of an entry what it says.

use crate::base::memory::{self, copy_of, push_str};
use crate::base::wtf8::into_string_lossy;
use crate::json::object_text::ValueEdit;
use crate::json::reader::{elements, read, Raw};
use crate::json::{fields, ObjectText};

use super::text::KEPT;

fields! {
    /// The fields that tell which line it is.
    pub struct Identity<V> {
        kind: V = "type",
        id: V = "id",
        timestamp: V = "timestamp",
    }
}

/// The identity of a line; None if it is not an object.
pub fn identity_of(line: &str) -> Option<Identity<Raw<'_>>> {
    read(line).ok()
}

/// The line of an entry without what the entry says: texts become `replacement` (a JSON string), arguments of calls become empty,
/// and whatever else may say something goes. None if it is not an object.
pub fn blanked(line: &str, replacement: &str) -> memory::Result<Option<Vec<u8>>> {
    let Some(mut entry) = ObjectText::read(line)? else { return Ok(None) };
    let mut text = None;
    if let Some(mut message) = entry.get("message").map_or(Ok(None), ObjectText::read)? {
        blank_members(&mut message, replacement, None)?;
        text = Some(into_string_lossy(message.text()?)?);
    }
    blank_members(&mut entry, replacement, text)?;
    entry.text().map(Some)
}

/// `message`: what becomes of the member of that name, if it is an object.
fn blank_members(object: &mut ObjectText<'_>, replacement: &str, message: Option<String>) -> memory::Result<()> {
    let mut message = message;
    object.edit_values(|key, value| {
        Ok(match (key, value.as_bytes().first()) {
            // Keys are different.
            (b"message", Some(b'{')) => message.take().map_or(ValueEdit::Removed, ValueEdit::Set),
            (b"content", Some(b'[')) => ValueEdit::Set(blank_content(value, replacement)?),
            (b"usage", _) => ValueEdit::Kept,
            (key, Some(b'"')) if KEPT.contains(&key) => ValueEdit::Kept,
            (_, Some(b'"')) => ValueEdit::Set(copy_of(replacement)?),
            (_, Some(b'{' | b'[')) => ValueEdit::Removed,
            // Numbers, booleans and null: sizes, times, flags.
            _ => ValueEdit::Kept,
        })
    })
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
