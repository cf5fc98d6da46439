//! Numbers that cross as one typed array, without a call for each.

use napi::bindgen_prelude::{Float64ArraySlice, Int32ArraySlice, Uint32ArraySlice, Uint8ArraySlice};
use napi::{Env, JsValue as _, Result};

use super::env::{JsEnv, JsVal};
use super::persistent::Persistent;

macro_rules! typed_arrays {
    ($($(#[$doc:meta])* $name:ident: $number:ty = $array:ident,)+) => {
        impl<'env> JsEnv<'env> {$(
            $(#[$doc])*
            pub fn $name(self, values: &[$number]) -> Result<JsVal<'env>> {
                self.made($array::copy_from(&Env::from_raw(self.raw()), values)?.raw())
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

/// How many numbers a scratch array has.
const COUNT: usize = 4;

/// A `Float64Array` that the factory writes and the addon reads in place. It is made here, not by the caller's
/// `Float64Array`, and only the factory gets it, which neither transfers nor resizes it.
pub struct Scratch {
    numbers: *const [f64; COUNT],
    /// Keeps the numbers where they are.
    _array: Persistent,
}

impl Scratch {
    /// A scratch array, and the array for the factory.
    pub fn new(js: JsEnv<'_>) -> Result<(Self, JsVal<'_>)> {
        let numbers = Float64ArraySlice::copy_from(&Env::from_raw(js.raw()), [0.0; COUNT])?;
        let array = js.made(numbers.raw())?;
        Ok((Self { numbers: numbers.as_ptr().cast(), _array: js.keep(array)? }, array))
    }

    /// The numbers that are in it.
    pub fn read(&self) -> [f64; COUNT] {
        // SAFETY: the array has that many numbers, is kept, and stays where it is. JavaScript runs on this thread, so
        // nothing writes meanwhile.
        unsafe { self.numbers.read() }
    }
}
