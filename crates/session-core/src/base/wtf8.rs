//! Text as in JavaScript. A JavaScript string is any sequence of UTF-16 units, so it may contain a lone surrogate
//! (often left by a tool that truncated its output). Rust's strings cannot contain one. We store text as WTF-8: UTF-8
//! in which a lone surrogate occupies three bytes. Text without lone surrogates is plain UTF-8.

use std::borrow::Cow;

use super::memory::{self, append, copy_of_bytes, push_str, reserve, with_capacity, OutOfMemory};
use super::utf16::{push_json, push_wtf8};

/// Converts UTF-16 units to WTF-8. Paired surrogates become one character.
pub fn from_utf16(units: &[u16]) -> Result<Vec<u8>, OutOfMemory> {
    let mut out = Vec::new();
    // Most texts are short and ASCII. The compiler vectorizes both loops.
    if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
        reserve(&mut out, units.len())?;
        out.extend(units.iter().map(|&unit| unit as u8));
    } else {
        push_wtf8(&mut out, units)?;
    }
    Ok(out)
}

/// Converts WTF-8 to UTF-16 units. Bytes that are not WTF-8 become U+FFFD.
pub fn to_utf16(bytes: &[u8]) -> Result<Vec<u16>, OutOfMemory> {
    // No character has more units than bytes.
    let mut out = with_capacity(bytes.len())?;
    for (text, unit) in pieces(bytes) {
        out.extend(text.encode_utf16());
        out.extend(unit);
    }
    Ok(out)
}

/// Splits WTF-8 into pieces of text, each with the unit after it: a lone surrogate, or U+FFFD for bytes that are not
/// WTF-8.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = (&str, Option<u16>)> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        // A surrogate's bytes are not UTF-8, so they end the first chunk.
        let chunk = rest.utf8_chunks().next()?;
        let tail = rest.get(chunk.valid().len()..).unwrap_or_default();
        let (unit, taken) = match surrogate_at(tail) {
            Some(unit) => (Some(unit), 3),
            None => (Some(0xFFFD).filter(|_| !tail.is_empty()), chunk.invalid().len()),
        };
        rest = tail.get(taken..).unwrap_or_default();
        Some((chunk.valid(), unit))
    })
}

/// The lone surrogate at the start of these WTF-8 bytes.
pub(crate) fn surrogate_at(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [0xED, b @ 0xA0..=0xBF, c @ 0x80..=0xBF, ..] => Some(0xD000 | (u16::from(b & 0x3F) << 6) | u16::from(c & 0x3F)),
        _ => None,
    }
}

/// The text for a message or a file name. Lone surrogates become U+FFFD.
pub fn to_string_lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let text = |(text, unit): (_, Option<u16>)| [text, unit.map_or("", |_| "\u{fffd}")];
            Cow::Owned(pieces(bytes).flat_map(text).collect())
        }
    }
}

/// The start of an id, for a message, because an id in a file may have any length.
pub fn shown(id: &[u8]) -> Cow<'_, str> {
    const LONGEST: usize = 256;
    match id.get(..LONGEST) {
        Some(start) if id.len() > LONGEST => {
            format!("{}…", to_string_lossy(start).trim_end_matches(char::REPLACEMENT_CHARACTER)).into()
        }
        _ => to_string_lossy(id),
    }
}

/// A copy as text; lone surrogates become U+FFFD. Fails if the allocation fails.
pub(crate) fn copy_lossy(bytes: &[u8]) -> memory::Result<String> {
    into_string_lossy(copy_of_bytes(bytes)?)
}

/// Converts bytes into text without a copy if they are UTF-8. Other bytes become U+FFFD. Fails with `OutOfMemory` if
/// the allocation fails.
pub fn into_string_lossy(bytes: Vec<u8>) -> Result<String, OutOfMemory> {
    String::from_utf8(bytes).or_else(|error| {
        let mut out = String::new();
        for (text, unit) in pieces(error.as_bytes()) {
            push_str(&mut out, text)?;
            push_str(&mut out, unit.map_or("", |_| "\u{fffd}"))?;
        }
        Ok(out)
    })
}

/// Writes the WTF-8 of a code point, which may be a surrogate, into a buffer.
pub(crate) fn encode_wtf8(code_point: u32, buffer: &mut [u8; 4]) -> &[u8] {
    if let Some(c) = char::from_u32(code_point) {
        return c.encode_utf8(buffer).as_bytes();
    }
    let low = |shift: u32| 0x80 | ((code_point >> shift) & 0x3F) as u8;
    let [start @ .., _] = buffer;
    *start = [0xE0 | (code_point >> 12) as u8, low(6), low(0)];
    start
}

/// Whether JavaScript's `trim` removes the character: white space, line ends, U+FEFF.
fn is_js_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{2028}' | '\u{2029}'
        | '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{FEFF}')
}

/// `String.prototype.trim` on WTF-8.
pub fn trim(bytes: &[u8]) -> &[u8] {
    // Bytes that are not UTF-8 are not white space.
    let head = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let start = head.len() - head.trim_start_matches(is_js_space).len();
    let rest = bytes.get(start..).unwrap_or_default();
    let last = rest.utf8_chunks().last().filter(|chunk| chunk.invalid().is_empty());
    let tail = last.map_or("", |chunk| chunk.valid());
    let cut = tail.len() - tail.trim_end_matches(is_js_space).len();
    rest.get(..rest.len() - cut).unwrap_or_default()
}

/// The form in which a session name is stored: runs of carriage returns and line feeds become one space; then it is
/// trimmed.
pub fn one_line(bytes: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut out = with_capacity(bytes.len())?;
    let mut in_run = false;
    for &byte in bytes {
        let breaks = byte == b'\r' || byte == b'\n';
        if !breaks {
            out.push(byte);
        } else if !in_run {
            out.push(b' ');
        }
        in_run = breaks;
    }
    copy_of_bytes(trim(&out))
}

/// Appends a JSON string as `JSON.stringify` writes it: escapes only what must be escaped, and lone surrogates.
pub(crate) fn push_json_string(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), OutOfMemory> {
    append(out, b"\"")?;
    push_escaped(out, bytes)?;
    append(out, b"\"")
}

/// Appends the inside of a JSON string, without its quotes, as `JSON.stringify` writes it. See [`push_json_string`].
pub(crate) fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) -> memory::Result<()> {
    let is_plain = |byte: &u8| matches!(byte, 0x20..0x7F) && !matches!(byte, b'"' | b'\\');
    match bytes.iter().all(is_plain) {
        true => append(out, bytes),
        false => push_json(out, &to_utf16(bytes)?),
    }
}

#[cfg(test)]
mod tests;
