//! A serde deserializer over JSON text for what the core reads of a line: named fields, while everything else is
//! skipped by the [`Scanner`].
//!
//! It accepts what `JSON.parse` accepts. Values are not built: a field is a [`Raw`] span, and serde_json reads the strings
//! that have escapes. (Most of a session is long strings. serde_json checks eight bytes of them at once, the scanner 64.)

use std::borrow::Cow;
use std::fmt;

use serde::de::value::BorrowedBytesDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::scanner::{ScanError, Scanner, LONGEST_KEY};
use super::simd::short_end;
use super::string::short_string_bytes;
use crate::base::memory::OutOfMemory;

/// The text of a JSON value, checked to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

/// The type name by which [`Raw`] asks the deserializer for a span.
const RAW: &str = "pi-session-native::Raw";

impl<'a> Raw<'a> {
    /// The text, without white space around it.
    pub fn get(self) -> &'a str {
        self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Raw<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the text of a value")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Raw<'de>, E> {
                Ok(Raw(text))
            }
        }
        deserializer.deserialize_newtype_struct(RAW, Take)
    }
}

/// The text is not JSON, or not of the requested type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError;

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the JSON that was asked for")
    }
}

impl std::error::Error for ParseError {}

impl de::Error for ParseError {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        ParseError
    }
}

type ParseResult<T> = Result<T, ParseError>;

/// Reads a whole text as one value.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> ParseResult<T> {
    let mut reader = Reader::new(text);
    let value = T::deserialize(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// The elements of a JSON text that is a list. They are not collected: a line may have millions.
pub fn elements(json: &str) -> impl Iterator<Item = &str> {
    let mut scanner = Scanner::new(json.as_bytes());
    let is_list = scanner.take(b'[') == Ok(true);
    let mut first = true;
    std::iter::from_fn(move || {
        if !is_list || scanner.next_element(&mut first, b']') != Ok(true) {
            return None;
        }
        scanner.span(json, Scanner::skip_value).ok()
    })
}

/// Whether the text is one JSON value by `JSON.parse`'s rules.
pub fn is_json(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.scanner.skip_value().is_ok() && reader.finish().is_ok()
}

struct Reader<'de> {
    text: &'de str,
    scanner: Scanner<&'de [u8]>,
}

impl From<ScanError<OutOfMemory>> for ParseError {
    fn from(_error: ScanError<OutOfMemory>) -> Self {
        ParseError
    }
}

impl<'de> Reader<'de> {
    fn new(text: &'de str) -> Self {
        Self { text, scanner: Scanner::new(text.as_bytes()) }
    }

    fn next_token(&mut self) -> Option<u8> {
        self.scanner.next_token().ok().flatten()
    }

    fn finish(&mut self) -> ParseResult<()> {
        match self.next_token() {
            None => Ok(()),
            Some(_) => Err(ParseError),
        }
    }

    /// Takes a value and gives its text, which lives as long as the whole one.
    fn raw(&mut self) -> ParseResult<&'de str> {
        Ok(self.scanner.span(self.text, Scanner::skip_value)?)
    }

    /// Takes a short key without escapes, as nearly all are.
    fn short_key(&mut self) -> Option<&'de [u8]> {
        let from = self.scanner.at + 1;
        let end = short_end(self.text.as_bytes(), from)?;
        self.scanner.at = end;
        self.text.as_bytes().get(from..end - 1)
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = ParseError;

    /// The core's types always request a type by name.
    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> ParseResult<V::Value> {
        Err(ParseError)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> ParseResult<V::Value> {
        if name == RAW {
            visitor.visit_borrowed_str(self.raw()?)
        } else {
            Err(ParseError)
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> ParseResult<V::Value> {
        match self.raw()? {
            // No field has such a name.
            long if long.len() > LONGEST_KEY => visitor.visit_borrowed_bytes(long.as_bytes()),
            key => match short_string_bytes(key).ok_or(ParseError)? {
                Cow::Borrowed(bytes) => visitor.visit_borrowed_bytes(bytes),
                Cow::Owned(bytes) => visitor.visit_byte_buf(bytes),
            },
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> ParseResult<V::Value> {
        self.scanner.expect(b'{')?;
        let value = visitor.visit_map(Elements { reader: self, first: true })?;
        self.scanner.expect(b'}')?;
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> ParseResult<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> ParseResult<V::Value> {
        self.scanner.expect(b'[')?;
        let value = visitor.visit_seq(Elements { reader: self, first: true })?;
        self.scanner.expect(b']')?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> ParseResult<V::Value> {
        self.scanner.skip_value()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string byte_buf option unit unit_struct
        tuple tuple_struct enum identifier
    }
}

/// The members of an object, or the elements of a list.
struct Elements<'a, 'de> {
    reader: &'a mut Reader<'de>,
    first: bool,
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = ParseError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> ParseResult<Option<K::Value>> {
        if !self.reader.scanner.next_element(&mut self.first, b'}')? {
            return Ok(None);
        }
        match self.reader.next_token() {
            Some(b'"') => match self.reader.short_key() {
                Some(key) => seed.deserialize(BorrowedBytesDeserializer::new(key)).map(Some),
                None => seed.deserialize(&mut *self.reader).map(Some),
            },
            _ => Err(ParseError),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> ParseResult<S::Value> {
        self.reader.scanner.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = ParseError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> ParseResult<Option<S::Value>> {
        if self.reader.scanner.next_element(&mut self.first, b']')? {
            seed.deserialize(&mut *self.reader).map(Some)
        } else {
            Ok(None)
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
