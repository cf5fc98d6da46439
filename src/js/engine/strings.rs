//! Strings of the engine as bytes.

use std::ptr::null_mut;

use napi::{sys, Result, ValueType};

use super::env::{JsEnv, JsVal};
use super::long;
use crate::core::base::wtf8;

impl JsEnv {
    /// A string from WTF-8 bytes, lone surrogates included.
    pub fn string(self, bytes: &[u8]) -> Result<JsVal> {
        let mut out = null_mut();
        let size = bytes.len() as isize;
        let status = if bytes.is_ascii() {
            // SAFETY: the pointer is good for `size` bytes; the engine copies them.
            unsafe { sys::napi_create_string_latin1(self.raw(), bytes.as_ptr().cast(), size, &mut out) }
        } else if bytes.len() >= long::LONG_TEXT {
            return long::string(self, bytes);
        } else if std::str::from_utf8(bytes).is_ok() {
            // SAFETY: the pointer is good for `size` bytes; the engine copies them.
            unsafe { sys::napi_create_string_utf8(self.raw(), bytes.as_ptr().cast(), size, &mut out) }
        } else {
            let units = wtf8::to_utf16(bytes);
            // SAFETY: the pointer is good for that many units; the engine copies them.
            unsafe { sys::napi_create_string_utf16(self.raw(), units.as_ptr(), units.len() as isize, &mut out) }
        };
        self.check(status, "string")?;
        Ok(out)
    }

    /// A string, or `undefined`.
    pub fn optional_string(self, bytes: Option<&[u8]>) -> Result<JsVal> {
        bytes.map_or_else(|| self.undefined(), |bytes| self.string(bytes))
    }

    /// The WTF-8 of a string; None for anything else.
    pub fn text(self, value: JsVal) -> Result<Option<Vec<u8>>> {
        if self.kind(value)? != ValueType::String {
            return Ok(None);
        }
        let mut short = [0u8; 128];
        let mut size = 0;
        // SAFETY: the buffer is as long as said; `value` is a string of this call.
        let status = unsafe {
            sys::napi_get_value_string_utf8(self.raw(), value, short.as_mut_ptr().cast(), short.len(), &mut size)
        };
        self.check(status, "string value")?;
        // A full buffer may have been cut short: at most three bytes and the ending zero are left unused then.
        let read = match short.get(..size).filter(|_| size < short.len() - 4) {
            Some(bytes) => bytes.to_vec(),
            None => self.long_text(value)?,
        };
        // U+FFFD may stand for a lone surrogate, which only the UTF-16 form tells.
        let replaced = memchr::memmem::find(&read, "\u{FFFD}".as_bytes()).is_some();
        Ok(Some(if replaced { wtf8::from_utf16(&self.utf16(value)?) } else { read }))
    }

    /// The UTF-8 of a string without lone surrogates, such as `JSON.stringify` gives: most are ASCII, and read in one go.
    pub fn well_formed_text(self, value: JsVal) -> Result<Vec<u8>> {
        const SHORT: usize = 512;
        if let Some(bytes) = self.text_in(value, SHORT)? {
            return Ok(bytes);
        }
        let mut units = 0;
        // SAFETY: without a buffer the engine only tells the length, in UTF-16 units.
        let status = unsafe { sys::napi_get_value_string_utf16(self.raw(), value, null_mut(), 0, &mut units) };
        self.check(status, "string length")?;
        let mut size = 0;
        // SAFETY: without a buffer the engine only tells the length, in bytes.
        let status = unsafe { sys::napi_get_value_string_utf8(self.raw(), value, null_mut(), 0, &mut size) };
        self.check(status, "string length")?;
        if size != units {
            return self.long_text(value);
        }
        // As many bytes as units: ASCII, which is copied at once where UTF-8 is made letter by letter.
        let mut bytes = Vec::with_capacity(size + 1);
        // SAFETY: the buffer has room for every byte and the ending zero.
        let status = unsafe {
            sys::napi_get_value_string_latin1(self.raw(), value, bytes.as_mut_ptr() as *mut _, size + 1, &mut size)
        };
        self.check(status, "string value")?;
        // SAFETY: the engine has written `size` bytes, one less than the room at most.
        unsafe { bytes.set_len(size) };
        Ok(bytes)
    }

    /// The UTF-8 of a string if it fits into that much room; None if it may not have.
    fn text_in(self, value: JsVal, room: usize) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::with_capacity(room);
        let mut size = 0;
        // SAFETY: the buffer has that much room.
        let status = unsafe {
            sys::napi_get_value_string_utf8(self.raw(), value, bytes.as_mut_ptr() as *mut _, room, &mut size)
        };
        self.check(status, "string value")?;
        // A buffer that is nearly full may have been too small.
        if size + 4 >= room {
            return Ok(None);
        }
        // SAFETY: the engine has written `size` bytes, which is less than the room.
        unsafe { bytes.set_len(size) };
        Ok(Some(bytes))
    }

    fn long_text(self, value: JsVal) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: without a buffer the engine only tells the length.
        let status = unsafe { sys::napi_get_value_string_utf8(self.raw(), value, null_mut(), 0, &mut size) };
        self.check(status, "string length")?;
        let mut bytes = vec![0u8; size + 1];
        // SAFETY: the buffer is as long as said, its last byte for the ending zero.
        let status = unsafe {
            sys::napi_get_value_string_utf8(self.raw(), value, bytes.as_mut_ptr().cast(), bytes.len(), &mut size)
        };
        self.check(status, "string value")?;
        bytes.truncate(size);
        Ok(bytes)
    }

    fn utf16(self, value: JsVal) -> Result<Vec<u16>> {
        let mut size = 0;
        // SAFETY: without a buffer the engine only tells the length.
        let status = unsafe { sys::napi_get_value_string_utf16(self.raw(), value, null_mut(), 0, &mut size) };
        self.check(status, "string length")?;
        let mut units = vec![0u16; size + 1];
        // SAFETY: the buffer is as long as said, its last unit for the ending zero.
        let status =
            unsafe { sys::napi_get_value_string_utf16(self.raw(), value, units.as_mut_ptr(), units.len(), &mut size) };
        self.check(status, "string value")?;
        units.truncate(size);
        Ok(units)
    }
}
