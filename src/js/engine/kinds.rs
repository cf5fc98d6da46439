//! Kinds of values.

use napi::{Result, ValueType};

use super::raw::{Js, Val};

impl Js {
    /// Whether it is null or undefined.
    pub fn is_nullish(self, value: Val) -> Result<bool> {
        Ok(matches!(self.kind(value)?, ValueType::Null | ValueType::Undefined))
    }

    /// Whether it is undefined.
    pub fn is_undefined(self, value: Val) -> Result<bool> {
        Ok(self.kind(value)? == ValueType::Undefined)
    }

    /// Whether it is an object or a function.
    pub fn is_object(self, value: Val) -> Result<bool> {
        Ok(matches!(self.kind(value)?, ValueType::Object | ValueType::Function))
    }
}
