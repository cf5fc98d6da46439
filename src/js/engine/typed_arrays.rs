//! Numbers that cross as one typed array, without a call for each.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;

use napi::bindgen_prelude::{Float64ArraySlice, Int32ArraySlice, Uint32ArraySlice, Uint8ArraySlice};
use napi::{sys, JsValue as _, Result};

use super::env::{JsEnv, JsVal};
use super::node_api::methods;
use super::persistent::Persistent;

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

/// The number types of the caller's typed arrays that the addon reads.
pub trait Element {
    /// What Node-API calls an array of such numbers.
    const KIND: sys::napi_typedarray_type;
    /// What JavaScript calls it.
    const NAME: &'static str;
}

impl Element for u8 {
    const KIND: sys::napi_typedarray_type = sys::TypedarrayType::uint8_array;
    const NAME: &'static str = "Uint8Array";
}

impl Element for u32 {
    const KIND: sys::napi_typedarray_type = sys::TypedarrayType::uint32_array;
    const NAME: &'static str = "Uint32Array";
}

/// A typed array of the caller's. Its numbers are read by [`JsEnv::with_numbers`] only: as soon as code of the caller's
/// runs, it may transfer or resize their memory.
#[derive(Clone, Copy)]
pub struct CallersArray<'env, T> {
    array: JsVal<'env>,
    numbers: PhantomData<T>,
}

methods! {
    fn is_typed_array(value: JsVal<'_>) -> bool = napi_is_typedarray, "typed array";
    fn is_unshared_buffer(value: JsVal<'_>) -> bool = napi_is_arraybuffer, "array buffer";
}

/// What Node-API tells of a typed array.
struct Info {
    kind: sys::napi_typedarray_type,
    len: usize,
    data: *mut c_void,
    buffer: sys::napi_value,
}

impl<'env> JsEnv<'env> {
    /// A value as a typed array of this type; None if it is anything else, or if its memory is shared with other threads,
    /// which may write at any time.
    pub fn callers_array<T: Element>(self, value: JsVal<'env>) -> Result<Option<CallersArray<'env, T>>> {
        if !self.is_typed_array(value)? {
            return Ok(None);
        }
        let Info { kind, buffer, .. } = self.info(value)?;
        let is_of_kind = kind == T::KIND && self.is_unshared_buffer(self.made(buffer)?)?;
        Ok(is_of_kind.then_some(CallersArray { array: value, numbers: PhantomData }))
    }

    /// Gives `work` the numbers of arrays where they are, without a copy. What leads to the engine is not `Send`, so `work`
    /// cannot run the caller's code:
    ///
    /// ```compile_fail
    /// # use pi_session_native::js::engine::{CallersArray, JsEnv, JsVal};
    /// fn sets<'env>(js: JsEnv<'env>, lines: CallersArray<'env, u8>, hosts: CallersArray<'env, u32>, of: JsVal<'env>) {
    ///     js.with_numbers([Some(lines)], hosts, |_, _| js.set(of, c"key", of)).ok();
    /// }
    /// ```
    ///
    /// The same without a call into the engine compiles:
    ///
    /// ```
    /// # use pi_session_native::js::engine::{CallersArray, JsEnv, JsVal};
    /// fn counts<'env>(js: JsEnv<'env>, lines: CallersArray<'env, u8>, hosts: CallersArray<'env, u32>) {
    ///     js.with_numbers([Some(lines)], hosts, |[lines], hosts| (lines.map(<[u8]>::len), hosts.len())).ok();
    /// }
    /// ```
    pub fn with_numbers<T, const N: usize>(
        self,
        bytes: [Option<CallersArray<'_, u8>>; N],
        words: CallersArray<'_, u32>,
        work: impl FnOnce([Option<&[u8]>; N], &[u32]) -> T + Send,
    ) -> Result<T> {
        let mut slices = [None; N];
        for (slice, array) in slices.iter_mut().zip(bytes) {
            // SAFETY: used by `work` only.
            *slice = array.map(|array| unsafe { self.numbers(array) }).transpose()?;
        }
        // SAFETY: used by `work` only.
        let words = unsafe { self.numbers(words)? };
        Ok(work(slices, words))
    }

    /// The numbers of an array; none if its memory was transferred, or resized so that it lies outside.
    ///
    /// # Safety
    ///
    /// They must not be used after code of the caller's has run.
    unsafe fn numbers<'a, T: Element>(self, array: CallersArray<'_, T>) -> Result<&'a [T]> {
        let Info { len, data, .. } = self.info(array.array)?;
        if len == 0 || data.is_null() {
            return Ok(&[]);
        }
        // SAFETY: the engine says that they are there, at an address that the element type may have, and `callers_array` has
        // checked that type. Only this thread can write to them or take them away, by the caller's code.
        Ok(unsafe { std::slice::from_raw_parts(data.cast(), len) })
    }

    fn info(self, array: JsVal<'_>) -> Result<Info> {
        let mut info = Info { kind: 0, len: 0, data: null_mut(), buffer: null_mut() };
        let Info { kind, len, data, buffer } = &mut info;
        // SAFETY: the handle is good, and the engine refuses what is not a typed array; what is not asked for may be null.
        let status =
            unsafe { sys::napi_get_typedarray_info(self.raw(), array.raw(), kind, len, data, buffer, null_mut()) };
        self.check(status, "typed array")?;
        Ok(info)
    }
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
        let numbers = Float64ArraySlice::copy_from(&js.env(), [0.0; COUNT])?;
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
