//! Values that are kept between calls.

use std::ptr::null_mut;

use napi::{sys, Error, Result};

use super::env::{Bound, JsEnv, JsVal};

/// Keeps a value alive between calls, until it is dropped or the environment ends.
pub struct Persistent(Bound<sys::napi_ref>);

impl Drop for Persistent {
    fn drop(&mut self) {
        if let Some((env, reference)) = self.0.open() {
            // SAFETY: the environment has not ended. `keep` created the reference, and it is deleted only here, once.
            unsafe { sys::napi_delete_reference(env, reference) };
        }
    }
}

impl<'env> JsEnv<'env> {
    /// Keeps an object or a function between calls.
    pub fn keep(self, value: JsVal<'_>) -> Result<Persistent> {
        let mut reference = null_mut();
        // SAFETY: the handle is valid, and the engine writes its new reference to `reference`.
        let status = unsafe { sys::napi_create_reference(self.raw(), value.raw(), 1, &mut reference) };
        self.check(status, "reference")?;
        Ok(Persistent(Bound::new(self, reference)))
    }

    /// A kept value; None if it was weakened and collected.
    fn referenced(self, kept: &Persistent) -> Result<Option<JsVal<'env>>> {
        let mut value = null_mut();
        // SAFETY: the reference belongs to this environment, and exists as long as `kept`.
        let status = unsafe { sys::napi_get_reference_value(self.raw(), kept.0.within(self)?, &mut value) };
        self.check(status, "reference")?;
        (!value.is_null()).then(|| self.made(value)).transpose()
    }

    /// A kept value.
    pub fn kept(self, kept: &Persistent) -> Result<JsVal<'env>> {
        self.referenced(kept)?.ok_or_else(|| Error::from_reason("A kept value is gone"))
    }

    /// Whether a weakened value was collected.
    pub fn is_gone(self, kept: &Persistent) -> Result<bool> {
        Ok(self.referenced(kept)?.is_none())
    }

    /// Makes the reference weak: from then on it does not keep the value alive. Call it once.
    pub fn weaken(self, kept: &Persistent) -> Result<()> {
        let mut count = 0;
        // SAFETY: the reference belongs to this environment, and exists as long as `kept`.
        self.check(unsafe { sys::napi_reference_unref(self.raw(), kept.0.within(self)?, &mut count) }, "reference")
    }
}
