//! Creates, reads and changes values, if that needs more than one Node-API function.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use napi::bindgen_prelude::{External, FunctionCallContext};
use napi::{sys, Error, JsExternal, JsValue as _, Result, ValueType};

use super::env::{pending, JsEnv, JsVal};

impl<'env> JsEnv<'env> {
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

    /// Whether the value is truthy.
    pub fn is_truthy(self, value: JsVal<'_>) -> Result<bool> {
        self.bool_value(self.to_boolean(value)?)
    }

    /// Defines an own data property, as `JSON.parse` does, even if a prototype has a setter for it.
    pub fn define(self, object: JsVal<'_>, key: JsVal<'_>, value: JsVal<'_>) -> Result<()> {
        self.define_all(object, &[property(None, Some(key), value)])
    }

    /// A plain object with these properties, in this order.
    pub fn record(self, properties: &[(&CStr, JsVal<'_>)]) -> Result<JsVal<'env>> {
        let object = self.object()?;
        let all: Vec<_> = properties.iter().map(|(key, value)| property(Some(key), None, *value)).collect();
        self.define_all(object, &all)?;
        Ok(object)
    }

    /// A plain object with these properties, in this order.
    pub fn object_of(self, properties: &[(JsVal<'_>, JsVal<'_>)]) -> Result<JsVal<'env>> {
        let object = self.object()?;
        // In parts, because there may be very many, and the process would end if one allocation for all failed.
        for part in properties.chunks(256) {
            let part: Vec<_> = part.iter().map(|(key, value)| property(None, Some(*key), *value)).collect();
            self.define_all(object, &part)?;
        }
        Ok(object)
    }

    fn define_all(self, object: JsVal<'_>, all: &[sys::napi_property_descriptor]) -> Result<()> {
        // SAFETY: the count is the list's length, and its handles and names are valid.
        let status = unsafe { sys::napi_define_properties(self.raw(), object.raw(), all.len(), all.as_ptr()) };
        self.check(status, "defining properties")
    }

    /// A list of values.
    pub fn array_of(self, values: &[JsVal<'_>]) -> Result<JsVal<'env>> {
        let array = self.array(values.len())?;
        for (at, value) in values.iter().enumerate() {
            self.set_at(array, at as u32, *value)?;
        }
        Ok(array)
    }

    /// An External that keeps a value until it is collected.
    pub fn external<T: 'static>(self, value: T) -> Result<JsVal<'env>> {
        self.made(External::new(value).into_js_external(&self.env())?.raw())
    }

    /// A copy of the value in an External of ours. Fails for anything else.
    pub fn external_value<T: Clone + 'static>(self, value: JsVal<'env>) -> Result<T> {
        value.typed::<JsExternal>(self)?.get_value::<T>().map(|value| value.clone())
    }

    /// A function that calls `work` with its arguments. Throws its errors, and also its panics, which napi-rs catches.
    pub fn function<F>(self, name: &str, work: F) -> Result<JsVal<'env>>
    where
        F: for<'call> Fn(JsEnv<'call>, &[JsVal<'call>]) -> Result<JsVal<'call>> + 'static,
    {
        let callback = move |context: FunctionCallContext<'_>| -> Result<sys::napi_value> {
            let args = context.arguments::<JsVal>()?;
            work(JsEnv::new(context.env), &args).map(JsVal::raw)
        };
        self.made(self.env().create_function_from_closure::<(), sys::napi_value, _>(name, callback)?.raw())
    }

    /// Calls a function without a receiver.
    pub fn call(self, function: JsVal<'_>, args: &[JsVal<'_>]) -> Result<JsVal<'env>> {
        let this = self.undefined()?;
        let mut out = null_mut();
        // SAFETY: all handles are valid; a `JsVal` has the layout of its raw handle, and the length of `args` is
        // correct.
        let status = unsafe {
            let args = (args.len(), args.as_ptr().cast());
            sys::napi_call_function(self.raw(), this.raw(), function.raw(), args.0, args.1, &mut out)
        };
        self.check(status, "call")?;
        self.made(out)
    }

    /// Compiles and runs a script. Returns its value.
    pub fn run(self, script: &str) -> Result<JsVal<'env>> {
        self.run_script(self.string(script.as_bytes())?)
    }

    /// An `Error`, or a `TypeError`, with this code and this message.
    pub fn error(self, is_type_error: bool, code: &str, message: &str) -> Result<JsVal<'env>> {
        let text = self.string(message.as_bytes())?;
        let error = if is_type_error { self.new_type_error(None, text)? } else { self.new_error(None, text)? };
        // Node-API would run a setter in Object.prototype.
        self.define_all(error, &[property(Some(c"code"), None, self.string(code.as_bytes())?)])?;
        Ok(error)
    }

    /// Makes an exception pending, and returns the error that represents it.
    pub fn throw(self, exception: JsVal<'_>) -> Error {
        self.throw_value(exception).err().unwrap_or_else(pending)
    }

    /// Makes an exception pending: an allocation for a text of `bytes` bytes failed.
    pub fn out_of_memory(self, bytes: usize) -> Error {
        let text = format!("ENOMEM: not enough memory for a text of {bytes} bytes");
        self.error(false, "ENOMEM", &text).map_or_else(|error| error, |exception| self.throw(exception))
    }

    /// Takes the pending exception, if there is one.
    pub fn take_exception(self) -> Result<Option<JsVal<'env>>> {
        self.has_exception()?.then(|| self.take_pending()).transpose()
    }
}

/// A plain data property, whose key is a name or a handle.
fn property(name: Option<&CStr>, key: Option<JsVal<'_>>, value: JsVal<'_>) -> sys::napi_property_descriptor {
    sys::napi_property_descriptor {
        utf8name: name.map_or_else(null, CStr::as_ptr),
        name: key.map_or_else(null_mut, JsVal::raw),
        method: None,
        getter: None,
        setter: None,
        value: value.raw(),
        attributes: sys::PropertyAttributes::writable
            | sys::PropertyAttributes::enumerable
            | sys::PropertyAttributes::configurable,
        data: null_mut(),
    }
}
