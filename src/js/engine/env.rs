//! The calls into the JavaScript engine that the boundary uses, each checked, in terms of plain handles.
//!
//! Every `unsafe` of plain values is in this file (errors, threads and callbacks have theirs). One rule covers them all: a [`JsEnv`] exists only while the engine
//! has called into the addon on its thread, and handles are used only within that call.

use std::ffi::{c_void, CStr};
use std::ptr::null_mut;

use napi::{sys, Error, Result, Status, Unknown, ValueType};

/// A handle to a JavaScript value, good until the current call returns.
pub type JsVal = sys::napi_value;

/// What the engine calls for a function of ours.
// SAFETY: a signature; called by the engine alone.
pub type Callback = unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;

/// The engine, within one call.
#[derive(Clone, Copy)]
pub struct JsEnv {
    env: sys::napi_env,
}

/// Names an environment. An id may be used again when its environment has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvId(usize);

/// Keeps a value alive between calls. It must be released with [`JsEnv::release`].
pub struct Persistent(sys::napi_ref);

impl JsEnv {
    /// The engine that called; `env` must be the one of the current call.
    pub fn new(env: &napi::Env) -> Self {
        Self { env: env.raw() }
    }

    /// The engine of a callback that got the raw environment.
    pub fn from_raw(env: sys::napi_env) -> Self {
        Self { env }
    }

    /// Which environment this is.
    pub fn id(self) -> EnvId {
        EnvId(self.env as usize)
    }

    /// The raw environment.
    pub fn raw(self) -> sys::napi_env {
        self.env
    }

    pub(crate) fn check(self, status: sys::napi_status, what: &str) -> Result<()> {
        match status {
            sys::Status::napi_ok => Ok(()),
            // The exception stays pending in the engine; the caller's caller sees it.
            sys::Status::napi_pending_exception => Err(pending()),
            status => Err(Error::new(Status::from(status), format!("{what} failed"))),
        }
    }

