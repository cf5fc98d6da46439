//! JSON strings: their text as WTF-8, and back.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::fields::FieldKey;
use super::long_strings::unescape;
use crate::base::memory::{self, copy_of_bytes, MemoryWriter, OutOfMemory};
use crate::base::wtf8::{into_string_lossy, push_json_string};

/// The WTF-8 of a JSON string's text, quotes included; None if it is not a string. Without memory for it it is an error.
pub fn string_bytes(raw: &str) -> memory::Result<Option<Cow<'_, [u8]>>> {
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).map(str::as_bytes);
    match inner {
        Some(inner) if memchr::memchr(b'\\', inner).is_some() => Ok(unescape(inner)?.map(Cow::Owned)),
        plain => Ok(plain.map(Cow::Borrowed)),
    }
}

/// The WTF-8 of a JSON string's text, quotes included, in memory of its own; None if it is not a string.
pub fn owned_string(raw: &str) -> memory::Result<Option<Vec<u8>>> {
    Ok(match string_bytes(raw)? {
        Some(Cow::Owned(text)) => Some(text),
        Some(Cow::Borrowed(text)) => Some(copy_of_bytes(text)?),
        None => None,
    })
}

/// The WTF-8 of the text of a JSON string whose length has a limit: memory for it is taken without asking whether it is there.
pub fn short_string_bytes(raw: &str) -> Option<Cow<'_, [u8]>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner.as_bytes()));
    }
    FieldKey::deserialize(&mut serde_json::Deserializer::from_str(raw)).ok().map(|FieldKey(text)| text)
}

/// The JSON text of a string. Without memory for it it is an error.
pub fn quoted(text: &[u8]) -> memory::Result<String> {
    let mut out = Vec::new();
    push_json_string(&mut out, text)?;
    // What push_json_string writes of WTF-8 is UTF-8: lone surrogates are escaped.
    into_string_lossy(out)
}

/// The JSON text of a value. Without memory for it it is an error.
pub fn json_of(value: &impl Serialize) -> memory::Result<String> {
    let mut json = MemoryWriter::default();
    // Nothing but a lack of memory makes it fail.
    serde_json::to_writer(&mut json, value).map_err(|_| OutOfMemory)?;
    into_string_lossy(json.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::wtf8::from_utf16;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_written_string_reads_back(units in proptest::collection::vec(any::<u16>(), 0..64)) {
            let text = from_utf16(&units).expect("memory");
            let json = quoted(&text).expect("memory");
            let read = string_bytes(&json).expect("memory");
            prop_assert_eq!(read.as_deref(), Some(&text[..]));
        }
    }
}
