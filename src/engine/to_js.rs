//! Converts values of the core to JavaScript values, by serde: reports, sums, hits, listed sessions, outlines.
//!
//! Each number becomes a JavaScript number, which has 53 bits, whatever its type in Rust. Bytes are WTF-8 text. `None`
//! is null and `()` undefined. Fields and elements become own data properties, even if a prototype has setters.

use std::cell::RefCell;
use std::fmt;

use napi::{Error, Result};
use serde::ser::{self, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple};

use super::env::{JsEnv, JsVal};

/// Converts a value of the core to a JavaScript value.
pub fn to_js<'env>(js: JsEnv<'env>, value: &(impl Serialize + ?Sized)) -> Result<JsVal<'env>> {
    let names = RefCell::default();
    value.serialize(ToJs { js, names: &names }).map_err(|Failed(error)| error)
}

/// Text in WTF-8.
#[derive(Debug, Clone, Copy)]
pub struct Wtf8<'a>(pub &'a [u8]);

impl Serialize for Wtf8<'_> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// For `serialize_with`: `None` becomes undefined.
pub fn or_undefined<T: Serialize, S: ser::Serializer>(
    value: &Option<T>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => serializer.serialize_unit(),
    }
}

/// The strings of field names that were created already. The structs of a list have the same names.
type Names<'env> = RefCell<Vec<(&'static str, JsVal<'env>)>>;

#[derive(Clone, Copy)]
struct ToJs<'a, 'env> {
    js: JsEnv<'env>,
    names: &'a Names<'env>,
}

/// The error that stopped a conversion.
#[derive(Debug)]
struct Failed(Error);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(Error::from_reason(text.to_string()))
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

type Made<'env> = std::result::Result<JsVal<'env>, Failed>;

impl<'env> ToJs<'_, 'env> {
    /// The string of a field's name.
    fn name(self, name: &'static str) -> Made<'env> {
        let known = self.names.borrow().iter().find(|(known, _)| std::ptr::eq(*known, name)).map(|(_, made)| *made);
        if let Some(made) = known {
            return Ok(made);
        }
        let made = self.js.string(name.as_bytes())?;
        self.names.borrow_mut().push((name, made));
        Ok(made)
    }

    fn number(self, value: f64) -> Made<'env> {
        Ok(self.js.number(value)?)
    }

    fn list(self, len: Option<usize>) -> std::result::Result<List<'env, Self>, Failed> {
        Ok(List { to: self, js: self.js, list: self.js.array(len.unwrap_or(0))?, len: 0 })
    }

    fn fields(self, len: usize) -> Fields<'env, Self> {
        Fields { to: self, all: Vec::with_capacity(len), key: None }
    }
}

/// An array under construction.
struct List<'env, To> {
    to: To,
    js: JsEnv<'env>,
    list: JsVal<'env>,
    len: u32,
}

/// The properties of an object under construction.
struct Fields<'env, To> {
    to: To,
    all: Vec<(JsVal<'env>, JsVal<'env>)>,
    key: Option<JsVal<'env>>,
}

/// The core has no tuple structs, and no variants with values that are serialized under the variant's name.
fn unused<T>() -> std::result::Result<T, Failed> {
    Err(ser::Error::custom("a value of this shape does not become a JavaScript value"))
}

macro_rules! numbers {
    ($($method:ident: $type:ty,)+) => {$(
        fn $method(self, value: $type) -> Made<'env> {
            self.number(value as f64)
        }
    )+};
}

impl<'a, 'env> ser::Serializer for ToJs<'a, 'env> {
    type Ok = JsVal<'env>;
    type Error = Failed;
    type SerializeSeq = List<'env, Self>;
    type SerializeTuple = List<'env, Self>;
    type SerializeTupleStruct = Impossible<JsVal<'env>, Failed>;
    type SerializeTupleVariant = Impossible<JsVal<'env>, Failed>;
    type SerializeMap = Fields<'env, Self>;
    type SerializeStruct = Fields<'env, Self>;
    type SerializeStructVariant = Impossible<JsVal<'env>, Failed>;

    numbers! {
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_f32: f32,
        serialize_f64: f64,
    }

    /// Bytes are serialized as text, not as a list of numbers.
    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Made<'env> {
        Ok(self.js.boolean(value)?)
    }

    fn serialize_char(self, value: char) -> Made<'env> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Made<'env> {
        self.serialize_bytes(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Made<'env> {
        Ok(self.js.string(value)?)
    }

    fn serialize_none(self) -> Made<'env> {
        Ok(self.js.null()?)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made<'env> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Made<'env> {
        Ok(self.js.undefined()?)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Made<'env> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Made<'env> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Made<'env> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Made<'env> {
        unused()
    }

    fn serialize_seq(self, len: Option<usize>) -> std::result::Result<Self::SerializeSeq, Failed> {
        self.list(len)
    }

    fn serialize_tuple(self, len: usize) -> std::result::Result<Self::SerializeTuple, Failed> {
        self.list(Some(len))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> std::result::Result<Self::SerializeTupleStruct, Failed> {
        unused()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> std::result::Result<Self::SerializeTupleVariant, Failed> {
        unused()
    }

    fn serialize_map(self, len: Option<usize>) -> std::result::Result<Self::SerializeMap, Failed> {
        Ok(self.fields(len.unwrap_or(0)))
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> std::result::Result<Self::SerializeStruct, Failed> {
        Ok(self.fields(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> std::result::Result<Self::SerializeStructVariant, Failed> {
        unused()
    }
}

impl<'env> SerializeSeq for List<'env, ToJs<'_, 'env>> {
    type Ok = JsVal<'env>;
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> std::result::Result<(), Failed> {
        // Setting it would run a setter of `Array.prototype`, and our caller may have borrowed state.
        let at = self.js.string(self.len.to_string().as_bytes())?;
        self.js.define(self.list, at, value.serialize(self.to)?)?;
        self.len += 1;
        Ok(())
    }

    fn end(self) -> Made<'env> {
        Ok(self.list)
    }
}

impl<'env> SerializeTuple for List<'env, ToJs<'_, 'env>> {
    type Ok = JsVal<'env>;
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> std::result::Result<(), Failed> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Made<'env> {
        Ok(self.list)
    }
}

impl<'env> SerializeStruct for Fields<'env, ToJs<'_, 'env>> {
    type Ok = JsVal<'env>;
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> std::result::Result<(), Failed> {
        self.all.push((self.to.name(key)?, value.serialize(self.to)?));
        Ok(())
    }

    fn end(self) -> Made<'env> {
        Ok(self.to.js.object_of(&self.all)?)
    }
}

impl<'env> SerializeMap for Fields<'env, ToJs<'_, 'env>> {
    type Ok = JsVal<'env>;
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> std::result::Result<(), Failed> {
        self.key = Some(key.serialize(self.to)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> std::result::Result<(), Failed> {
        let value = value.serialize(self.to)?;
        self.all.extend(self.key.take().map(|key| (key, value)));
        Ok(())
    }

    fn end(self) -> Made<'env> {
        Ok(self.to.js.object_of(&self.all)?)
    }
}
