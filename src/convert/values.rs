//! Converts JSON text to JavaScript values, exactly as `JSON.parse` does.
//!
//! serde_json reads the text, and each value is created as soon as it is read. A string is created from its bytes at
//! memory speed; V8 takes ten times as long. The engine parses the whole text instead in four cases: serde_json
//! refuses it although `JSON.parse` accepts it (a lone surrogate, a number beyond the range of a double, deep nesting);
//! it has many values, which V8 creates faster; it is long and has escapes; or it is not JSON.

use std::cell::{Cell, RefCell};
use std::fmt;

use napi::Result;
use pi_session_core::addon::memory;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};

/// The longest text that the engine accepts as a string, in UTF-16 units: V8's limit. Other engines accept more.
pub const LONGEST_TEXT: usize = (1 << 29) - 24;
/// A text with more values than this, plus one for each `BYTES_EACH` bytes, is left to the engine, which creates many
/// small values faster. A value costs here some 0.9 µs more, and 10 KiB of a string 7 to 22 µs less (the measurement by
/// kinds of bodies in docs/benchmarks.md). A lower limit would also stop after values that were created for nothing.
const FEW_VALUES: usize = 12;
const BYTES_EACH: usize = 128;
/// A longer text with escapes is left to the engine. serde_json collects the characters of such a string in a buffer
/// that grows without a limit, and the process would end if the system refused the memory.
const LONGEST_WITH_ESCAPES: usize = 256 << 10;

/// The value of a JSON text. Fails with the engine's error if the text is not JSON, or has a string that is too long
/// for the engine.
pub fn parse<'env>(js: JsEnv<'env>, text: &str) -> Result<JsVal<'env>> {
    match parse_by_serde(js, text) {
        Some(value) => Ok(value),
        None => {
            js.take_exception()?;
            factory::call(js, FactoryFn::Parse, &[js.string(text.as_bytes())?])
        }
    }
}

/// The value of a JSON text; None if the engine must parse it. An exception may then be pending.
fn parse_by_serde<'env>(js: JsEnv<'env>, text: &str) -> Option<JsVal<'env>> {
    if text.len() > LONGEST_WITH_ESCAPES && text.contains('\\') {
        return None;
    }
    let (keys, left) = (RefCell::default(), Cell::new(FEW_VALUES + text.len() / BYTES_EACH));
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = JsonValue { js, keys: &keys, left: &left }.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

/// How many elements one call adds to a list. They are arguments on the engine's stack, which overflows with some
/// 100,000.
const PART: usize = 10_000;

/// The strings of keys that were created already. The objects of a list have the same keys.
type Keys<'de, 'env> = RefCell<Vec<(&'de str, JsVal<'env>)>>;

/// How many of these keys are searched.
const MOST_KEYS: usize = 32;

/// The seed that reads a value.
#[derive(Clone, Copy)]
struct JsonValue<'a, 'de, 'env> {
    js: JsEnv<'env>,
    keys: &'a Keys<'de, 'env>,
    /// How many more values may be read.
    left: &'a Cell<usize>,
}

/// The seed that reads a key.
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
            memory::push(&mut all, element).map_err(de::Error::custom)?;
        }
        // V8 treats an array created by Node-API as one with holes, even if it has none.
        let mut parts = all.chunks(PART);
        let list = made(factory::call(self.js, FactoryFn::ListOf, parts.next().unwrap_or_default()))?;
        for part in parts {
            made(factory::call(self.js, FactoryFn::AddTo, &[&[list], part].concat()))?;
        }
        Ok(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<JsVal<'env>, A::Error> {
        let mut all = Vec::new();
        while let Some(key) = members.next_key_seed(Key(self))? {
            let value = members.next_value_seed(self)?;
            memory::push(&mut all, (key, value)).map_err(de::Error::custom)?;
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
