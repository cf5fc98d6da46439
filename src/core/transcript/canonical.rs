//! Whether a JSON text is what `JSON.stringify` writes of its value.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;

use crate::json::fields::Key;
use crate::json::{read, Raw};

/// An object of more members is not looked at: each is compared with all others.
const MOST_MEMBERS: usize = 16;
/// How deep values are looked at.
const DEEP: usize = 8;

/// Whether `JSON.stringify(JSON.parse(text)) === text` for sure. Texts for which that takes more than a look are refused.
pub fn is_canonical(text: &str) -> bool {
    is_canonical_at(text, DEEP)
}

fn is_canonical_at(text: &str, deep: usize) -> bool {
    match text.as_bytes() {
        [b'"', inside @ .., b'"'] => has_canonical_escapes(inside),
        [b'{', ..] if deep > 0 => read::<Members<'_>>(text).is_ok_and(|Members(members)| {
            // Without white space, and without escapes in keys, there is nothing but these.
            let length: usize = members.iter().map(|(key, value)| key.len() + value.len() + "\"\":,".len()).sum();
            let is_whole = length + 2 - usize::from(!members.is_empty()) == text.len();
            let are_keys = members
                .iter()
                .enumerate()
                .all(|(at, (key, _))| is_plain_key(key) && !members.iter().take(at).any(|(other, _)| other == key));
            is_whole && are_keys && members.iter().all(|(_, value)| is_canonical_at(value, deep - 1))
        }),
        [b'[', ..] if deep > 0 => read::<Vec<Raw<'_>>>(text).is_ok_and(|values| {
            let length: usize = values.iter().map(|value| value.get().len() + 1).sum();
            let is_whole = length + 2 - usize::from(!values.is_empty()) == text.len();
            is_whole && values.iter().all(|value| is_canonical_at(value.get(), deep - 1))
        }),
        b"true" | b"false" | b"null" | b"0" => true,
        // Whole numbers that doubles hold exactly.
        [b'1'..=b'9', rest @ ..] => rest.len() < 15 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Keys that look like numbers come first in a JavaScript object.
fn is_plain_key(key: &[u8]) -> bool {
    key.first().is_none_or(|byte| !byte.is_ascii_digit())
}

/// Whether the escapes are those that `JSON.stringify` writes. It writes `\u` for some characters as well, which are rare.
fn has_canonical_escapes(inside: &[u8]) -> bool {
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        if !matches!(rest.get(at + 1), Some(b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f')) {
            return false;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    true
}

/// The members of an object, in order.
struct Members<'a>(Vec<(std::borrow::Cow<'a, [u8]>, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
                    if members.len() == MOST_MEMBERS {
                        return Err(serde::de::Error::custom("too many"));
                    }
                    members.push((key, map.next_value::<Raw<'de>>()?.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_javascript_would_write_otherwise_are_refused() {
        for text in [
            "{}",
            "[]",
            "null",
            "0",
            "15",
            "123456789012345",
            r#""\"\\\n\t é""#,
            r#"{"a":{"b":[1,"2",{}]},"c":true}"#,
            r#"{"":""}"#,
            r#"{"日本":1}"#,
        ] {
            assert!(is_canonical(text), "{text}");
        }
        for text in [
            "{ }",
            "[ ]",
            "[1, 2]",
            "{\"a\": 1}",
            "-0",
            "1.0",
            "1e3",
            "1234567890123456",
            r#""\/""#,
            r#"{"b":1,"1":2}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"\u0061":1}"#,
            r#"{"a":[1 ]}"#,
            "[[[[[[[[[]]]]]]]]]",
        ] {
            assert!(!is_canonical(text), "{text}");
        }
        assert!(!is_canonical("\"\\u0041\""));
    }
}
