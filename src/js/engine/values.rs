//! Making, reading and changing values: Node-API functions as safe methods.

use std::ffi::{c_char, CStr};
use std::ptr::null_mut;

use napi::{sys, Error, Result, ValueType};

use super::env::{pending, JsEnv, JsVal};

/// What a Node-API function takes as an argument.
pub(super) trait Argument {
    type Raw;
    fn raw(&self) -> Self::Raw;
}

/// What a Node-API function writes to its last argument.
pub(super) trait Output<'env>: Sized {
    type Raw;
    const EMPTY: Self::Raw;
    fn of(js: JsEnv<'env>, raw: Self::Raw) -> Result<Self>;
}

impl Argument for JsVal<'_> {
    type Raw = sys::napi_value;
    fn raw(&self) -> sys::napi_value {
        JsVal::raw(*self)
    }
}

impl Argument for Option<JsVal<'_>> {
    type Raw = sys::napi_value;
    fn raw(&self) -> sys::napi_value {
        self.map_or(null_mut(), JsVal::raw)
    }
}

/// Ends with a zero.
impl Argument for &CStr {
    type Raw = *const c_char;
    fn raw(&self) -> *const c_char {
        self.as_ptr()
    }
}

impl<'env> Output<'env> for JsVal<'env> {
    type Raw = sys::napi_value;
    const EMPTY: sys::napi_value = null_mut();
    fn of(js: JsEnv<'env>, raw: sys::napi_value) -> Result<Self> {
        js.made(raw)
    }
}

/// None for a handle to nothing.
impl<'env> Output<'env> for Option<JsVal<'env>> {
    type Raw = sys::napi_value;
    const EMPTY: sys::napi_value = null_mut();
    fn of(js: JsEnv<'env>, raw: sys::napi_value) -> Result<Self> {
        (!raw.is_null()).then(|| js.made(raw)).transpose()
    }
}

macro_rules! plain_values {
    ($($type:ty = $empty:expr),+) => {$(
        impl Argument for $type {
            type Raw = $type;
            fn raw(&self) -> $type {
                *self
            }
        }

        impl<'env> Output<'env> for $type {
            type Raw = $type;
            const EMPTY: $type = $empty;
            fn of(_: JsEnv<'env>, raw: $type) -> Result<$type> {
                Ok(raw)
            }
        }
    )+};
}

plain_values!(bool = false, i32 = 0, u32 = 0, usize = 0, f64 = 0.0);

