//! Numbers that cross as one typed array, without a call for each.

use std::ffi::c_void;
use std::ptr::null_mut;

use napi::{sys, Error, Result};

use super::env::{JsEnv, JsVal};
use super::persistent::Persistent;

impl<'env> JsEnv<'env> {
    /// A `Uint32Array`.
    pub fn u32s(self, values: &[u32]) -> Result<JsVal<'env>> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.typed(sys::TypedarrayType::uint32_array, values.len(), &bytes)
    }

    /// An `Int32Array`.
    pub fn i32s(self, values: &[i32]) -> Result<JsVal<'env>> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.typed(sys::TypedarrayType::int32_array, values.len(), &bytes)
    }

    /// A `Uint8Array`.
    pub fn u8s(self, values: &[u8]) -> Result<JsVal<'env>> {
        self.typed(sys::TypedarrayType::uint8_array, values.len(), values)
    }

    /// A `Float64Array`.
    pub fn f64s(self, values: &[f64]) -> Result<JsVal<'env>> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.typed(sys::TypedarrayType::float64_array, values.len(), &bytes)
    }

    fn typed(self, kind: sys::napi_typedarray_type, len: usize, bytes: &[u8]) -> Result<JsVal<'env>> {
        self.typed_at(kind, len, bytes).map(|(array, _)| array)
    }

    /// A typed array, and where its numbers are as long as nobody transfers its buffer.
    fn typed_at(
        self,
        kind: sys::napi_typedarray_type,
        len: usize,
        bytes: &[u8],
    ) -> Result<(JsVal<'env>, *const c_void)> {
        let (mut data, mut buffer, mut out) = (null_mut(), null_mut(), null_mut());
        // SAFETY: the engine allocates that many bytes and tells where.
        let status = unsafe { sys::napi_create_arraybuffer(self.raw(), bytes.len(), &mut data, &mut buffer) };
        self.check(status, "buffer")?;
        if !bytes.is_empty() && !data.is_null() {
            // SAFETY: `data` has room for exactly `bytes.len()` bytes, and is nobody else's yet.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len()) };
        }
        // SAFETY: the buffer holds `len` elements of that kind, aligned as the engine allocates.
        let status = unsafe { sys::napi_create_typedarray(self.raw(), kind, len, buffer, 0, &mut out) };
        self.check(status, "typed array")?;
        Ok((self.made(out)?, data))
    }
}

/// How many numbers a scratch array has.
const COUNT: usize = 4;

/// A `Float64Array` that the factory writes and the addon reads where it is. It is made here, not by the caller's
/// `Float64Array`, and given to the factory alone, which neither transfers nor resizes it.
pub struct Scratch {
    numbers: *const [f64; COUNT],
    /// Keeps the numbers where they are.
    _array: Persistent,
}

impl Scratch {
    /// A scratch array, and the array for the factory.
    pub fn new(js: JsEnv<'_>) -> Result<(Self, JsVal<'_>)> {
        let zeros = [0; COUNT * size_of::<f64>()];
        let (array, data) = js.typed_at(sys::TypedarrayType::float64_array, COUNT, &zeros)?;
        match data.is_null() {
            true => Err(Error::from_reason("The engine gave no scratch array")),
            false => Ok((Self { numbers: data.cast(), _array: js.keep(array)? }, array)),
        }
    }

    /// The numbers that are in it.
    pub fn read(&self) -> [f64; COUNT] {
        // SAFETY: the array has that many numbers, is kept, and stays where it is. JavaScript runs on this thread, so
        // nothing writes meanwhile.
        unsafe { self.numbers.read() }
    }
}
