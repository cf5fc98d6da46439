//! A serde deserializer over JSON text for what the engine reads of a line: named fields, and everything else passed
//! over as fast as memory allows.
//!
//! serde_json checks eight bytes at once when it passes over a string; most of a session is long strings, which are
//! passed over in blocks of 64 here (see `blocks`). What is accepted is what `JSON.parse` accepts, with serde_json as the
//! oracle in the tests. Values are never made here: a field is a [`Raw`] span, and strings with escapes are read by
//! serde_json.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::BorrowedBytesDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::simd::{short_end, skip_string, Skipped};
use super::string::string_bytes;

/// The text of a JSON value, checked to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

/// What [`Raw`] asks a deserializer for.
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

/// The text is no JSON, or not of the shape that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the JSON that was asked for")
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Refused
    }
}

type ParseResult<T> = Result<T, Refused>;

/// Reads a whole text as one value.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> ParseResult<T> {
    let mut reader = Reader::new(text);
    let value = T::deserialize(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// Whether the text is one JSON value by `JSON.parse`'s rules.
pub fn is_json(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.skip_value().and_then(|()| reader.finish()).is_ok()
}

struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// The containers being passed over.
    open: Open,
}

/// Containers, each a bit: whether it is an object. Sixty-four of them need no memory of their own.
#[derive(Default)]
struct Open {
    bits: u64,
    depth: usize,
    outer: Vec<u64>,
}

impl Open {
    fn push(&mut self, is_object: bool) {
        if self.depth != 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn last_is_object(&self) -> bool {
        self.bits & 1 == 1
    }

    fn pop(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
        if self.depth != 0 && self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }
}

impl<'de> Reader<'de> {
    fn new(text: &'de str) -> Self {
        Self { text, at: 0, open: Open::default() }
    }

    fn finish(&mut self) -> ParseResult<()> {
        match self.next_token() {
            None => Ok(()),
            Some(_) => Err(Refused),
        }
    }

    fn rest(&self) -> &'de [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The first byte that is no white space; it is not taken.
    fn next_token(&mut self) -> Option<u8> {
        let rest = self.rest();
        let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at += space;
        rest.get(space).copied()
    }

    fn must_take(&mut self, token: u8) -> ParseResult<()> {
        match self.next_token() {
            Some(byte) if byte == token => {
                self.at += 1;
                Ok(())
            }
            _ => Err(Refused),
        }
    }

    /// Takes the token if it comes next.
    fn takes(&mut self, token: u8) -> bool {
        self.must_take(token).is_ok()
    }

    /// Passes over a value and gives its text.
    fn raw(&mut self) -> ParseResult<&'de str> {
        self.next_token();
        let from = self.at;
        self.skip_value()?;
        self.text.get(from..self.at).ok_or(Refused)
    }

