//! Strings of the engine from bytes, and back.
//!
//! Text is WTF-8: UTF-8 that may hold lone surrogates. Long text beyond ASCII is converted here, for the engine reads
//! UTF-8 a byte at a time.

use std::cell::RefCell;
use std::ptr::null_mut;

use napi::{sys, Result, ValueType};

use super::env::{JsEnv, JsVal};
use crate::core::base::string_buffer::{Form, StringBuffer};
use crate::core::base::wtf8;

/// From how many bytes on text beyond ASCII is converted here.
const LONG_TEXT: usize = 1 << 10;
/// Room for most strings, in bytes.
const SHORT: usize = 512;

thread_local! {
    static BUFFER: RefCell<StringBuffer> = RefCell::default();
}

/// A Node-API function that makes a string of so many units.
type Make<T> = unsafe fn(sys::napi_env, *const T, isize, *mut sys::napi_value) -> sys::napi_status;

/// A Node-API function that copies a string into a buffer of so many units, the last of them for a zero, and tells how
/// many it has written. Without a buffer it tells how many there are.
type Copy<T> = unsafe fn(sys::napi_env, sys::napi_value, *mut T, usize, *mut usize) -> sys::napi_status;

impl<'env> JsEnv<'env> {
    /// A string of these units; `T` and `U` have the same size.
    fn make_string<T, U>(self, make: Make<T>, units: &[U]) -> Result<JsVal<'env>> {
        const { assert!(size_of::<T>() == size_of::<U>()) };
        let mut out = null_mut();
        // SAFETY: the pointer is good for so many units, which the engine copies.
        let status = unsafe { make(self.raw(), units.as_ptr().cast(), units.len() as isize, &mut out) };
        self.check(status, "string")?;
        self.made(out)
    }

    /// How many units a string has.
    fn string_length<T>(self, copy: Copy<T>, value: JsVal<'_>) -> Result<usize> {
        let mut units = 0;
        // SAFETY: without a buffer the engine only tells the length.
        let status = unsafe { copy(self.raw(), value.raw(), null_mut(), 0, &mut units) };
        self.check(status, "string length")?;
        Ok(units)
    }

    /// As many units of a string as there is room for, but for one; `T` and `U` have the same size.
    fn copy_string<T, U>(self, copy: Copy<T>, value: JsVal<'_>, room: usize) -> Result<Vec<U>> {
        const { assert!(size_of::<T>() == size_of::<U>()) };
        let mut buffer: Vec<U> = Vec::with_capacity(room);
        let mut units = 0;
        // SAFETY: the buffer has that much room.
        let status = unsafe { copy(self.raw(), value.raw(), buffer.as_mut_ptr().cast(), room, &mut units) };
        self.check(status, "string value")?;
        // SAFETY: the engine has written so many units, fewer than there is room for, or refused.
        unsafe { buffer.set_len(units.min(room)) };
        Ok(buffer)
    }

    fn latin1(self, bytes: &[u8]) -> Result<JsVal<'env>> {
        self.make_string(sys::napi_create_string_latin1, bytes)
    }

    /// A string from WTF-8.
    pub fn string(self, bytes: &[u8]) -> Result<JsVal<'env>> {
        if bytes.is_ascii() {
            return self.latin1(bytes);
        }
        if bytes.len() < LONG_TEXT {
            return match std::str::from_utf8(bytes) {
                Ok(_) => self.make_string(sys::napi_create_string_utf8, bytes),
                Err(_) => self.make_string(sys::napi_create_string_utf16, &wtf8::to_utf16(bytes)),
            };
        }
        BUFFER.with(|buffer| {
            let mut buffer = buffer.borrow_mut();
            buffer.set(bytes);
            let string = self.buffered_string(&buffer);
            buffer.trim();
            string
        })
    }

    /// A string of a buffer's text.
    pub fn buffered_string(self, buffer: &StringBuffer) -> Result<JsVal<'env>> {
        match buffer.get() {
            Form::Latin1(bytes) => self.latin1(bytes),
            Form::Utf16(units) => self.make_string(sys::napi_create_string_utf16, units),
        }
    }

    /// A string, or `undefined`.
    pub fn optional_string(self, bytes: Option<&[u8]>) -> Result<JsVal<'env>> {
        bytes.map_or_else(|| self.undefined(), |bytes| self.string(bytes))
    }

    /// The WTF-8 of a string; None for anything else.
    pub fn text(self, value: JsVal<'_>) -> Result<Option<Vec<u8>>> {
        if self.kind(value)? != ValueType::String {
            return Ok(None);
        }
        let read = self.utf8(value)?;
        // U+FFFD may stand for a lone surrogate, which only the UTF-16 form tells.
        if memchr::memmem::find(&read, "\u{FFFD}".as_bytes()).is_none() {
            return Ok(Some(read));
        }
        let room = self.string_length(sys::napi_get_value_string_utf16, value)? + 1;
        let units: Vec<u16> = self.copy_string(sys::napi_get_value_string_utf16, value, room)?;
        Ok(Some(wtf8::from_utf16(&units)))
    }

    /// The UTF-8 of a string, lone surrogates as U+FFFD.
    fn utf8(self, value: JsVal<'_>) -> Result<Vec<u8>> {
        let bytes = self.copy_string(sys::napi_get_value_string_utf8, value, SHORT)?;
        // A buffer that is nearly full may have been too small: up to three bytes are left unused then.
        if bytes.len() + 4 < SHORT {
            return Ok(bytes);
        }
        let room = self.string_length(sys::napi_get_value_string_utf8, value)? + 1;
        self.copy_string(sys::napi_get_value_string_utf8, value, room)
    }

    /// The UTF-8 of a string without lone surrogates, such as `JSON.stringify` gives: most are ASCII, and copied at
    /// once where UTF-8 is made letter by letter.
    pub fn well_formed_text(self, value: JsVal<'_>) -> Result<Vec<u8>> {
        let bytes = self.copy_string(sys::napi_get_value_string_utf8, value, SHORT)?;
        if bytes.len() + 4 < SHORT {
            return Ok(bytes);
        }
        let size = self.string_length(sys::napi_get_value_string_utf8, value)?;
        // As many bytes as units: ASCII.
        match size == self.string_length(sys::napi_get_value_string_utf16, value)? {
            true => self.copy_string(sys::napi_get_value_string_latin1, value, size + 1),
            false => self.copy_string(sys::napi_get_value_string_utf8, value, size + 1),
        }
    }
}
