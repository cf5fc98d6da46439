//! Four numbers that the factory writes and the addon reads where they are.

use std::ptr::null_mut;

use napi::{sys, Error, Result};

use super::env::{JsEnv, JsVal, Persistent};

/// How many there are.
const COUNT: usize = 4;

/// A `Float64Array` of the factory's, which nothing else knows.
pub struct Scratch {
    data: *const [f64; COUNT],
    /// Keeps the numbers where they are.
    _array: Persistent,
}

impl Scratch {
    /// The numbers of this array.
    pub fn of(js: JsEnv, array: JsVal) -> Result<Self> {
        let (mut kind, mut count, mut data) = (0, 0, null_mut());
        // SAFETY: `array` is a typed array of this call, or the engine refuses.
        let status = unsafe {
            sys::napi_get_typedarray_info(js.raw(), array, &mut kind, &mut count, &mut data, null_mut(), null_mut())
        };
        let fits = status == sys::Status::napi_ok && kind == sys::TypedarrayType::float64_array && count == COUNT;
        match fits && !data.is_null() {
            true => Ok(Self { data: data.cast(), _array: js.keep(array)? }),
            false => Err(Error::from_reason("The factory's scratch array is not what it should be")),
        }
    }

    /// What is in them.
    pub fn read(&self) -> [f64; COUNT] {
        // SAFETY: the array has that many numbers, is kept, and stays where it is: only the factory has it, which
        // neither transfers nor resizes it. JavaScript runs on this thread, so it does not write meanwhile.
        unsafe { self.data.read() }
    }
}
