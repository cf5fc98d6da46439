//! JSON text as `JSON.parse` accepts it, read without building values: a field of an object is a span of its text, a string
//! is WTF-8, and an edit of an object's own keys leaves every other byte as it was.
//!
//! One `scanner` checks and skips values, in any `Input`; `reader` is the serde deserializer on
//! top of it. serde's derived structs reject repeated keys and its strings reject lone surrogates, both of which `JSON.parse`
//! accepts, hence `fields!` and raw values.

pub(crate) mod fields;
pub mod long_strings;
pub(crate) mod object_text;
pub mod quote;
pub(crate) mod reader;
pub(crate) mod scanner;
mod simd;
pub(crate) mod string;
pub(crate) mod value;
pub(crate) mod value_to_string;

pub(crate) use self::fields::fields;
pub(crate) use self::object_text::ObjectText;
pub use self::string::json_of;
pub(crate) use self::string::{quoted, short_string_bytes, string_bytes};
pub use self::value::Value;
