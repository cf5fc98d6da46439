//! Values of Rust that JavaScript holds: reference-counted ones, each in an External.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::rc::Rc;

use napi::{sys, Result};

use super::env::{JsEnv, JsVal};

thread_local! {
    /// The values that an External of ours holds, by the External's pointer, which is never followed: whoever has an
    /// External of somebody else's can hand us that.
    /// At the end of the process they stay: dropping them may wait for a thread that is gone by then.
    static HELD: ManuallyDrop<RefCell<HashMap<usize, Rc<dyn Any>>>> = ManuallyDrop::default();
    static NEXT: std::cell::Cell<usize> = const { std::cell::Cell::new(1) };
}

// SAFETY: called only by the engine, once, when the External is collected or the environment ends.
unsafe extern "C" fn forget(_env: sys::napi_env, key: *mut c_void, _hint: *mut c_void) {
    // At the end of the thread the values are gone already.
    let _ = HELD.try_with(|held| held.borrow_mut().remove(&(key as usize)));
}

impl<'env> JsEnv<'env> {
    /// An External that holds a value until it is collected.
    pub fn external<T: 'static>(self, value: Rc<T>) -> Result<JsVal<'env>> {
        let key = NEXT.replace(NEXT.get() + 1);
        let mut out = null_mut();
        // SAFETY: the pointer is a key, which nobody follows.
        let status =
            unsafe { sys::napi_create_external(self.raw(), key as *mut c_void, Some(forget), null_mut(), &mut out) };
        self.check(status, "external")?;
        HELD.with(|held| held.borrow_mut().insert(key, value));
        self.made(out)
    }

    /// The value that an External of ours holds; None for anything else.
    pub fn external_value<T: 'static>(self, value: JsVal<'_>) -> Result<Option<Rc<T>>> {
        if self.kind(value)? != napi::ValueType::External {
            return Ok(None);
        }
        let mut key = null_mut();
        // SAFETY: the handle is good and an External's; the pointer is compared, not followed.
        self.check(unsafe { sys::napi_get_value_external(self.raw(), value.raw(), &mut key) }, "external")?;
        let held = HELD.with(|held| held.borrow().get(&(key as usize)).cloned());
        Ok(held.and_then(|held| held.downcast().ok()))
    }
}