/// Methods that call one Node-API function, which takes nothing but handles and plain values, keeps none of them, and
/// refuses values of a wrong type. After `->` stands what it writes to its last argument; without, it has no such one.
macro_rules! methods {
    ($($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? = $call:ident, $what:literal;)+) => {
        impl<'env> JsEnv<'env> {$(
            methods! { @one [$(#[$doc])*] $vis fn $name($($arg: $type),*) $(-> $out)? = $call, $what; }
        )+}
    };
    (@one [$(#[$doc:meta])*] $vis:vis fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty = $call:ident, $what:literal;) => {
        $(#[$doc])*
        #[inline]
        $vis fn $name(self, $($arg: $type),*) -> Result<$out> {
            let mut out = <$out as $crate::js::engine::values::Output>::EMPTY;
            // SAFETY: the handles are good, for their lifetimes say so, and `out` is of the type that is written.
            let status = unsafe {
                sys::$call(self.raw(), $($crate::js::engine::values::Argument::raw(&$arg),)* &mut out)
            };
            self.check(status, $what)?;
            <$out as $crate::js::engine::values::Output>::of(self, out)
        }
    };
    (@one [$(#[$doc:meta])*] $vis:vis fn $name:ident($($arg:ident: $type:ty),*) = $call:ident, $what:literal;) => {
        $(#[$doc])*
        #[inline]
        $vis fn $name(self, $($arg: $type),*) -> Result<()> {
            // SAFETY: the handles are good, for their lifetimes say so.
            let status = unsafe { sys::$call(self.raw(), $($crate::js::engine::values::Argument::raw(&$arg)),*) };
            self.check(status, $what)
        }
    };
}
pub(super) use methods;

methods! {
    /// `undefined`.
    pub fn undefined() -> JsVal<'env> = napi_get_undefined, "undefined";
    /// `null`.
    pub fn null() -> JsVal<'env> = napi_get_null, "null";
    /// A boolean.
    pub fn boolean(value: bool) -> JsVal<'env> = napi_get_boolean, "boolean";
    /// A number.
    pub fn number(value: f64) -> JsVal<'env> = napi_create_double, "number";
    /// An empty object.
    pub fn object() -> JsVal<'env> = napi_create_object, "object";
    /// A list of that many holes.
    pub fn array(len: usize) -> JsVal<'env> = napi_create_array_with_length, "array";
    fn type_code(value: JsVal<'_>) -> i32 = napi_typeof, "typeof";
    /// Whether it is a list.
    pub fn is_array(value: JsVal<'_>) -> bool = napi_is_array, "isArray";
    fn double(value: JsVal<'_>) -> f64 = napi_get_value_double, "number value";
    fn bool_value(value: JsVal<'_>) -> bool = napi_get_value_bool, "boolean value";
    fn to_boolean(value: JsVal<'_>) -> JsVal<'env> = napi_coerce_to_bool, "truth";
    /// Whether two values are the same to `===`.
    pub fn same(one: JsVal<'_>, other: JsVal<'_>) -> bool = napi_strict_equals, "comparison";
    /// A property. May run a getter.
    pub fn get(object: JsVal<'_>, name: &CStr) -> JsVal<'env> = napi_get_named_property, "property";
    /// A property by a key made at run time. May run a getter.
    pub fn get_key(object: JsVal<'_>, key: JsVal<'_>) -> JsVal<'env> = napi_get_property, "property";
    /// Sets a property. May run a setter. An object that refuses it says nothing: see [`JsEnv::define`].
    pub fn set(object: JsVal<'_>, name: &CStr, value: JsVal<'_>) = napi_set_named_property, "setting a property";
    fn delete_key(object: JsVal<'_>, key: JsVal<'_>) -> bool = napi_delete_property, "delete";
    /// The length of a list.
    pub fn len(array: JsVal<'_>) -> u32 = napi_get_array_length, "length";
    /// An element.
    pub fn at(array: JsVal<'_>, at: u32) -> JsVal<'env> = napi_get_element, "element";
    fn has_element(array: JsVal<'_>, at: u32) -> bool = napi_has_element, "element";
    fn set_element(array: JsVal<'_>, at: u32, value: JsVal<'_>) = napi_set_element, "setting an element";
    fn run_script(source: JsVal<'_>) -> JsVal<'env> = napi_run_script, "script";
    fn new_error(code: Option<JsVal<'_>>, text: JsVal<'_>) -> JsVal<'env> = napi_create_error, "creating an error";
    fn new_type_error(code: Option<JsVal<'_>>, text: JsVal<'_>) -> JsVal<'env> = napi_create_type_error, "creating an error";
    fn throw_value(exception: JsVal<'_>) = napi_throw, "throw";
    fn has_exception() -> bool = napi_is_exception_pending, "exception";
    fn take_pending() -> JsVal<'env> = napi_get_and_clear_last_exception, "exception";
    /// Makes an exception an uncaught one of the process, as those of callbacks are.
    pub fn throw_uncaught(exception: JsVal<'_>) = napi_fatal_exception, "uncaught exception";
}

impl<'env> JsEnv<'env> {
    /// What kind of value it is.
    pub fn kind(self, value: JsVal<'_>) -> Result<ValueType> {
        Ok(ValueType::from(self.type_code(value)?))
    }

    /// Whether it is null or undefined.
    pub fn is_nullish(self, value: JsVal<'_>) -> Result<bool> {
        Ok(matches!(self.kind(value)?, ValueType::Null | ValueType::Undefined))
    }

    /// Whether it is undefined.
    pub fn is_undefined(self, value: JsVal<'_>) -> Result<bool> {
        Ok(self.kind(value)? == ValueType::Undefined)
    }

    /// Whether it is an object or a function.
    pub fn is_object(self, value: JsVal<'_>) -> Result<bool> {
        Ok(matches!(self.kind(value)?, ValueType::Object | ValueType::Function))
    }

    /// The value of a number; None for anything else.
    pub fn number_value(self, value: JsVal<'_>) -> Result<Option<f64>> {
        match self.kind(value)? {
            ValueType::Number => self.double(value).map(Some),
            _ => Ok(None),
        }
    }

    /// The value of a boolean; None for anything else.
    pub fn boolean_value(self, value: JsVal<'_>) -> Result<Option<bool>> {
        match self.kind(value)? {
            ValueType::Boolean => self.bool_value(value).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether a condition takes it for true.
    pub fn is_truthy(self, value: JsVal<'_>) -> Result<bool> {
        self.bool_value(self.to_boolean(value)?)
    }

    /// Takes a property away.
    pub fn delete(self, object: JsVal<'_>, name: &CStr) -> Result<()> {
        self.delete_key(object, self.string(name.to_bytes())?).map(drop)
    }

    /// Makes an own data property, whatever the prototypes say, as `JSON.parse` does.
    pub fn define(self, object: JsVal<'_>, key: JsVal<'_>, value: JsVal<'_>) -> Result<()> {
        let property = sys::napi_property_descriptor {
            utf8name: std::ptr::null(),
            name: key.raw(),
            method: None,
            getter: None,
            setter: None,
            value: value.raw(),
            attributes: sys::PropertyAttributes::writable
                | sys::PropertyAttributes::enumerable
                | sys::PropertyAttributes::configurable,
            data: null_mut(),
        };
        // SAFETY: one descriptor, of handles that are good.
        let status = unsafe { sys::napi_define_properties(self.raw(), object.raw(), 1, &property) };
        self.check(status, "defining a property")
    }

    /// A list of values.
    pub fn array_of(self, values: &[JsVal<'_>]) -> Result<JsVal<'env>> {
        let array = self.array(values.len())?;
        for (at, value) in values.iter().enumerate() {
            self.set_at(array, at as u32, *value)?;
        }
        Ok(array)
    }

    /// Sets an element of the list itself, even if arrays were given a setter for its index.
    pub fn set_at(self, array: JsVal<'_>, at: u32, value: JsVal<'_>) -> Result<()> {
        match self.has_element(array, at)? {
            true => self.define(array, self.string(at.to_string().as_bytes())?, value),
            false => self.set_element(array, at, value),
        }
    }

    /// Calls a function without a receiver.
    pub fn call(self, function: JsVal<'_>, args: &[JsVal<'_>]) -> Result<JsVal<'env>> {
        let this = self.undefined()?;
        let mut out = null_mut();
        // SAFETY: all handles are good; a `JsVal` is laid out as its raw handle, and `args` is as long as said.
        let status = unsafe {
            let args = (args.len(), args.as_ptr().cast());
            sys::napi_call_function(self.raw(), this.raw(), function.raw(), args.0, args.1, &mut out)
        };
        self.check(status, "call")?;
        self.made(out)
    }

    /// Compiles and runs a script, and gives what it evaluates to.
    pub fn run(self, script: &str) -> Result<JsVal<'env>> {
        self.run_script(self.string(script.as_bytes())?)
    }

    /// An `Error`, or a `TypeError`, with this message.
    pub fn error(self, is_type_error: bool, message: &str) -> Result<JsVal<'env>> {
        let text = self.string(message.as_bytes())?;
        match is_type_error {
            true => self.new_type_error(None, text),
            false => self.new_error(None, text),
        }
    }

    /// Makes an exception pending and gives the error that says so.
    pub fn throw(self, exception: JsVal<'_>) -> Error {
        self.throw_value(exception).err().unwrap_or_else(pending)
    }

    /// Takes the pending exception, if there is one.
    pub fn take_exception(self) -> Result<Option<JsVal<'env>>> {
        self.has_exception()?.then(|| self.take_pending()).transpose()
    }
}
