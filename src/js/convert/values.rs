//! JSON text as JavaScript values, exactly as `JSON.parse` gives them.
//!
//! The long strings of a text are made from its bytes, the rest is parsed by the engine's own `JSON.parse`. Text of more
//! bytes than a string can have is read by a serde visitor. What the visitor cannot do exactly (lone surrogates, numbers out of
//! range, deep nesting) it refuses, and the text goes to `JSON.parse` after all, which tells what is wrong.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::result::Result;

use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};
use pi_session_core::json::long_strings::{take_apart, Parts};

/// How long a text may be that the engine takes as a string, in UTF-16 units: V8's limit. Other engines take more.
pub const LONGEST_TEXT: usize = (1 << 29) - 24;
/// A content that is one text block, as nearly all tool results have, without its text: made without `JSON.parse`, which
/// takes longer than the rest of the work for it.
const TEXT_BLOCK: &str = "[{\"type\":\"text\",\"text\":\"\x7f0\"}]";

/// The value of a JSON text.
pub fn parse<'env>(js: JsEnv<'env>, text: &str) -> napi::Result<JsVal<'env>> {
    match take_apart(text) {
        Ok(Some(parts)) => value_of(js, &parts),
        Ok(None) => parse_whole(js, text),
        Err(_) => Err(js.out_of_memory(text.len())),
    }
}

fn parse_whole<'env>(js: JsEnv<'env>, text: &str) -> napi::Result<JsVal<'env>> {
    if text.len() > LONGEST_TEXT {
        if let Some(value) = from_bytes(js, text) {
            return Ok(value);
        }
    }
    parse_by_engine(js, text)
}

/// The value of a JSON text in parts. A string that is too long for the engine is its error.
pub fn value_of<'env>(js: JsEnv<'env>, Parts { text, strings }: &Parts) -> napi::Result<JsVal<'env>> {
    if strings.is_empty() {
        return parse_whole(js, text);
    }
    if let (TEXT_BLOCK, [string]) = (text.as_str(), strings.as_slice()) {
        return factory::call(js, FactoryFn::TextBlock, &[js.string(string)?]);
    }
    let list = js.array(0)?;
    for (at, string) in strings.iter().enumerate() {
        js.scoped(|js, _| js.set_at(list, at as u32, js.string(string)?))?;
    }
    factory::call(js, FactoryFn::ParseApart, &[js.string(text.as_bytes())?, list])
}

/// The value of a JSON text, by the engine's own `JSON.parse`.
pub fn parse_by_engine<'env>(js: JsEnv<'env>, text: &str) -> napi::Result<JsVal<'env>> {
    let text = js.string(text.as_bytes())?;
    factory::call(js, FactoryFn::Parse, &[text])
}

/// The value of a JSON text, made from its bytes; None if it holds something that is left to the engine.
pub fn from_bytes<'env>(js: JsEnv<'env>, text: &str) -> Option<JsVal<'env>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Build(js).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

#[derive(Clone, Copy)]
struct Build<'env>(JsEnv<'env>);

impl<'de, 'env> DeserializeSeed<'de> for Build<'env> {
    type Value = JsVal<'env>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsVal<'env>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

fn made<'env, E: serde::de::Error>(result: napi::Result<JsVal<'env>>) -> Result<JsVal<'env>, E> {
    result.map_err(E::custom)
}

impl<'de, 'env> Visitor<'de> for Build<'env> {
    type Value = JsVal<'env>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<JsVal<'env>, E> {
        made(self.0.null())
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<JsVal<'env>, E> {
        made(self.0.boolean(value))
    }

    // Integers are doubles in JavaScript; the conversions round to the nearest, as reading the digits would.
    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<JsVal<'env>, E> {
        made(self.0.number(value as f64))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<JsVal<'env>, E> {
        made(self.0.number(value as f64))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<JsVal<'env>, E> {
        made(self.0.number(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<JsVal<'env>, E> {
        made(self.0.string(value.as_bytes()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsVal<'env>, A::Error> {
        let array = made(self.0.array(0))?;
        let mut at = 0;
        while let Some(value) = seq.next_element_seed(self)? {
            self.0.set_at(array, at, value).map_err(A::Error::custom)?;
            at += 1;
        }
        Ok(array)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsVal<'env>, A::Error> {
        let object = made(self.0.object())?;
        while let Some(key) = map.next_key_seed(self)? {
            let value = map.next_value_seed(self)?;
            self.0.define(object, key, value).map_err(A::Error::custom)?;
        }
        Ok(object)
    }
}
