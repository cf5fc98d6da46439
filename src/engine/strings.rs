//! Converts bytes to strings of the engine, and back.
//!
//! Text is WTF-8: UTF-8 that may contain lone surrogates. Text beyond ASCII is converted here, because the engine reads
//! UTF-8 one byte at a time.

use std::cell::Cell;
use std::ptr::null_mut;

use encoding_rs::mem::{convert_str_to_utf16, convert_utf8_to_latin1_lossy, is_utf8_latin1};
use napi::{sys, JsValue as _, Result, ValueType};

use super::env::{JsEnv, JsVal};
use pi_session_core::addon::memory::{keep, reserve, resize};
use pi_session_core::wtf8;

/// The capacity for most strings, in units.
const SHORT: usize = 512;
/// A string of at least this many units that begins like base64 is copied as bytes, if it is ASCII. `BASE64_START` is
/// how many units are checked.
const LONG_BASE64: usize = 1 << 14;
const BASE64_START: usize = 64;
/// How many letters are checked at once for one that must be escaped.
const PLAIN_CHUNK: usize = 1 << 12;

thread_local! {
    static UNITS: Cell<Vec<u16>> = const { Cell::new(Vec::new()) };
    static LETTERS: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Whether each of these letters is ASCII, and needs no escape in JSON. The compiler vectorizes it.
fn is_plain(letters: &[u8]) -> bool {
    // As signed numbers, letters beyond ASCII are less than the space, too.
    let is_odd = |letter: u8| ((letter as i8) < 0x20) | (letter == b'"') | (letter == b'\\');
    letters.iter().fold(0, |odd, letter| odd | u8::from(is_odd(*letter))) == 0
}

/// A Node-API function that copies a string's units into a buffer.
// SAFETY: the caller passes a valid environment and value, a buffer or null, and a place for the count.
type CopyUnits<T> = unsafe fn(sys::napi_env, sys::napi_value, *mut T, usize, *mut usize) -> sys::napi_status;

impl<'env> JsEnv<'env> {
    fn latin1(self, letters: &[u8]) -> Result<JsVal<'env>> {
        self.made(self.env().create_string_latin1(letters)?.raw())
    }

    fn utf16(self, units: &[u16]) -> Result<JsVal<'env>> {
        self.made(self.env().create_string_utf16(units)?.raw())
    }

    /// A string from WTF-8.
    pub fn string(self, bytes: &[u8]) -> Result<JsVal<'env>> {
        if bytes.is_ascii() {
            return self.latin1(bytes);
        }
        if is_utf8_latin1(bytes) {
            let mut letters = LETTERS.take();
            resize(&mut letters, bytes.len()).map_err(|_| self.out_of_memory(bytes.len()))?;
            let size = convert_utf8_to_latin1_lossy(bytes, &mut letters);
            let string = self.latin1(letters.get(..size).unwrap_or_default());
            keep(&LETTERS, letters);
            return string;
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.utf16(&wtf8::to_utf16(bytes).map_err(|_| self.out_of_memory(bytes.len()))?);
        };
        let mut units = UNITS.take();
        resize(&mut units, bytes.len()).map_err(|_| self.out_of_memory(bytes.len()))?;
        let size = convert_str_to_utf16(text, &mut units);
        let string = self.utf16(units.get(..size).unwrap_or_default());
        keep(&UNITS, units);
        string
    }

    /// A string, or `undefined`.
    pub fn optional_string(self, bytes: Option<&[u8]>) -> Result<JsVal<'env>> {
        bytes.map_or_else(|| self.undefined(), |bytes| self.string(bytes))
    }

    /// The WTF-8 of a string; None for anything else.
    pub fn text(self, value: JsVal<'_>) -> Result<Option<Vec<u8>>> {
        match self.kind(value)? {
            ValueType::String => {
                let text = self.with_units(value, |units| wtf8::from_utf16(units).map_err(|_| units.len()))?;
                text.map(Some).map_err(|units| self.out_of_memory(units))
            }
            _ => Ok(None),
        }
    }

    /// Calls `work` with a string's UTF-16 units. The engine copies units at memory speed, but converts to UTF-8 letter
    /// by letter.
    pub fn with_units<T>(self, value: JsVal<'_>, work: impl FnOnce(&[u16]) -> T) -> Result<T> {
        let mut units = UNITS.take();
        reserve(&mut units, SHORT).map_err(|_| self.out_of_memory(SHORT))?;
        // If the buffer is full, it may have been too small.
        if self.copy_units(value, &mut units)? + 1 == units.capacity() {
            let size = self.copy_units(value, &mut Vec::new())?;
            units.clear();
            reserve(&mut units, size + 1).map_err(|_| self.out_of_memory(size))?;
            self.copy_units(value, &mut units)?;
        }
        let done = work(&units);
        keep(&UNITS, units);
        Ok(done)
    }

    /// Appends the letters of a long string that begins like base64, if they all are ASCII and need no escape in JSON.
    /// For any other string appends nothing and returns false. The engine first counts the bytes of the UTF-8, and then
    /// copies them at memory speed; for other texts the count costs more than the copy saves.
    pub fn push_base64(self, value: JsVal<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let size = self.copy_units(value, &mut Vec::new())?;
        if size < LONG_BASE64 {
            return Ok(false);
        }
        let mut start = Vec::with_capacity(BASE64_START + 1);
        self.copy_units(value, &mut start)?;
        let is_base64 =
            |unit: &u16| u8::try_from(*unit).is_ok_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte));
        if !start.iter().all(is_base64) {
            return Ok(false);
        }
        let before = out.len();
        // Two bytes more for the end of a JSON string, so that writing it does not move the letters.
        reserve(out, size + 3).map_err(|_| self.out_of_memory(size))?;
        let mut copied = 0;
        // SAFETY: the buffer has that capacity, and the engine writes `copied` bytes, fewer than that, and a zero after
        // them.
        let status = unsafe {
            let end = out.as_mut_ptr().add(before);
            let status = sys::napi_get_value_string_utf8(self.raw(), value.raw(), end.cast(), size + 1, &mut copied);
            out.set_len(before + copied.min(size));
            status
        };
        self.check(status, "string value")?;
        let is_plain = copied == size && out.get(before..).unwrap_or_default().chunks(PLAIN_CHUNK).all(is_plain);
        if !is_plain {
            out.truncate(before);
        }
        Ok(is_plain)
    }

    fn copy_units(self, value: JsVal<'_>, buffer: &mut Vec<u16>) -> Result<usize> {
        self.copy(sys::napi_get_value_string_utf16, value, buffer)
    }

    /// Copies as many units of a string as fit into the buffer's capacity, less one for a zero. Returns how many. With
    /// no capacity it copies none and returns the length of the string. `T` and `U` have the same size.
    fn copy<T, U>(self, copy: CopyUnits<T>, value: JsVal<'_>, buffer: &mut Vec<U>) -> Result<usize> {
        const { assert!(size_of::<T>() == size_of::<U>()) };
        let mut size = 0;
        let (units, capacity) = match buffer.capacity() {
            0 => (null_mut(), 0),
            capacity => (buffer.as_mut_ptr(), capacity),
        };
        // SAFETY: the buffer has that capacity, and the engine writes `size` units, fewer than that. Without a capacity
        // it only returns the length.
        let status = unsafe {
            let status = copy(self.raw(), value.raw(), units.cast(), capacity, &mut size);
            buffer.set_len(if capacity == 0 { 0 } else { size });
            status
        };
        self.check(status, "string value")?;
        Ok(size)
    }
}
