//! Long texts beyond ASCII as strings: the engine itself reads UTF-8 a byte at a time.

use std::cell::RefCell;
use std::ptr::null_mut;

use napi::{sys, Error, Result, Status};

use super::raw::{Js, Val};

/// From how many bytes on a text beyond ASCII is converted here.
pub const LONG_TEXT: usize = 1 << 10;

/// How many units of memory are kept for the next text.
const KEPT_UNITS: usize = 4 << 20;

thread_local! {
    static UNITS: RefCell<Vec<u16>> = const { RefCell::new(Vec::new()) };
}

/// A string of a long text.
pub fn string(js: Js, text: &str) -> Result<Val> {
    let mut out = null_mut();
    let status = if encoding_rs::mem::is_str_latin1(text) {
        let latin1 = encoding_rs::mem::encode_latin1_lossy(text);
        let size = latin1.len() as isize;
        // SAFETY: the pointer is good for `size` bytes; the engine copies them.
        unsafe { sys::napi_create_string_latin1(js.raw(), latin1.as_ptr().cast(), size, &mut out) }
    } else {
        UNITS.with(|units| {
            let mut units = units.borrow_mut();
            if units.len() < text.len() {
                units.resize(text.len(), 0);
            }
            let size = encoding_rs::mem::convert_str_to_utf16(text, &mut units);
            // SAFETY: the pointer is good for that many units; the engine copies them.
            let status = unsafe { sys::napi_create_string_utf16(js.raw(), units.as_ptr(), size as isize, &mut out) };
            if units.len() > KEPT_UNITS {
                *units = Vec::new();
            }
            status
        })
    };
    match status {
        sys::Status::napi_ok => Ok(out),
        status => Err(Error::new(Status::from(status), "string failed")),
    }
}
