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
mod tests {
    use super::*;
    use crate::base::wtf8::from_utf16;
    use proptest::prelude::*;

    fn unescaped(string: &str) -> Option<Vec<u8>> {
        unescape(string.as_bytes()).expect("memory")
    }

    /// Letters, characters that are escaped, and any others.
    fn unit() -> impl Strategy<Value = u16> {
        let escaped = prop::sample::select("\\\"\n\r\t\u{8}\u{c}\u{1}".encode_utf16().collect::<Vec<_>>());
        prop_oneof![8 => 0x20u16..0x7f, 4 => escaped, 1 => Just(u16::from(b'u')), 1 => 0u16..0x100, 1 => 0xd7f0u16..0xe010, 1 => any::<u16>()]
    }

    proptest! {
        #[test]
        fn what_was_escaped_comes_back(units in prop::collection::vec(unit(), 0..64), plain in 0usize..40) {
            let text = ["x".repeat(plain).into_bytes(), from_utf16(&units).expect("memory")].concat();
            let json = quoted(&text).expect("memory");
            let read = string_bytes(&json).expect("memory");
            prop_assert_eq!(read.as_deref(), Some(&text[..]));
        }
    }

    #[test]
    fn escapes_may_begin_at_any_byte_of_a_block() {
        let escapes = [
            r#"\""#,
            r"\\",
            r"\/",
            r"\b",
            r"\f",
            r"\n",
            r"\r",
            r"\t",
            r"\u0041",
            r"\\n",
            r"\\\n",
            r"\\\\u",
            r"\\\u65e5",
        ];
        for (escape, before) in escapes.iter().flat_map(|escape| (0..70).map(move |before| (escape, before))) {
            let json = format!("{}{escape}u{escape}nrt{}", "x".repeat(before), "bfnrtu".repeat(12));
            let text: String = serde_json::from_str(&format!("\"{json}\"")).expect("JSON");
            assert_eq!(unescaped(&json), Some(text.into_bytes()), "{json}");
        }
    }

    #[test]
    fn each_escape_is_one_character() {
        assert_eq!(unescaped(r#"\"\\\/\b\f\n\r\t\u0041\u65E5"#).as_deref(), Some("\"\\/\x08\x0c\n\r\tA日".as_bytes()));
        // Two halves make a character, whether they are escaped or not both.
        assert_eq!(unescaped(r"\ud83d\ude00").as_deref(), Some("😀".as_bytes()));
        assert_eq!(unescaped(r"\ud83dx\ude00"), Some(from_utf16(&[0xd83d, 0x78, 0xde00]).expect("memory")));
        for bad in [r"\", r"\x", r"\u12", r"\u12g4", r"a\u"] {
            assert_eq!(unescaped(bad), None, "{bad}");
        }
    }

    #[test]
    fn lone_surrogates_are_replaced_and_nothing_else() {
        let json = r#"{"a":"\\ud83d \ud83d\ude00 \ud83d","b":"\ude00\ud83d\n\u0061"}"#;
        let expected = r#"{"a":"\\ud83d \ud83d\ude00 \ufffd","b":"\ufffd\ufffd\n\u0061"}"#;
        assert_eq!(String::from_utf8(without_lone_surrogates(json.into())).as_deref(), Ok(expected));
    }
}
