//! Errors of the core as JavaScript exceptions.

use std::ffi::CStr;

use napi::{sys, Error};

use crate::core::base::error::{code_of, Error as CoreError};
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::host::app_name;

// SAFETY: stands for two functions of Node-API with one signature; called in `error_object` alone.
type Maker = unsafe fn(sys::napi_env, sys::napi_value, sys::napi_value, *mut sys::napi_value) -> sys::napi_status;

fn error_object(js: JsEnv, maker: Maker, message: &str) -> napi::Result<JsVal> {
    let text = js.string(message.as_bytes())?;
    let mut out = std::ptr::null_mut();
    // SAFETY: `text` is a string of this call, no code is given, `out` receives a handle.
    let status = unsafe { maker(js.raw(), std::ptr::null_mut(), text, &mut out) };
    match status {
        sys::Status::napi_ok => Ok(out),
        status => Err(Error::new(napi::Status::from(status), "creating an error failed")),
    }
}

/// Throws an error of the core: its text, a `TypeError` for a wrong argument, and Node's `code`, `errno`, `syscall`
/// and `path` for the system's errors. An exception that is pending already stays.
pub fn thrown(js: JsEnv, error: &CoreError) -> Error {
    match js.take_exception() {
        Ok(Some(exception)) => return js.throw(exception),
        Ok(None) => {}
        Err(error) => return error,
    }
    let maker: Maker = if error.is_argument() { sys::napi_create_type_error } else { sys::napi_create_error };
    let text = match app_name(js) {
        Ok(Some(app)) => error.text_for(&app),
        Ok(None) => error.to_string(),
        Err(error) => return error,
    };
    let made = error_object(js, maker, &text).and_then(|object| {
        if let Some((syscall, path, source)) = error.as_io() {
            let set = |name: &CStr, text: &str| js.set(object, name, js.string(text.as_bytes())?);
            if let Some((code, _)) = code_of(source) {
                set(c"code", code)?;
            }
            if let Some(errno) = source.raw_os_error() {
                js.set(object, c"errno", js.number(-f64::from(errno))?)?;
            }
            set(c"syscall", syscall)?;
            set(c"path", path)?;
        }
        Ok(object)
    });
    match made {
        Ok(object) => js.throw(object),
        Err(error) => error,
    }
}

/// Throws a `TypeError` that names the argument.
pub fn wrong_argument(js: JsEnv, text: impl Into<String>) -> Error {
    thrown(js, &CoreError::argument(text))
}
