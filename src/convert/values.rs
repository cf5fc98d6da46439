//! JSON text as JavaScript values, exactly as `JSON.parse` gives them.
//!
//! serde_json reads the text, and each value is made as soon as it is read: a string from its bytes, at the speed of memory, where V8
//! takes ten times as long. What serde_json refuses, though `JSON.parse` accepts it (a lone surrogate, a number beyond those of a
//! double, many levels), what has many values, which V8 makes faster, and what is no JSON is left to the engine, whole.

use std::cell::{Cell, RefCell};
use std::fmt;

use napi::Result;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};

/// How long a text may be that the engine takes as a string, in UTF-16 units: V8's limit. Other engines take more.
pub const LONGEST_TEXT: usize = (1 << 29) - 24;
/// A text with more values than these, and one for each so many bytes, is left to the engine, which makes many small values faster.
const FEW_VALUES: usize = 12;
const BYTES_EACH: usize = 128;

/// The value of a JSON text. One that is not JSON, or has a string that is too long for the engine, is the engine's error.
pub fn parse<'env>(js: JsEnv<'env>, text: &str) -> Result<JsVal<'env>> {
    match parse_by_serde(js, text) {
        Some(value) => Ok(value),
        None => {
            js.take_exception()?;
            factory::call(js, FactoryFn::Parse, &[js.string(text.as_bytes())?])
        }
    }
}

/// The value of a JSON text; None, and perhaps an exception that is pending, if it is to be left to the engine.
fn parse_by_serde<'env>(js: JsEnv<'env>, text: &str) -> Option<JsVal<'env>> {
    let (keys, left) = (RefCell::default(), Cell::new(FEW_VALUES + text.len() / BYTES_EACH));
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = JsonValue { js, keys: &keys, left: &left }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

/// The strings of keys that were read already: objects of a list have the same ones.
type Keys<'de, 'env> = RefCell<Vec<(&'de str, JsVal<'env>)>>;

/// How many keys are looked for among those that were read.
const MOST_KEYS: usize = 32;

/// A value that is read.
#[derive(Clone, Copy)]
struct JsonValue<'a, 'de, 'env> {
    js: JsEnv<'env>,
    keys: &'a Keys<'de, 'env>,
    /// How many values may still be read.
    left: &'a Cell<usize>,
}

/// A key that is read.
struct Key<'a, 'de, 'env>(JsonValue<'a, 'de, 'env>);

fn made<'env, E: de::Error>(value: Result<JsVal<'env>>) -> std::result::Result<JsVal<'env>, E> {
    value.map_err(E::custom)
}

impl<'de, 'env> DeserializeSeed<'de> for JsonValue<'_, 'de, 'env> {
    type Value = JsVal<'env>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<JsVal<'env>, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| de::Error::custom("many values"))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'env> Visitor<'de> for JsonValue<'_, 'de, 'env> {
    type Value = JsVal<'env>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> std::result::Result<JsVal<'env>, E> {
        made(self.js.null())
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> std::result::Result<JsVal<'env>, E> {
        made(self.js.boolean(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> std::result::Result<JsVal<'env>, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> std::result::Result<JsVal<'env>, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<JsVal<'env>, E> {
        made(self.js.number(value))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<JsVal<'env>, E> {
        made(self.js.string(text.as_bytes()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> std::result::Result<JsVal<'env>, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            all.push(element);
        }
        // An array of Node-API is one with holes to V8, even if it has none.
        made(factory::call(self.js, FactoryFn::ListOf, &all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<JsVal<'env>, A::Error> {
        let mut all = Vec::new();
        while let Some(key) = members.next_key_seed(Key(self))? {
            all.push((key, members.next_value_seed(self)?));
        }
        made(self.js.object_of(&all))
    }
}

impl<'de, 'env> DeserializeSeed<'de> for Key<'_, 'de, 'env> {
    type Value = JsVal<'env>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<JsVal<'env>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, 'env> Visitor<'de> for Key<'_, 'de, 'env> {
    type Value = JsVal<'env>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: de::Error>(self, key: &'de str) -> std::result::Result<JsVal<'env>, E> {
        let mut keys = self.0.keys.borrow_mut();
        if let Some((_, known)) = keys.iter().find(|(known, _)| *known == key) {
            return Ok(*known);
        }
        let string = self.visit_str_of(key)?;
        if keys.len() < MOST_KEYS {
            keys.push((key, string));
        }
        Ok(string)
    }

    fn visit_str<E: de::Error>(self, key: &str) -> std::result::Result<JsVal<'env>, E> {
        self.visit_str_of(key)
    }
}

impl<'env> Key<'_, '_, 'env> {
    fn visit_str_of<E: de::Error>(&self, key: &str) -> std::result::Result<JsVal<'env>, E> {
        made(self.0.js.string(key.as_bytes()))
    }
}