    fn skip_value(&mut self) -> ParseResult<()> {
        let base = self.open.depth;
        loop {
            // A value comes here.
            match self.next_token().ok_or(Refused)? {
                b'"' => self.skip_string()?,
                b'{' => {
                    self.at += 1;
                    if !self.takes(b'}') {
                        self.open.push(true);
                        self.skip_key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    if !self.takes(b']') {
                        self.open.push(false);
                        continue;
                    }
                }
                b't' => self.skip_word("true")?,
                b'f' => self.skip_word("false")?,
                b'n' => self.skip_word("null")?,
                _ => self.skip_number()?,
            }
            // A value was passed: it ends its container, or another follows.
            loop {
                if self.open.depth == base {
                    return Ok(());
                }
                let is_object = self.open.last_is_object();
                if self.takes(b',') {
                    if is_object {
                        self.skip_key()?;
                    }
                    break;
                }
                self.must_take(if is_object { b'}' } else { b']' })?;
                self.open.pop();
            }
        }
    }

    fn skip_key(&mut self) -> ParseResult<()> {
        match self.next_token() {
            Some(b'"') => self.skip_string()?,
            _ => return Err(Refused),
        }
        self.must_take(b':')
    }

    fn skip_word(&mut self, word: &str) -> ParseResult<()> {
        match self.rest().starts_with(word.as_bytes()) {
            true => {
                self.at += word.len();
                Ok(())
            }
            false => Err(Refused),
        }
    }

    fn skip_number(&mut self) -> ParseResult<()> {
        let rest = self.rest();
        let mut at = usize::from(rest.first() == Some(&b'-'));
        let digits =
            |from: usize| rest.get(from..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(at);
        if whole == 0 || whole > 1 && rest.get(at) == Some(&b'0') {
            return Err(Refused);
        }
        at += whole;
        if rest.get(at) == Some(&b'.') {
            let places = digits(at + 1);
            if places == 0 {
                return Err(Refused);
            }
            at += 1 + places;
        }
        if matches!(rest.get(at), Some(b'e' | b'E')) {
            at += 1 + usize::from(matches!(rest.get(at + 1), Some(b'+' | b'-')));
            let exponent = digits(at);
            if exponent == 0 {
                return Err(Refused);
            }
            at += exponent;
        }
        self.at += at;
        Ok(())
    }

    /// Takes a short key without escapes, as nearly all are.
    fn short_key(&mut self) -> Option<&'de [u8]> {
        let from = self.at + 1;
        let end = short_end(self.text.as_bytes(), from)?;
        self.at = end;
        self.text.as_bytes().get(from..end - 1)
    }

    fn skip_string(&mut self) -> ParseResult<()> {
        if let Some(end) = short_end(self.text.as_bytes(), self.at + 1) {
            self.at = end;
            return Ok(());
        }
        match skip_string(self.text.as_bytes(), self.at + 1) {
            Skipped::Closed(end) => {
                self.at = end;
                Ok(())
            }
            Skipped::Open(_) | Skipped::Bad => Err(Refused),
        }
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Refused;

    /// Only what the engine's types ask for is read; they ask by name.
    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> ParseResult<V::Value> {
        Err(Refused)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> ParseResult<V::Value> {
        match name == RAW {
            true => visitor.visit_borrowed_str(self.raw()?),
            false => Err(Refused),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> ParseResult<V::Value> {
        match string_bytes(self.raw()?) {
            Some(Cow::Borrowed(bytes)) => visitor.visit_borrowed_bytes(bytes),
            Some(Cow::Owned(bytes)) => visitor.visit_byte_buf(bytes),
            None => Err(Refused),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> ParseResult<V::Value> {
        self.must_take(b'{')?;
        let value = visitor.visit_map(Elements { reader: self, first: true })?;
        self.must_take(b'}')?;
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
        self.must_take(b'[')?;
        let value = visitor.visit_seq(Elements { reader: self, first: true })?;
        self.must_take(b']')?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> ParseResult<V::Value> {
        self.next_token();
        self.skip_value()?;
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

impl Elements<'_, '_> {
    /// Comes to the next one; false at the closing bracket, which is not taken.
    fn advance(&mut self, close: u8) -> ParseResult<bool> {
        let first = std::mem::replace(&mut self.first, false);
        match self.reader.next_token() {
            Some(token) if token == close => Ok(false),
            Some(_) if first => Ok(true),
            Some(b',') => {
                self.reader.at += 1;
                Ok(true)
            }
            _ => Err(Refused),
        }
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> ParseResult<Option<K::Value>> {
        if !self.advance(b'}')? {
            return Ok(None);
        }
        match self.reader.next_token() {
            Some(b'"') => match self.reader.short_key() {
                Some(key) => seed.deserialize(BorrowedBytesDeserializer::new(key)).map(Some),
                None => seed.deserialize(&mut *self.reader).map(Some),
            },
            _ => Err(Refused),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> ParseResult<S::Value> {
        self.reader.must_take(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> ParseResult<Option<S::Value>> {
        match self.advance(b']')? {
            true => seed.deserialize(&mut *self.reader).map(Some),
            false => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
