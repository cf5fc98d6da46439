//! JavaScript values as serde sees them: the same field structs that read lines of a file read the caller's objects.
//!
//! Only named fields of structs are read, each by one property access, and kept as handles ([`Handle`]).

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, value::StrDeserializer, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::{forward_to_deserialize_any, Deserialize};

use crate::core::format::agent_message::{MessageHead, Role};
use crate::core::format::entry::{head_of, EntryFields, EntryHead};
use crate::core::json::Value;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};

/// A JavaScript value, read no further than asked.
pub struct Handle {
    js: JsEnv,
    value: JsVal,
}

/// What [`Handle`] asks a deserializer for, as `RawValue` does with its own name.
const HANDLE: &str = "pi-session-native::Handle";

thread_local! {
    /// The value being handed to a [`Handle`]: serde's data model has no place for a JavaScript value.
    static HANDED: std::cell::Cell<Option<(JsEnv, JsVal)>> = const { std::cell::Cell::new(None) };
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Handle;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JavaScript value")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Handle, E> {
                let handed = HANDED.with(std::cell::Cell::take);
                let (js, value) = handed.ok_or_else(|| E::custom("no JavaScript value was handed over"))?;
                Ok(Handle { js, value })
            }
        }
        deserializer.deserialize_unit_struct(HANDLE, Take)
    }
}

impl Handle {
    /// A value of the current call.
    pub fn of(js: JsEnv, value: JsVal) -> Self {
        Self { js, value }
    }

    /// Whether it is undefined.
    pub fn is_undefined(&self) -> bool {
        self.js.is_undefined(self.value).unwrap_or(false)
    }

    /// The value itself.
    pub fn value(&self) -> JsVal {
        self.value
    }
}

impl Value for Handle {
    fn text(&self) -> Option<Cow<'_, [u8]>> {
        self.js.text(self.value).ok().flatten().map(Cow::Owned)
    }

    fn number(&self) -> Option<f64> {
        self.js.number_value(self.value).ok().flatten()
    }

    fn is_null(&self) -> bool {
        self.js.is_nullish(self.value).unwrap_or(false)
    }

    fn is_truthy(&self) -> bool {
        self.js.is_truthy(self.value).unwrap_or(false)
    }

    fn boolean(&self) -> Option<bool> {
        self.js.boolean_value(self.value).ok().flatten()
    }
}

/// Reads named fields from a JavaScript object.
struct Object {
    js: JsEnv,
    value: JsVal,
}

/// An exception in a getter; it is pending in the engine.
#[derive(Debug)]
struct Failed(napi::Error);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.reason)
    }
}

impl std::error::Error for Failed {}

impl de::Error for Failed {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Failed(napi::Error::from_reason(message.to_string()))
    }
}

impl<'de> Deserializer<'de> for Object {
    type Error = Failed;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Failed> {
        Err(de::Error::custom("only named fields are read from JavaScript objects"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failed> {
        visitor.visit_map(Fields { object: self, names: fields.iter(), value: None })
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Failed> {
        HANDED.with(|handed| handed.set(Some((self.js, self.value))));
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct Fields {
    object: Object,
    names: std::slice::Iter<'static, &'static str>,
    value: Option<JsVal>,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Failed;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failed> {
        let Object { js, value } = self.object;
        for name in self.names.by_ref() {
            let key = js.string(name.as_bytes()).map_err(Failed)?;
            let field = js.get_key(value, key).map_err(Failed)?;
            // A field that is undefined reads as one that is not there.
            if !js.is_undefined(field).map_err(Failed)? {
                self.value = Some(field);
                return seed.deserialize(StrDeserializer::new(name)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failed> {
        let value = self.value.take().ok_or_else(|| de::Error::custom("a value without its key"))?;
        seed.deserialize(Object { js: self.object.js, value })
    }
}

/// Reads the named fields of an object. A getter's exception is the error.
pub fn fields_of<'de, T: Deserialize<'de>>(js: JsEnv, value: JsVal) -> napi::Result<T> {
    T::deserialize(Object { js, value }).map_err(|Failed(error)| error)
}

/// What the index takes from a message; None for what is no object.
pub fn message_head(js: JsEnv, value: JsVal) -> napi::Result<Option<MessageHead>> {
    if !js.is_object(value)? {
        return Ok(None);
    }
    let role = Handle::of(js, js.get(value, c"role")?);
    let role = role.text().map_or(Role::Other, |name| Role::from_name(&name));
    let lacks_content = factory::call(js, FactoryFn::LacksContent, &[value])?;
    Ok(Some(MessageHead { role, lacks_content: js.is_truthy(lacks_content)? }))
}

/// The fields of the caller's entry that the index reads.
pub type JsEntryFields = EntryFields<Handle, Handle>;

/// Reads an entry of the caller's and hands on its head. An entry without a string id has an empty one.
pub fn with_entry_head<T>(
    js: JsEnv,
    value: JsVal,
    then: impl FnOnce(&JsEntryFields, EntryHead<'_>) -> T,
) -> napi::Result<T> {
    let fields: JsEntryFields = fields_of(js, value)?;
    let message = match &fields.message {
        Some(message) => message_head(js, message.value())?,
        None => None,
    };
    let id = fields.id.as_ref().and_then(Value::text).unwrap_or_default().into_owned();
    let head = head_of(&fields, Cow::Owned(id), message);
    Ok(then(&fields, head))
}
