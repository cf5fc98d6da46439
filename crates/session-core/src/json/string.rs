//! JSON strings: their text as WTF-8, and back.

use std::borrow::Cow;

use serde::Serialize;

use crate::base::memory::{self, append, owned, reserve, MemoryWriter, OutOfMemory};
use crate::base::wtf8::{encode_wtf8, into_string_lossy, push_json_string};

/// How many bytes are reserved at most before a string is read.
const MAX_RESERVED: usize = 1 << 20;

/// The text of a JSON string, as WTF-8; None if `raw` is not a string with its quotes. Fails with `OutOfMemory` if the
/// allocation fails.
pub(crate) fn string_bytes(raw: &str) -> memory::Result<Option<Cow<'_, [u8]>>> {
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).map(str::as_bytes);
    match inner {
        Some(inner) if memchr::memchr(b'\\', inner).is_some() => Ok(unescape(inner)?.map(Cow::Owned)),
        plain => Ok(plain.map(Cow::Borrowed)),
    }
}

/// As [`string_bytes`], as an owned list.
pub(crate) fn owned_string(raw: &str) -> memory::Result<Option<Vec<u8>>> {
    string_bytes(raw)?.map(owned).transpose()
}

/// Decodes the text between a JSON string's quotes into WTF-8; None if an escape in it is not valid.
pub(crate) fn unescape(string: &[u8]) -> memory::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    // An escape is longer than its character, so a text with many escapes needs less.
    reserve(&mut text, string.len().min(MAX_RESERVED))?;
    let mut rest = string;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(at);
        append(&mut text, before)?;
        let Some((code_point, length)) = escape_at(escape) else { return Ok(None) };
        append(&mut text, encode_wtf8(code_point, &mut [0; 4]))?;
        rest = escape.get(length..).unwrap_or_default();
    }
    append(&mut text, rest)?;
    Ok(Some(text))
}

/// The code point of the escape at the start of the bytes, and the length of the escape. Two escapes that are the two
/// surrogates of a character count as one. None if the bytes do not start with a valid escape.
pub(crate) fn escape_at(bytes: &[u8]) -> Option<(u32, usize)> {
    let character = match bytes {
        [b'\\', b'u', ..] => {
            let first = unit_of(bytes)?;
            let second = bytes.get(6..).and_then(unit_of).filter(|_| (0xD800..0xDC00).contains(&first));
            return Some(match second.filter(|second| (0xDC00..0xE000).contains(second)) {
                Some(second) => (0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF), 12),
                None => (first, 6),
            });
        }
        [b'\\', kind @ (b'"' | b'\\' | b'/'), ..] => *kind,
        [b'\\', b'b', ..] => 0x08,
        [b'\\', b'f', ..] => 0x0c,
        [b'\\', b'n', ..] => b'\n',
        [b'\\', b'r', ..] => b'\r',
        [b'\\', b't', ..] => b'\t',
        _ => return None,
    };
    Some((u32::from(character), 2))
}

/// Replaces each lone surrogate in a JSON text by the escape of U+FFFD, which has the same length.
pub(crate) fn without_lone_surrogates(json: String) -> Vec<u8> {
    let mut json = json.into_bytes();
    let mut from = 0;
    while let Some(rest) = json.get_mut(from..) {
        let Some(at) = memchr::memchr(b'\\', rest) else { break };
        let escape = rest.get_mut(at..).unwrap_or_default();
        let (code_point, length) = escape_at(escape).unwrap_or((0, 1));
        if let (0xD800..=0xDFFF, Some(escape)) = (code_point, escape.get_mut(..length)) {
            escape.copy_from_slice(b"\\ufffd");
        }
        from += at + length;
    }
    json
}

/// The UTF-16 unit of an escape like `\u65e5` at the start of the bytes.
fn unit_of(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | (*digit as char).to_digit(16)?))
}

/// The JSON text of a string. Fails with `OutOfMemory` if the allocation fails.
pub(crate) fn quoted(text: &[u8]) -> memory::Result<String> {
    let mut out = Vec::new();
    push_json_string(&mut out, text)?;
    // push_json_string writes UTF-8 only, because it escapes lone surrogates.
    into_string_lossy(out)
}

/// The JSON text of a value. Fails with `OutOfMemory` if the allocation fails.
pub(crate) fn json_of(value: &impl Serialize) -> memory::Result<String> {
    let mut json = MemoryWriter::default();
    // Serializing fails only if an allocation fails.
    serde_json::to_writer(&mut json, value).map_err(|_| OutOfMemory)?;
    into_string_lossy(json.0)
}

#[cfg(test)]
mod tests;
