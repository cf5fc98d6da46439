//! Node-API functions as safe methods: the macro that wraps one, and the wrapped functions.

use std::ffi::{c_char, CStr};
use std::ptr::null_mut;

use napi::{sys, Result, ValueType};

use super::env::{JsEnv, JsVal};

/// An argument of a Node-API function.
pub(super) trait Argument {
    type Raw;
    fn raw(&self) -> Self::Raw;
}

/// A value that a Node-API function writes to its last argument.
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

/// A `CStr` ends with a zero, as Node-API expects.
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

plain_values!(bool = false, i32 = 0, i64 = 0, u32 = 0, usize = 0, f64 = 0.0);

/// Methods that call one Node-API function. The function takes only handles and plain values, keeps none of them, and
/// refuses values of a wrong type. The type after `->` is written to its last argument; without `->` it writes none.
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
            let mut out = <$out as $crate::engine::node_api::Output>::EMPTY;
            // SAFETY: the handles are valid by their lifetimes, and `out` has the type that is written.
            let status = unsafe {
                sys::$call(self.raw(), $($crate::engine::node_api::Argument::raw(&$arg),)* &mut out)
            };
            self.check(status, $what)?;
            <$out as $crate::engine::node_api::Output>::of(self, out)
        }
    };
    (@one [$(#[$doc:meta])*] $vis:vis fn $name:ident($($arg:ident: $type:ty),*) = $call:ident, $what:literal;) => {
        $(#[$doc])*
        #[inline]
        $vis fn $name(self, $($arg: $type),*) -> Result<()> {
            // SAFETY: the handles are valid by their lifetimes.
            let status = unsafe { sys::$call(self.raw(), $($crate::engine::node_api::Argument::raw(&$arg)),*) };
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
    /// An array with `len` holes.
    pub fn array(len: usize) -> JsVal<'env> = napi_create_array_with_length, "array";
    pub(super) fn type_code(value: JsVal<'_>) -> i32 = napi_typeof, "typeof";
    /// Whether it is an array.
    pub fn is_array(value: JsVal<'_>) -> bool = napi_is_array, "isArray";
    pub(super) fn double(value: JsVal<'_>) -> f64 = napi_get_value_double, "number value";
    pub(super) fn bool_value(value: JsVal<'_>) -> bool = napi_get_value_bool, "boolean value";
    pub(super) fn to_boolean(value: JsVal<'_>) -> JsVal<'env> = napi_coerce_to_bool, "truth";
    /// The string of a value as in a template string. May run `toString`; throws for a symbol.
    pub fn to_text(value: JsVal<'_>) -> JsVal<'env> = napi_coerce_to_string, "text";
    /// A property. May run a getter.
    pub fn get(object: JsVal<'_>, name: &CStr) -> JsVal<'env> = napi_get_named_property, "property";
    /// A property, by a key that is created at run time. May run a getter.
    pub fn get_key(object: JsVal<'_>, key: JsVal<'_>) -> JsVal<'env> = napi_get_property, "property";
    /// Whether an object has an own property with this key.
    pub fn has_own(object: JsVal<'_>, key: JsVal<'_>) -> bool = napi_has_own_property, "own property";
    /// Sets a property. May run a setter. An object that refuses the property reports no error; see [`JsEnv::define`].
    pub fn set(object: JsVal<'_>, name: &CStr, value: JsVal<'_>) = napi_set_named_property, "setting a property";
    /// The length of an array.
    pub fn len(array: JsVal<'_>) -> u32 = napi_get_array_length, "length";
    /// An element.
    pub fn at(array: JsVal<'_>, at: u32) -> JsVal<'env> = napi_get_element, "element";
    /// Sets an element.
    pub fn set_at(array: JsVal<'_>, at: u32, value: JsVal<'_>) = napi_set_element, "setting an element";
    /// Tells the engine that its objects use more memory outside of its heap. The more of it the engine knows, the
    /// sooner it collects garbage.
    pub fn adjust_external_memory(bytes: i64) -> i64 = napi_adjust_external_memory, "external memory";
    pub(super) fn run_script(source: JsVal<'_>) -> JsVal<'env> = napi_run_script, "script";
    pub(super) fn new_error(code: Option<JsVal<'_>>, text: JsVal<'_>) -> JsVal<'env> = napi_create_error, "creating an error";
    pub(super) fn new_type_error(code: Option<JsVal<'_>>, text: JsVal<'_>) -> JsVal<'env> = napi_create_type_error, "creating an error";
    pub(super) fn throw_value(exception: JsVal<'_>) = napi_throw, "throw";
    pub(super) fn has_exception() -> bool = napi_is_exception_pending, "exception";
    pub(super) fn take_pending() -> JsVal<'env> = napi_get_and_clear_last_exception, "exception";
    /// Makes an exception an uncaught one of the process, like an exception in a callback.
    pub fn throw_uncaught(exception: JsVal<'_>) = napi_fatal_exception, "uncaught exception";
}

impl<'env> JsEnv<'env> {
    /// The type of a value.
    pub fn kind(self, value: JsVal<'_>) -> Result<ValueType> {
        Ok(ValueType::from(self.type_code(value)?))
    }
}
