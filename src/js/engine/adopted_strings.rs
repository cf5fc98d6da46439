//! Strings whose units stay in memory of ours: the engine neither copies them nor moves them when it collects
//! garbage, which takes longer than all else that is done for a text of some kilobytes.
//!
//! The functions are part of Node-API from version 10 on (Node 22.14); Node 20 has them, too. They are looked up by name, and
//! where they are missing, or copy, the engine is given a copy. They are not used in these engines: Bun, which
//! gives memory back at a turn of the event loop only, and none when a worker ends; Deno, which is not told apart from Bun; and
//! on Windows, where a worker's end may unload the addon before the engine has given the memory back.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, OnceLock};

use napi::{sys, Result};

use super::env::{JsEnv, JsVal};
use super::external_memory::{self, trim};
use pi_session_core::base::shared_units::{Memory, SharedUnits, LEAST};

/// Longer ones, in units, are copied: the copy fails where a string may not be so long.
const LONGEST: usize = 1 << 28;

/// A string, or the units if the engine does not adopt them.
pub(super) enum Adopted<'env, T> {
    String(JsVal<'env>),
    Refused(SharedUnits<T>),
}

/// Lets go of the memory of a string's units.
// SAFETY: the engine calls one once, with the pointer and the hint that it got with the string.
type Finalize = unsafe extern "C" fn(sys::napi_env, *mut c_void, *mut c_void);

/// A Node-API function that makes a string of so many units, and tells whether it copied them. The finalizer gets the
/// pointer to the units and the hint.
// SAFETY: whoever calls one gives a good environment, units that stay as they are until the finalizer is called, and places
// for what is written.
type Adopt<T> = unsafe extern "C" fn(
    sys::napi_env,
    *mut T,
    usize,
    Option<Finalize>,
    *mut c_void,
    *mut sys::napi_value,
    *mut bool,
) -> sys::napi_status;

struct Functions {
    latin1: Adopt<c_char>,
    utf16: Adopt<u16>,
}

/// The engine's functions; None where it lacks one.
fn functions() -> Option<&'static Functions> {
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    let find = || {
        // Node exports what V8 makes such strings with; Bun and Deno do not.
        symbol(c"_ZN2v86String18NewExternalOneByteEPNS_7IsolateEPNS0_29ExternalOneByteStringResourceE")?;
        let latin1 = symbol(c"node_api_create_external_string_latin1")?;
        let utf16 = symbol(c"node_api_create_external_string_utf16")?;
        // SAFETY: functions with these names have these types.
        Some(unsafe {
            Functions {
                latin1: std::mem::transmute::<*mut c_void, Adopt<c_char>>(latin1),
                utf16: std::mem::transmute::<*mut c_void, Adopt<u16>>(utf16),
            }
        })
    };
    FUNCTIONS.get_or_init(find).as_ref()
}

/// Whether the engine takes long strings without a copy.
pub fn adopts_strings() -> bool {
    functions().is_some()
}

#[cfg(unix)]
fn symbol(name: &std::ffi::CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

#[cfg(not(unix))]
fn symbol(_: &std::ffi::CStr) -> Option<*mut c_void> {
    None
}

/// Lets go of the memory of a string that was collected. From Node 26 on the engine may call it on another thread, while the
/// environment's own waits for the collection to end.
// SAFETY: called by the engine alone, once, with what `adopted` gave it. `env` is null when the environment has ended.
unsafe extern "C" fn free<T>(env: sys::napi_env, _: *mut c_void, memory: *mut c_void) {
    // SAFETY: `adopted` made this pointer of an `Arc` of this type, which was the string's.
    let memory = unsafe { Arc::from_raw(memory.cast::<Memory<T>>().cast_const()) };
    let Some(memory) = Arc::into_inner(memory) else { return };
    let (bytes, counter) = (memory.bytes(), memory.counter().cloned());
    drop(memory);
    trim(bytes);
    if let Some(counter) = counter.filter(|_| !env.is_null()) {
        external_memory::report_here(env, &counter);
    }
}

impl<'env> JsEnv<'env> {
    pub(super) fn adopted_latin1(self, units: SharedUnits<u8>) -> Result<Adopted<'env, u8>> {
        self.adopted(functions().map(|functions| functions.latin1), units)
    }

    pub(super) fn adopted_utf16(self, units: SharedUnits<u16>) -> Result<Adopted<'env, u16>> {
        self.adopted(functions().map(|functions| functions.utf16), units)
    }

    /// `T` and `U` have the same size.
    fn adopted<T, U>(self, adopt: Option<Adopt<T>>, units: SharedUnits<U>) -> Result<Adopted<'env, U>> {
        const { assert!(size_of::<T>() == size_of::<U>()) };
        let Some(adopt) = adopt.filter(|_| size_of_val(&*units) >= LEAST && units.len() <= LONGEST) else {
            return Ok(Adopted::Refused(units));
        };
        let memory = units.memory();
        let hint = Arc::into_raw(memory.clone());
        let (mut out, mut copied) = (std::ptr::null_mut(), false);
        // SAFETY: the units stay as they are and where they are until `free` lets go of their memory; the engine only reads
        // them. Where it copied them it has called `free`.
        let status = unsafe {
            let pointer = units.as_ptr().cast_mut().cast();
            adopt(self.raw(), pointer, units.len(), Some(free::<U>), hint.cast_mut().cast(), &mut out, &mut copied)
        };
        if status == sys::Status::napi_invalid_arg {
            // SAFETY: the engine looks at its arguments first, and has not kept the hint. After another failure it has, and
            // calls `free` when the environment ends.
            drop(unsafe { Arc::from_raw(hint) });
        }
        self.check(status, "string")?;
        if !copied {
            external_memory::count(self.raw(), memory);
        }
        self.made(out).map(Adopted::String)
    }
}
