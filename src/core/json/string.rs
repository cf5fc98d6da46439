//! JSON strings: their text as WTF-8, and back.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, Visitor};

use crate::core::base::wtf8::push_json_string;

/// The WTF-8 of a JSON string's text, quotes included; None if it is not a string.
pub fn string_bytes(raw: &str) -> Option<Cow<'_, [u8]>> {
    struct Bytes;
    impl<'de> Visitor<'de> for Bytes {
        type Value = Cow<'de, [u8]>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(bytes))
        }
        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
            Ok(Cow::Owned(bytes.to_vec()))
        }
    }
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner.as_bytes()));
    }
    serde_json::Deserializer::from_str(raw).deserialize_bytes(Bytes).ok()
}

/// The JSON text of a string.
pub fn quoted(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    push_json_string(&mut out, text);
    // What push_json_string writes of WTF-8 is UTF-8: lone surrogates are escaped.
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::base::wtf8::from_utf16;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_written_string_reads_back(units in proptest::collection::vec(any::<u16>(), 0..64)) {
            let text = from_utf16(&units);
            let json = quoted(&text);
            let read = string_bytes(&json);
            prop_assert_eq!(read.as_deref(), Some(&text[..]));
        }
    }
}
