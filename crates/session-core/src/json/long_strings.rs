//! Takes the long strings out of a JSON text. A JavaScript engine makes a string from bytes several times as fast as it
//! parses one, so it parses only the rest.

use super::reader::is_json;
use super::simd::{skip_string, Skipped};
use super::string::unescape;
use crate::base::memory::{self, copy_of, push, push_str};

/// What replaces a long string in a text. The string's number follows where the text is parsed again. It needs no escape.
pub const STRING_PLACEHOLDER: &str = "\u{7f}";
/// The least length of a long string, in bytes of JSON text, or in units where a value is written: taking a shorter one
/// out costs more than it saves.
pub const LONG: usize = 256;
/// A text of fewer bytes is taken apart though its long strings are few, or none.
const SHORT: usize = 4 << 10;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(text: &str) -> Option<StringParts> {
        take_apart(text).expect("memory")
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
