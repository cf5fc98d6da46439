//! Kinds of values.

use napi::{Result, ValueType};

use super::env::{JsEnv, JsVal};

impl JsEnv {
    /// Whether it is null or undefined.
    pub fn is_nullish(self, value: JsVal) -> Result<bool> {
        Ok(matches!(self.kind(value)?, ValueType::Null | ValueType::Undefined))
    }

    /// Whether it is undefined.
    pub fn is_undefined(self, value: JsVal) -> Result<bool> {
        Ok(self.kind(value)? == ValueType::Undefined)
    }

    /// Whether it is an object or a function.
    pub fn is_object(self, value: JsVal) -> Result<bool> {
        Ok(matches!(self.kind(value)?, ValueType::Object | ValueType::Function))
    }
}
