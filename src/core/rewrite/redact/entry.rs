//! Takes out of an entry what it says.

use std::io;

use crate::json::reader::{read, Raw};
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
pub fn blanked(line: &str, replacement: &str) -> io::Result<Option<Vec<u8>>> {
    let Some(mut entry) = ObjectText::read(line) else { return Ok(None) };
    let mut text = None;
    if let Some(mut message) = entry.get("message").and_then(ObjectText::read) {
        blank_members(&mut message, replacement, None);
        text = Some(String::from_utf8(message.text()?).map_err(io::Error::other)?);
    }
    blank_members(&mut entry, replacement, text);
    entry.text().map(Some)
}

/// `message`: what becomes of the member of that name, if it is an object.
fn blank_members(object: &mut ObjectText<'_>, replacement: &str, message: Option<String>) {
    object.map_values(|key, value| match (key, value.as_bytes().first()) {
        (b"message", Some(b'{')) => message.clone(),
        (b"content", Some(b'[')) => Some(blank_content(value, replacement)),
        (b"usage", _) => Some(value.to_owned()),
        (key, Some(b'"')) if KEPT.contains(&key) => Some(value.to_owned()),
        (_, Some(b'"')) => Some(replacement.to_owned()),
        (_, Some(b'{' | b'[')) => None,
        // Numbers, booleans and null: sizes, times, flags.
        _ => Some(value.to_owned()),
    });
}

/// The blocks of a content: a call of a tool keeps its id and its name, because its result refers to them.
fn blank_content(content: &str, replacement: &str) -> String {
    let blocks: Vec<Raw<'_>> = read(content).unwrap_or_default();
    let blanked = blocks.iter().map(|block| {
        let block = ObjectText::read(block.get()).unwrap_or_default();
        match (block.get("type"), block.get("id"), block.get("name")) {
            (Some(r#""toolCall""#), Some(id), Some(name)) => {
                format!(r#"{{"type":"toolCall","id":{id},"name":{name},"arguments":{{}}}}"#)
            }
            _ => format!(r#"{{"type":"text","text":{replacement}}}"#),
        }
    });
    format!("[{}]", blanked.collect::<Vec<_>>().join(","))
}
