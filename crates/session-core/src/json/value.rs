//! Values from JSON text or from JavaScript objects, as the core reads them.

use std::borrow::Cow;

use super::reader::Raw;
use super::string::string_bytes;
use crate::base::memory;

/// A value from JSON text or from JavaScript. It is decoded only when a method asks for it.
pub trait Value {
    /// The string as WTF-8; None if it is not a string. Fails with `OutOfMemory` if the allocation fails.
    fn text(&self) -> memory::Result<Option<Cow<'_, [u8]>>>;
    /// The number; None if it is not a number.
    fn number(&self) -> Option<f64>;
    /// Whether it is null (or undefined, which only JavaScript has).
    fn is_null(&self) -> bool;
    /// Whether it is truthy in JavaScript.
    fn is_truthy(&self) -> bool;
    /// The boolean; None if it is not a boolean.
    fn boolean(&self) -> Option<bool>;
}

impl Value for Raw<'_> {
    fn text(&self) -> memory::Result<Option<Cow<'_, [u8]>>> {
        string_bytes(self.get())
    }

    fn number(&self) -> Option<f64> {
        number(self.get())
    }

    fn is_null(&self) -> bool {
        self.get() == "null"
    }

    fn is_truthy(&self) -> bool {
        match self.get() {
            "null" | "false" | "\"\"" => false,
            raw => number(raw).is_none_or(|n| n != 0.0),
        }
    }

    fn boolean(&self) -> Option<bool> {
        match self.get() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }
}

fn number(raw: &str) -> Option<f64> {
    // Rust parses a JSON number as JavaScript does: to the nearest double, `1e999` to infinity and `-0` to -0.
    raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| raw.parse().ok()).flatten()
}
