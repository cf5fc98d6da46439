//! Long texts beyond ASCII as strings: the engine itself reads UTF-8 a byte at a time.

use std::cell::RefCell;
use std::ptr::null_mut;

use napi::{sys, Result};

use super::env::{JsEnv, JsVal};
use crate::core::base::string_buffer::{Form, StringBuffer};

/// From how many bytes on a text beyond ASCII is converted here.
pub const LONG_TEXT: usize = 1 << 10;

thread_local! {
    static LETTERS: RefCell<StringBuffer> = RefCell::default();
}

/// A string of a long text in WTF-8.
pub fn string(js: JsEnv, text: &[u8]) -> Result<JsVal> {
    LETTERS.with(|letters| {
        let mut letters = letters.borrow_mut();
        letters.set(text);
        let string = of_letters(js, &letters);
        letters.trim();
        string
    })
}

/// A string of letters.
pub fn of_letters(js: JsEnv, letters: &StringBuffer) -> Result<JsVal> {
    let mut out = null_mut();
    let status = match letters.get() {
        Form::Latin1(bytes) => {
            // SAFETY: the pointer is good for so many bytes; the engine copies them.
            unsafe { sys::napi_create_string_latin1(js.raw(), bytes.as_ptr().cast(), bytes.len() as isize, &mut out) }
        }
        Form::Utf16(units) => {
            // SAFETY: the pointer is good for so many units; the engine copies them.
            unsafe { sys::napi_create_string_utf16(js.raw(), units.as_ptr(), units.len() as isize, &mut out) }
        }
    };
    js.check(status, "string")?;
    Ok(out)
}
