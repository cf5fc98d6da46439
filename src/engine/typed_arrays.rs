//! Passes numbers as one typed array, without a call for each.

use std::ptr::null_mut;

use napi::bindgen_prelude::{Float64ArraySlice, Int32ArraySlice, Uint32ArraySlice, Uint8ArraySlice};
use napi::{sys, JsValue as _, Result};

use super::env::{JsEnv, JsVal};
use super::node_api::methods;
use super::persistent::Persistent;
use pi_session_core::addon::memory::with_capacity;

macro_rules! typed_arrays {
    ($($(#[$doc:meta])* $name:ident: $number:ty = $array:ident,)+) => {
        impl<'env> JsEnv<'env> {$(
            $(#[$doc])*
            pub fn $name(self, values: &[$number]) -> Result<JsVal<'env>> {
                self.made($array::copy_from(&self.env(), values)?.raw())
            }
        )+}
    };
}

typed_arrays! {
    /// A `Uint32Array`.
    u32s: u32 = Uint32ArraySlice,
    /// An `Int32Array`.
    i32s: i32 = Int32ArraySlice,
    /// A `Uint8Array`.
    u8s: u8 = Uint8ArraySlice,
    /// A `Float64Array`.
    f64s: f64 = Float64ArraySlice,
}

methods! {
    fn is_typed_array(value: JsVal<'_>) -> bool = napi_is_typedarray, "typed array";
    fn is_unshared_buffer(value: JsVal<'_>) -> bool = napi_is_arraybuffer, "array buffer";
}

impl JsEnv<'_> {
    /// A copy of the caller's `Uint8Array`, because the caller's code may transfer or resize its memory. None if it is
    /// anything else, or if its memory is shared with other threads, which may write at any time.
    pub fn copied_bytes(self, value: JsVal<'_>) -> Result<Option<Vec<u8>>> {
        if !self.is_typed_array(value)? {
            return Ok(None);
        }
        let (mut kind, mut len, mut data, mut buffer) = (0, 0, null_mut(), null_mut());
        // SAFETY: the handle is valid and belongs to a typed array; outputs that are not needed may be null.
        let status = unsafe {
            let (kind, len, data, buffer) = (&mut kind, &mut len, &mut data, &mut buffer);
            sys::napi_get_typedarray_info(self.raw(), value.raw(), kind, len, data, buffer, null_mut())
        };
        self.check(status, "typed array")?;
        if kind != sys::TypedarrayType::uint8_array || !self.is_unshared_buffer(self.made(buffer)?)? {
            return Ok(None);
        }
        let mut bytes = with_capacity(len).map_err(|_| self.out_of_memory(len))?;
        // There are no bytes if the memory was transferred, or was resized so that they are outside.
        if len > 0 && !data.is_null() {
            // SAFETY: the engine returned their position and length. Only this thread can write or release them, and
            // nothing runs before they are copied.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) });
        }
        Ok(Some(bytes))
    }
}

/// How many numbers a scratch array has.
const COUNT: usize = 4;

/// A `Float64Array` that the factory writes and the addon reads in place. It is created here, not by the caller's
/// `Float64Array`, and only the factory receives it, which neither transfers nor resizes it.
pub struct Scratch {
    numbers: *const [f64; COUNT],
    /// Keeps the numbers at their address.
    _array: Persistent,
}

impl Scratch {
    /// Creates a scratch array, and its JavaScript array for the factory.
    pub fn new(js: JsEnv<'_>) -> Result<(Self, JsVal<'_>)> {
        let numbers = Float64ArraySlice::copy_from(&js.env(), [0.0; COUNT])?;
        let array = js.made(numbers.raw())?;
        Ok((Self { numbers: numbers.as_ptr().cast(), _array: js.keep(array)? }, array))
    }

    pub fn read(&self) -> [f64; COUNT] {
        // SAFETY: the array has that many numbers, is kept alive, and does not move. JavaScript runs on this thread, so
        // nothing writes in the meantime.
        unsafe { self.numbers.read() }
    }
}