    /// `undefined`.
    pub fn undefined(self) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: `env` is the current call's; `out` receives a handle.
        self.check(unsafe { sys::napi_get_undefined(self.env, &mut out) }, "undefined")?;
        Ok(out)
    }

    /// `null`.
    pub fn null(self) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: as in `undefined`.
        self.check(unsafe { sys::napi_get_null(self.env, &mut out) }, "null")?;
        Ok(out)
    }

    /// A boolean.
    pub fn boolean(self, value: bool) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: as in `undefined`.
        self.check(unsafe { sys::napi_get_boolean(self.env, value, &mut out) }, "boolean")?;
        Ok(out)
    }

    /// A number.
    pub fn number(self, value: f64) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: as in `undefined`.
        self.check(unsafe { sys::napi_create_double(self.env, value, &mut out) }, "number")?;
        Ok(out)
    }

    /// What kind of value it is.
    pub fn kind(self, value: JsVal) -> Result<ValueType> {
        let mut out = 0;
        // SAFETY: `value` is a handle of this call.
        self.check(unsafe { sys::napi_typeof(self.env, value, &mut out) }, "typeof")?;
        Ok(ValueType::from(out))
    }

    /// Whether it is a list.
    pub fn is_array(self, value: JsVal) -> Result<bool> {
        let mut out = false;
        // SAFETY: `value` is a handle of this call.
        self.check(unsafe { sys::napi_is_array(self.env, value, &mut out) }, "isArray")?;
        Ok(out)
    }

    /// The value of a number; None for anything else.
    pub fn number_value(self, value: JsVal) -> Result<Option<f64>> {
        if self.kind(value)? != ValueType::Number {
            return Ok(None);
        }
        let mut out = 0.0;
        // SAFETY: `value` is a number of this call.
        self.check(unsafe { sys::napi_get_value_double(self.env, value, &mut out) }, "number value")?;
        Ok(Some(out))
    }

    /// The value of a boolean; None for anything else.
    pub fn boolean_value(self, value: JsVal) -> Result<Option<bool>> {
        if self.kind(value)? != ValueType::Boolean {
            return Ok(None);
        }
        let mut out = false;
        // SAFETY: `value` is a boolean of this call.
        self.check(unsafe { sys::napi_get_value_bool(self.env, value, &mut out) }, "boolean value")?;
        Ok(Some(out))
    }

    /// Whether two values are the same to `===`.
    pub fn same(self, one: JsVal, other: JsVal) -> Result<bool> {
        let mut out = false;
        // SAFETY: both are handles of this call.
        self.check(unsafe { sys::napi_strict_equals(self.env, one, other, &mut out) }, "comparison")?;
        Ok(out)
    }

    /// Whether a condition takes it for true.
    pub fn is_truthy(self, value: JsVal) -> Result<bool> {
        let mut as_bool = null_mut();
        // SAFETY: `value` is a handle of this call.
        self.check(unsafe { sys::napi_coerce_to_bool(self.env, value, &mut as_bool) }, "truth")?;
        Ok(self.boolean_value(as_bool)? == Some(true))
    }

    /// A property. May run a getter.
    pub fn get(self, object: JsVal, name: &CStr) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: `object` is a handle of this call, `name` ends with a zero.
        self.check(unsafe { sys::napi_get_named_property(self.env, object, name.as_ptr(), &mut out) }, "property")?;
        Ok(out)
    }

    /// A property by a key made at run time. May run a getter.
    pub fn get_key(self, object: JsVal, key: JsVal) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: both are handles of this call.
        self.check(unsafe { sys::napi_get_property(self.env, object, key, &mut out) }, "property")?;
        Ok(out)
    }

    /// Sets a property. May run a setter.
    pub fn set(self, object: JsVal, name: &CStr, value: JsVal) -> Result<()> {
        // SAFETY: both are handles of this call, `name` ends with a zero.
        let status = unsafe { sys::napi_set_named_property(self.env, object, name.as_ptr(), value) };
        self.check(status, "setting a property")
    }

    /// Takes a property away.
    pub fn delete(self, object: JsVal, name: &CStr) -> Result<()> {
        let key = self.string(name.to_bytes())?;
        let mut deleted = false;
        // SAFETY: both are handles of this call.
        self.check(unsafe { sys::napi_delete_property(self.env, object, key, &mut deleted) }, "delete")
    }

    /// Makes an own data property, whatever the prototypes say, as `JSON.parse` does.
    pub fn define(self, object: JsVal, key: JsVal, value: JsVal) -> Result<()> {
        let property = sys::napi_property_descriptor {
            utf8name: std::ptr::null(),
            name: key,
            method: None,
            getter: None,
            setter: None,
            value,
            attributes: sys::PropertyAttributes::writable
                | sys::PropertyAttributes::enumerable
                | sys::PropertyAttributes::configurable,
            data: null_mut(),
        };
        // SAFETY: one descriptor, of handles of this call.
        self.check(unsafe { sys::napi_define_properties(self.env, object, 1, &property) }, "defining a property")
    }

    /// An empty object.
    pub fn object(self) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: as in `undefined`.
        self.check(unsafe { sys::napi_create_object(self.env, &mut out) }, "object")?;
        Ok(out)
    }

    /// A list of that many holes.
    pub fn array(self, len: usize) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: as in `undefined`.
        self.check(unsafe { sys::napi_create_array_with_length(self.env, len, &mut out) }, "array")?;
        Ok(out)
    }

    /// A list of values.
    pub fn array_of(self, values: &[JsVal]) -> Result<JsVal> {
        let array = self.array(values.len())?;
        for (at, value) in values.iter().enumerate() {
            self.set_at(array, at as u32, *value)?;
        }
        Ok(array)
    }

    /// The length of a list.
    pub fn len(self, array: JsVal) -> Result<u32> {
        let mut out = 0;
        // SAFETY: `array` is a handle of this call; anything but an array is refused by the engine.
        self.check(unsafe { sys::napi_get_array_length(self.env, array, &mut out) }, "length")?;
        Ok(out)
    }

    /// An element.
    pub fn at(self, array: JsVal, at: u32) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: `array` is a handle of this call.
        self.check(unsafe { sys::napi_get_element(self.env, array, at, &mut out) }, "element")?;
        Ok(out)
    }

    /// Sets an element of the list itself, even if arrays were given a setter for its index.
    pub fn set_at(self, array: JsVal, at: u32, value: JsVal) -> Result<()> {
        let mut there = false;
        // SAFETY: both are handles of this call; `there` receives the answer.
        self.check(unsafe { sys::napi_has_element(self.env, array, at, &mut there) }, "element")?;
        if there {
            return self.define(array, self.string(at.to_string().as_bytes())?, value);
        }
        // SAFETY: both are handles of this call.
        self.check(unsafe { sys::napi_set_element(self.env, array, at, value) }, "setting an element")
    }

    /// Calls a function without a receiver.
    pub fn call(self, function: JsVal, args: &[JsVal]) -> Result<JsVal> {
        let this = self.undefined()?;
        self.call_on(this, function, args)
    }

    /// Calls a function on a receiver.
    pub fn call_on(self, this: JsVal, function: JsVal, args: &[JsVal]) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: all are handles of this call; `args` is as long as said.
        let status = unsafe { sys::napi_call_function(self.env, this, function, args.len(), args.as_ptr(), &mut out) };
        self.check(status, "call")?;
        Ok(out)
    }

    /// A function for JavaScript to call. `callback` gets `data` as its own, which lives as long as the function.
    pub fn function<D>(self, name: &CStr, callback: Callback, data: Box<D>) -> Result<JsVal> {
        // SAFETY: called by the engine alone, with the data given below.
        unsafe extern "C" fn free<D>(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
            // SAFETY: made below; the engine calls this once, when the function is collected.
            drop(unsafe { Box::from_raw(data.cast::<D>()) });
        }
        let data: *mut c_void = Box::into_raw(data).cast();
        let (mut out, length) = (null_mut(), name.to_bytes().len() as isize);
        // SAFETY: `data` is handed to the function; the finaliser added below frees it.
        let made =
            unsafe { sys::napi_create_function(self.env, name.as_ptr(), length, Some(callback), data, &mut out) };
        let status = match made {
            // SAFETY: the function is a handle of this call.
            sys::Status::napi_ok => unsafe {
                sys::napi_add_finalizer(self.env, out, data, Some(free::<D>), null_mut(), null_mut())
            },
            status => status,
        };
        self.check(status, "function")?;
        Ok(out)
    }

    /// Compiles and runs a script, and gives what it evaluates to.
    pub fn run(self, script: &str) -> Result<JsVal> {
        let source = self.string(script.as_bytes())?;
        let mut out = null_mut();
        // SAFETY: `source` is a string of this call.
        self.check(unsafe { sys::napi_run_script(self.env, source, &mut out) }, "script")?;
        Ok(out)
    }

    /// A typed list of numbers that JavaScript reads without further calls.
    pub fn u32s(self, values: &[u32]) -> Result<JsVal> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.typed(sys::TypedarrayType::uint32_array, values.len(), &bytes)
    }

    /// As [`JsEnv::u32s`], for numbers that may be negative.
    pub fn i32s(self, values: &[i32]) -> Result<JsVal> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.typed(sys::TypedarrayType::int32_array, values.len(), &bytes)
    }

    /// As [`JsEnv::u32s`], for small numbers.
    pub fn u8s(self, values: &[u8]) -> Result<JsVal> {
        self.typed(sys::TypedarrayType::uint8_array, values.len(), values)
    }

    /// As [`JsEnv::u32s`], for doubles.
    pub fn f64s(self, values: &[f64]) -> Result<JsVal> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.typed(sys::TypedarrayType::float64_array, values.len(), &bytes)
    }

    fn typed(self, kind: sys::napi_typedarray_type, len: usize, bytes: &[u8]) -> Result<JsVal> {
        let mut data = null_mut();
        let mut buffer = null_mut();
        // SAFETY: the engine allocates that many bytes and tells where.
        self.check(unsafe { sys::napi_create_arraybuffer(self.env, bytes.len(), &mut data, &mut buffer) }, "buffer")?;
        if !bytes.is_empty() && !data.is_null() {
            // SAFETY: `data` has room for exactly `bytes.len()` bytes, and is nobody else's yet.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len()) };
        }
        let mut out = null_mut();
        // SAFETY: the buffer holds `len` elements of that kind, aligned as the engine allocates.
        self.check(unsafe { sys::napi_create_typedarray(self.env, kind, len, buffer, 0, &mut out) }, "typed array")?;
        Ok(out)
    }

    /// Keeps a value between calls.
    pub fn keep(self, value: JsVal) -> Result<Persistent> {
        let mut out = null_mut();
        // SAFETY: `value` is an object or function of this call.
        self.check(unsafe { sys::napi_create_reference(self.env, value, 1, &mut out) }, "reference")?;
        Ok(Persistent(out))
    }

    /// A kept value.
    pub fn kept(self, kept: &Persistent) -> Result<JsVal> {
        let mut out = null_mut();
        // SAFETY: a `Persistent` is made by `keep` alone and released once, when it is given away to `release`.
        self.check(unsafe { sys::napi_get_reference_value(self.env, kept.0, &mut out) }, "reference")?;
        if out.is_null() {
            return Err(Error::new(Status::GenericFailure, "A kept value is gone"));
        }
        Ok(out)
    }

    /// Whether a kept value that is only remembered is there no more.
    pub fn is_gone(self, kept: &Persistent) -> Result<bool> {
        let mut out = null_mut();
        // SAFETY: as in `kept`.
        self.check(unsafe { sys::napi_get_reference_value(self.env, kept.0, &mut out) }, "reference")?;
        Ok(out.is_null())
    }

    /// Makes a kept value one that is only remembered: it lives as long as something else holds it.
    pub fn weaken(self, kept: &Persistent) -> Result<()> {
        let mut count = 0;
        // SAFETY: as in `kept`; a reference is weakened once, by whoever gives the value another owner.
        self.check(unsafe { sys::napi_reference_unref(self.env, kept.0, &mut count) }, "reference")
    }

    /// Lets a kept value go.
    pub fn release(self, kept: Persistent) -> Result<()> {
        // SAFETY: as in `kept`; taking it by value makes this the last use.
        self.check(unsafe { sys::napi_delete_reference(self.env, kept.0) }, "release")
    }

    /// Runs work whose handles are let go at its end, for loops that make many.
    pub fn scoped<T>(self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut scope = null_mut();
        // SAFETY: opened here and closed below, whatever the work does.
        self.check(unsafe { sys::napi_open_handle_scope(self.env, &mut scope) }, "scope")?;
        let result = work();
        // SAFETY: `scope` is the innermost one: the work's own scopes are closed.
        let closed = unsafe { sys::napi_close_handle_scope(self.env, scope) };
        let value = result?;
        self.check(closed, "scope")?;
        Ok(value)
    }

    /// Makes an exception pending and gives the error that says so.
    pub fn throw(self, exception: JsVal) -> Error {
        // SAFETY: `exception` is a handle of this call.
        let status = unsafe { sys::napi_throw(self.env, exception) };
        self.check(status, "throw").err().unwrap_or_else(pending)
    }

    /// Takes the pending exception, if there is one.
    pub fn take_exception(self) -> Result<Option<JsVal>> {
        let mut pending = false;
        // SAFETY: asks only.
        self.check(unsafe { sys::napi_is_exception_pending(self.env, &mut pending) }, "exception")?;
        if !pending {
            return Ok(None);
        }
        let mut out = null_mut();
        // SAFETY: an exception is pending.
        self.check(unsafe { sys::napi_get_and_clear_last_exception(self.env, &mut out) }, "exception")?;
        Ok(Some(out))
    }
}

/// A value of the current call as what a method returns.
pub fn returned(env: &napi::Env, value: JsVal) -> Unknown<'_> {
    // SAFETY: `value` is a handle of the current call, which `env` stands for.
    unsafe { Unknown::from_raw_unchecked(env.raw(), value) }
}

/// The error that stands for an exception which is pending in the engine.
fn pending() -> Error {
    Error::new(Status::PendingException, "")
}
