//! JSON text as `JSON.parse` accepts it, read without building values. A field of an object is a span of its text, a
//! string is WTF-8, and an edit of an object's own keys keeps the texts of its other values.
//!
//! `scanner` checks and skips values in any `Input`. With it `reader` reads raw values and the structs of `fields!`. We
//! do not use serde's derived structs, because they reject repeated keys, nor its strings, because they reject lone
//! surrogates: `JSON.parse` accepts both.

pub(crate) mod fields;
pub(crate) mod object_text;
pub(crate) mod reader;
pub(crate) mod scanner;
mod simd;
pub(crate) mod string;
pub(crate) mod value;
pub(crate) mod value_to_string;

pub(crate) use self::fields::fields;
pub(crate) use self::object_text::ObjectText;
pub use self::reader::is_json;
pub(crate) use self::string::json_of;
pub(crate) use self::string::{quoted, string_bytes};
pub use self::value::Value;
