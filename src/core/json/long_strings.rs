//! Takes the long strings out of a JSON text. A JavaScript engine makes a string from bytes several times as fast as it
//! parses one, so it parses only the rest.

use super::reader::is_json;
use super::simd::{skip_string, Skipped};
use crate::base::memory::{self, append, copy_of, push, push_str, reserve};
use crate::base::wtf8::encode_wtf8;

/// What replaces a long string in a text. The string's number follows where the text is parsed again. It needs no escape.
pub const STRING_PLACEHOLDER: &str = "\u{7f}";
/// The least length of a long string, in bytes of JSON text, or in units where a value is written: taking a shorter one
/// out costs more than it saves.
pub const LONG: usize = 256;
/// A text of fewer bytes is taken apart though its long strings are few, or none.
const SHORT: usize = 4 << 10;
/// How much memory, in bytes, is asked for before a string is read, at most.
const MAX_RESERVED: usize = 1 << 20;
/// Texts that are nested deeper keep their strings: the code that puts strings back is recursive.
const DEEP: usize = 64;

/// A JSON text in the form that a JavaScript engine takes fastest.
#[derive(Debug, PartialEq, Eq)]
pub struct StringParts {
    /// The text, with a placeholder for each of the strings.
    pub text: String,
    /// The long strings that were taken out of it, in WTF-8. There may be none.
    pub strings: Vec<Vec<u8>>,
}

impl StringParts {
    /// The parts of a text; None if it is not JSON. Without memory for them it is an error.
    pub fn of(bytes: &[u8]) -> memory::Result<Option<Self>> {
        let Ok(text) = simdutf8::basic::from_utf8(bytes) else { return Ok(None) };
        // A long string that is closed is a valid one.
        match take_apart(text)?.filter(|parts| is_json(&parts.text)) {
            Some(parts) => Ok(Some(parts)),
            None if is_json(text) => Ok(Some(Self { text: copy_of(text)?, strings: Vec::new() })),
            None => Ok(None),
        }
    }
}

/// Takes the long strings out of a text. None if that is not worth it, if a string of the text could be mistaken for a
/// placeholder, or if the text is not JSON. Without memory for the strings it is an error.
pub fn take_apart(text: &str) -> memory::Result<Option<StringParts>> {
    let Some(found) = long_strings(text)? else { return Ok(None) };
    let mut parts = StringParts { text: String::new(), strings: Vec::new() };
    let mut copied = 0;
    for (from, to) in found {
        let Some(string) = unescape(text.as_bytes().get(from..to).unwrap_or_default())? else { return Ok(None) };
        push_str(&mut parts.text, text.get(copied..from).unwrap_or_default())?;
        push_str(&mut parts.text, &format!("{STRING_PLACEHOLDER}{}", parts.strings.len()))?;
        push(&mut parts.strings, string)?;
        copied = to;
    }
    push_str(&mut parts.text, text.get(copied..).unwrap_or_default())?;
    Ok(Some(parts))
}

/// Where the long strings of a text are, without their quotes. None if none are to be taken out.
fn long_strings(text: &str) -> memory::Result<Option<Vec<(usize, usize)>>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut depth, mut taken) = (0, 0usize, 0);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return Ok(None),
            },
            b'"' => {
                let Skipped::Closed(end) = skip_string(bytes, at) else { return Ok(None) };
                let string = bytes.get(at..end - 1).unwrap_or_default();
                if string.starts_with(STRING_PLACEHOLDER.as_bytes()) || string.starts_with(b"\\u007") {
                    return Ok(None);
                }
                if string.len() >= LONG && !is_key(bytes, end) {
                    push(&mut found, (at, end - 1))?;
                    taken += string.len();
                }
                at = end;
            }
            _ => {}
        }
        if depth > DEEP {
            return Ok(None);
        }
    }
    Ok((taken > text.len() / 2 || text.len() < SHORT).then_some(found))
}

/// Whether a colon comes next.
fn is_key(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) == Some(&b':')
}

/// The WTF-8 of the text between a JSON string's quotes; None if an escape in it is not valid.
pub(crate) fn unescape(string: &[u8]) -> memory::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    // What an escape stands for is shorter than the escape: a text of many takes less.
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

/// The code point of the escape that the bytes begin with, and how many bytes it takes; two escapes that are the halves of a character
/// are one. None if there is no valid escape.
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

/// The unit of an escape like `\u65e5`, which the bytes begin with.
fn unit_of(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | (*digit as char).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::wtf8::from_utf16;
    use crate::json::quoted;
    use proptest::prelude::*;

    fn unescaped(string: &str) -> Option<Vec<u8>> {
        unescape(string.as_bytes()).expect("memory")
    }

    fn apart(text: &str) -> Option<StringParts> {
        take_apart(text).expect("memory")
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
            prop_assert_eq!(unescaped(&json[1..json.len() - 1]), Some(text));
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
    fn long_strings_are_taken_out_and_keys_are_not() {
        let long = "x".repeat(LONG);
        let text = format!(r#"{{"{long}" : 1,"a":["{long}\n",{{"b":"{long}"}},"short"],"c":"{long}{long}"}}"#);
        let parts = apart(&text).expect("long strings");
        assert_eq!(
            parts.text,
            format!("{{\"{long}\" : 1,\"a\":[\"\x7f0\",{{\"b\":\"\x7f1\"}},\"short\"],\"c\":\"\x7f2\"}}")
        );
        assert_eq!(
            parts.strings,
            [format!("{long}\n"), long.clone(), [&*long, &*long].concat()].map(String::into_bytes)
        );
        let short = format!(r#"["{}"]"#, "x".repeat(LONG - 1));
        assert_eq!(apart(&short), Some(StringParts { text: short.clone(), strings: Vec::new() }));
        assert_eq!(apart(&format!("[{}1]", "1,".repeat(SHORT))), None);
        let marked = format!(r#"["{long}{long}{long}{long}","\u007f"]"#);
        assert_eq!(
            StringParts::of(marked.as_bytes()).expect("memory"),
            Some(StringParts { text: marked, strings: Vec::new() })
        );
        assert_eq!(StringParts::of(format!(r#"["{long}{long}{long}{long}",]"#).as_bytes()).expect("memory"), None);
        // One that begins with a mark could be mistaken.
        for marked in ["\x7f0", r"\u007f0", r"\u007F"] {
            assert!(apart(&format!(r#"["{long}","{marked}"]"#)).is_none(), "{marked}");
        }
        let deep = format!("{}\"{long}\"{}", "[".repeat(DEEP + 1), "]".repeat(DEEP + 1));
        assert!(apart(&deep).is_none());
    }
}
