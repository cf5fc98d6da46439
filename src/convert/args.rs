//! Arguments: the values that pi accepts. For any other value a `TypeError` that names the argument.

use std::ffi::CStr;

use napi::{Result, ValueType};

use super::errors::wrong_argument;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::wtf8::to_string_lossy;

/// The argument that was read. None is a `TypeError`: the argument must be `what`.
fn required<T>(js: JsEnv<'_>, read: Option<T>, name: &str, what: &str) -> Result<T> {
    read.ok_or_else(|| wrong_argument(js, format!("{name} must be {what}")))
}

/// A string argument, WTF-8.
pub fn text(js: JsEnv<'_>, value: JsVal<'_>, name: &str) -> Result<Vec<u8>> {
    required(js, js.text(value)?, name, "a string")
}

/// A path argument. Lone surrogates become U+FFFD, as in Node, because file systems do not have them.
pub fn path(js: JsEnv<'_>, value: JsVal<'_>, name: &str) -> Result<String> {
    let path = to_string_lossy(&text(js, value, name)?).into_owned();
    required(js, Some(path).filter(|path| !path.contains('\0')), name, "a path without null bytes")
}

/// An optional path argument. Undefined, null and the empty text mean none.
pub fn optional_path(js: JsEnv<'_>, value: JsVal<'_>, name: &str) -> Result<Option<String>> {
    if js.is_truthy(value)? {
        path(js, value, name).map(Some)
    } else {
        Ok(None)
    }
}

/// A list argument.
pub fn list<'env>(js: JsEnv<'env>, value: JsVal<'env>, name: &str) -> Result<JsVal<'env>> {
    required(js, optional_array(js, value)?, name, "an array")
}

/// A value as a plain array; None if it is not an array. A Proxy of an array counts as one, as for `Array.isArray`.
pub fn optional_array<'env>(js: JsEnv<'env>, value: JsVal<'env>) -> Result<Option<JsVal<'env>>> {
    if js.is_array(value)? {
        return Ok(Some(value));
    }
    if !js.is_object(value)? {
        return Ok(None);
    }
    let array = factory::call(js, FactoryFn::ArrayOf, &[value])?;
    Ok(Some(array).filter(|array| js.is_array(*array).unwrap_or(false)))
}

/// Whether an optional array argument has elements. As in pi, a value without a length counts as missing.
pub fn has_elements(js: JsEnv<'_>, value: JsVal<'_>, name: &str) -> Result<bool> {
    if let Some(array) = optional_array(js, value)? {
        return Ok(js.len(array)? > 0);
    }
    if js.is_nullish(value)? {
        return Ok(false);
    }
    let has_length = js.is_object(value)? || js.text(value)?.is_some();
    if has_length && js.is_truthy(js.get(value, c"length")?)? {
        list(js, value, name).map(|_| true)
    } else {
        Ok(false)
    }
}

/// A function argument.
pub fn function<'env>(js: JsEnv<'env>, value: JsVal<'env>, name: &str) -> Result<JsVal<'env>> {
    let is_function = js.kind(value)? == ValueType::Function;
    required(js, is_function.then_some(value), name, "a function")
}

/// An object argument.
pub fn object<'env>(js: JsEnv<'env>, value: JsVal<'env>, name: &str) -> Result<JsVal<'env>> {
    required(js, js.is_object(value)?.then_some(value), name, "an object")
}

/// The options of a call that pi does not have, or that has no options in pi. Undefined and null mean none.
#[derive(Clone, Copy)]
pub struct Options<'env> {
    js: JsEnv<'env>,
    given: Option<JsVal<'env>>,
}

impl<'env> Options<'env> {
    /// Options of a call that ignores unknown options, as pi does.
    pub fn any(js: JsEnv<'env>, value: JsVal<'env>) -> Result<Self> {
        Ok(Self { js, given: if js.is_nullish(value)? { None } else { Some(value) } })
    }

    /// Checks that every option is known, because a misspelt one would be ignored silently.
    pub fn of(js: JsEnv<'env>, value: JsVal<'env>, call: &str, known: &[&CStr]) -> Result<Self> {
        if js.is_nullish(value)? {
            return Self::any(js, value);
        }
        object(js, value, "options")?;
        let names = known.iter().map(|name| js.string(name.to_bytes())).collect::<Result<Vec<_>>>()?;
        let unknown = factory::call(js, FactoryFn::UnknownKey, &[value, js.array_of(&names)?])?;
        match js.text(unknown)? {
            None => Self::any(js, value),
            Some(unknown) => {
                let known: Vec<_> = known.iter().map(|name| name.to_string_lossy()).collect();
                let (unknown, known) = (to_string_lossy(&unknown), known.join(", "));
                Err(wrong_argument(js, format!("{call} has no option \"{unknown}\"; its options are {known}")))
            }
        }
    }

