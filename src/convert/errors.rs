//! Errors of the core as JavaScript exceptions.

use napi::{Error, Result};

use crate::engine::{JsEnv, JsVal};
use crate::factory::process::app_name;
use pi_session_core::addon::code_of;
use pi_session_core::Error as CoreError;

/// Throws an error of the core with its text, `code` and `path`: a `TypeError` for a wrong argument, and Node's `code`,
/// `errno` and `syscall` for errors of the operating system. An exception that is already pending stays.
pub fn thrown(js: JsEnv<'_>, error: &CoreError) -> Error {
    match js.take_exception() {
        Ok(Some(exception)) => return js.throw(exception),
        Ok(None) => {}
        Err(error) => return error,
    }
    let text = match app_name(js) {
        Ok(Some(app)) => error.text_for(&app),
        Ok(None) => error.to_string(),
        Err(error) => return error,
    };
    let own = error.code().name();
    let code = error.as_io().and_then(|(_, source)| code_of(source)).map_or(own, |(code, _)| code);
    let made = js.error(error.is_type_error(), code, &text).and_then(|object| {
        let set = |name: &str, value: JsVal<'_>| js.define(object, js.string(name.as_bytes())?, value);
        if let Some((syscall, source)) = error.as_io() {
            if let Some(errno) = source.raw_os_error() {
                set("errno", js.number(-f64::from(errno))?)?;
            }
            set("syscall", js.string(syscall.as_bytes())?)?;
        }
        if let Some(path) = error.path() {
            set("path", js.string(path.as_bytes())?)?;
        }
        Ok(object)
    });
    match made {
        Ok(object) => js.throw(object),
        Err(error) => error,
    }
}

/// Converts results of the core.
pub trait OrThrow<T> {
    /// The value. Throws an error, see [`thrown`].
    fn or_throw(self, js: JsEnv<'_>) -> Result<T>;
}

impl<T, E: Into<CoreError>> OrThrow<T> for std::result::Result<T, E> {
    fn or_throw(self, js: JsEnv<'_>) -> Result<T> {
        self.map_err(|error| thrown(js, &error.into()))
    }
}

/// Throws a `TypeError`: an argument is wrong, or the caller's code changed the session during the call.
pub fn wrong_argument(js: JsEnv<'_>, text: impl Into<String>) -> Error {
    thrown(js, &CoreError::argument(text))
}
