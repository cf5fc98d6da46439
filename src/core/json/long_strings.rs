//! Takes the long strings out of a JSON text. A JavaScript engine makes a string from bytes ten times as fast as it parses
//! one, so it parses only the rest.

use super::simd::{skip_string, Skipped};
use crate::core::base::wtf8::push_utf16;

/// What replaces a long string in a text. The string's number follows where the text is parsed again. It needs no escape.
pub const STAND_IN: &str = "\u{7f}";
/// The least length of a long string, in bytes of JSON text.
const LONG: usize = 256;
/// Texts that are nested deeper keep their strings: the code that puts strings back is recursive.
const DEEP: usize = 64;

/// A JSON text and the long strings that were taken out of it.
pub struct Apart<'a> {
    /// The text with a stand-in for each string.
    pub rest: Vec<u8>,
    /// The strings' JSON texts, without quotes.
    pub strings: Vec<&'a [u8]>,
}

/// Takes the long strings out of a text, which must be JSON. None if that is not worth it, or if a string of the text
/// could be mistaken for a stand-in.
pub fn take_apart(text: &str) -> Option<Apart<'_>> {
    let bytes = text.as_bytes();
    let mut apart = Apart { rest: Vec::new(), strings: Vec::new() };
    let (mut at, mut copied, mut depth) = (0, 0, 0usize);
    let mut taken = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            b'"' => {
                let Skipped::Closed(end) = skip_string(bytes, at) else { return None };
                let string = bytes.get(at..end - 1)?;
                if string.starts_with(STAND_IN.as_bytes()) || string.starts_with(b"\\u007") {
                    return None;
                }
                if string.len() >= LONG && !is_key(bytes, end) {
                    apart.rest.extend_from_slice(bytes.get(copied..at)?);
                    apart.rest.extend_from_slice(STAND_IN.as_bytes());
                    apart.rest.extend_from_slice(apart.strings.len().to_string().as_bytes());
                    apart.strings.push(string);
                    copied = end - 1;
                    taken += string.len();
                }
                at = end;
            }
            _ => {}
        }
        if depth > DEEP {
            return None;
        }
    }
    apart.rest.extend_from_slice(bytes.get(copied..)?);
    (taken > text.len() / 2).then_some(apart)
}

/// Whether a colon comes next.
fn is_key(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) == Some(&b':')
}

/// Appends the WTF-8 of a valid JSON string's text, without its quotes. False if it is not a string; the bytes that were
/// appended are meaningless then.
pub fn push_unescaped(out: &mut Vec<u8>, string: &[u8]) -> bool {
    let mut rest = string;
    let mut units = Vec::new();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        let [_, kind, ..] = escape else { return false };
        rest = escape.get(2..).unwrap_or_default();
        out.push(match kind {
            b'"' | b'\\' | b'/' => *kind,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                // Escapes that follow one another may be the two halves of a character.
                units.clear();
                rest = escape;
                while let Some(unit) = unit_of(rest) {
                    units.push(unit);
                    rest = rest.get(6..).unwrap_or_default();
                }
                if units.is_empty() {
                    return false;
                }
                push_utf16(out, &units);
                continue;
            }
            _ => return false,
        });
    }
    out.extend_from_slice(rest);
    true
}

/// The unit of an escape like `\u65e5`, which the bytes begin with.
fn unit_of(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit: u16, digit| Some(unit << 4 | (*digit as char).to_digit(16)? as u16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::base::wtf8::from_utf16;
    use crate::core::json::quoted;
    use proptest::prelude::*;

    fn unescaped(string: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        push_unescaped(&mut out, string.as_bytes()).then_some(out)
    }

    proptest! {
        #[test]
        fn what_was_escaped_comes_back(units in prop::collection::vec(prop_oneof![0u16..0x100, 0xd7f0u16..0xe010, any::<u16>()], 0..64)) {
            let text = from_utf16(&units);
            let json = quoted(&text);
            prop_assert_eq!(unescaped(&json[1..json.len() - 1]), Some(text));
        }
    }

    #[test]
    fn each_escape_is_one_character() {
        assert_eq!(unescaped(r#"\"\\\/\b\f\n\r\t\u0041\u65E5"#).as_deref(), Some("\"\\/\x08\x0c\n\r\tA日".as_bytes()));
        // Two halves make a character, whether they are escaped or not both.
        assert_eq!(unescaped(r"\ud83d\ude00").as_deref(), Some("😀".as_bytes()));
        assert_eq!(unescaped(r"\ud83dx\ude00"), Some(from_utf16(&[0xd83d, 0x78, 0xde00])));
        for bad in [r"\", r"\x", r"\u12", r"\u12g4", r"a\u"] {
            assert_eq!(unescaped(bad), None, "{bad}");
        }
    }

    #[test]
    fn long_strings_are_taken_out_and_keys_are_not() {
        let long = "x".repeat(LONG);
        let text = format!(r#"{{"{long}" : 1,"a":["{long}\n",{{"b":"{long}"}},"short"],"c":"{long}{long}"}}"#);
        let apart = take_apart(&text).expect("long strings");
        let rest = format!("{{\"{long}\" : 1,\"a\":[\"\x7f0\",{{\"b\":\"\x7f1\"}},\"short\"],\"c\":\"\x7f2\"}}");
        assert_eq!(String::from_utf8_lossy(&apart.rest), rest);
        assert_eq!(
            apart.strings,
            [format!("{long}\\n").as_bytes(), long.as_bytes(), [&*long, &*long].concat().as_bytes()]
        );
        for none in ["", "[1]", &format!(r#"["{}"]"#, "x".repeat(LONG - 1))] {
            assert!(take_apart(none).is_none(), "{none}");
        }
        // One that begins with a mark could be mistaken.
        for marked in ["\x7f0", r"\u007f0", r"\u007F"] {
            assert!(take_apart(&format!(r#"["{long}","{marked}"]"#)).is_none(), "{marked}");
        }
        let deep = format!("{}\"{long}\"{}", "[".repeat(DEEP + 1), "]".repeat(DEEP + 1));
        assert!(take_apart(&deep).is_none());
    }
}