    /// The value of an option; undefined if it is missing.
    pub fn get(&self, name: &CStr) -> Result<JsVal<'env>> {
        self.given.map_or_else(|| self.js.undefined(), |given| self.js.get(given, name))
    }

    /// The value of an option; None if it is undefined or null.
    pub fn optional(&self, name: &CStr) -> Result<Option<JsVal<'env>>> {
        let value = self.get(name)?;
        Ok(if self.js.is_nullish(value)? { None } else { Some(value) })
    }

    /// A function; None if it is missing.
    pub fn function(&self, name: &CStr) -> Result<Option<JsVal<'env>>> {
        self.optional(name)?.map(|value| function(self.js, value, &called(name))).transpose()
    }

    /// A path; None if it is missing.
    pub fn path(&self, name: &CStr) -> Result<Option<String>> {
        self.optional(name)?.map(|value| path(self.js, value, &called(name))).transpose()
    }

    /// True or false; false if it is missing.
    pub fn boolean(&self, name: &CStr) -> Result<bool> {
        let Some(value) = self.optional(name)? else { return Ok(false) };
        required(self.js, self.js.boolean_value(value)?, &called(name), "true or false")
    }

    /// A time as `Date` reads it, in ms since 1970; None if it is missing.
    pub fn time(&self, name: &CStr) -> Result<Option<f64>> {
        let js = self.js;
        let Some(value) = self.optional(name)? else { return Ok(None) };
        // JavaScript would also convert a boolean, and an array with one text, to a time.
        let time = match js.kind(value)? == ValueType::Boolean || js.is_array(value)? {
            true => None,
            false => js.number_value(factory::call(js, FactoryFn::NewestTime, &[js.array_of(&[value])?])?)?,
        };
        required(js, time, &called(name), "a time").map(Some)
    }

    /// A list of names. `known` returns the value of each; None for the list if it is missing.
    pub fn names<T>(&self, name: &CStr, known: impl Fn(&[u8]) -> Option<T>, all: &[&str]) -> Result<Option<Vec<T>>> {
        let js = self.js;
        let Some(value) = self.optional(name)? else { return Ok(None) };
        let wrong = || wrong_argument(js, format!("{} must be an array of {}", called(name), all.join(", ")));
        let Some(list) = optional_array(js, value)? else { return Err(wrong()) };
        let one = |at| js.text(js.at(list, at)?)?.and_then(|text| known(&text)).ok_or_else(wrong);
        (0..js.len(list)?).map(one).collect::<Result<Vec<_>>>().map(Some)
    }

    /// A whole number from 0 on, or infinity; None if it is missing.
    pub fn whole_number(&self, name: &CStr) -> Result<Option<usize>> {
        let value = self.get(name)?;
        if self.js.is_undefined(value)? {
            return Ok(None);
        }
        let number = self.js.number_value(value)?;
        let number = number.filter(|number| *number >= 0.0 && (number.fract() == 0.0 || number.is_infinite()));
        required(self.js, number, &called(name), "a whole number from 0 on").map(|number| Some(number as usize))
    }
}

/// The name of an option in errors.
fn called(name: &CStr) -> String {
    format!("options.{}", name.to_string_lossy())
}

/// A copy of a `Uint8Array`. Refuses one whose memory other threads may write.
pub fn bytes(js: JsEnv<'_>, value: JsVal<'_>, name: &str) -> Result<Vec<u8>> {
    required(js, js.copied_bytes(value)?, name, "a Uint8Array without a SharedArrayBuffer")
}

/// A text as UTF-8, or a copy of bytes. Refuses bytes that other threads may write.
pub fn text_or_bytes(js: JsEnv<'_>, value: JsVal<'_>, name: &str) -> Result<Vec<u8>> {
    let read = match js.text(value)? {
        Some(text) => Some(to_string_lossy(&text).into_owned().into_bytes()),
        None => js.copied_bytes(value)?,
    };
    required(js, read, name, "a string, or a Uint8Array without a SharedArrayBuffer")
}

/// The text of a value as in a template string.
pub fn template_text(js: JsEnv<'_>, value: JsVal<'_>) -> Result<String> {
    Ok(to_string_lossy(&js.text(js.to_text(value)?)?.unwrap_or_default()).into_owned())
}
