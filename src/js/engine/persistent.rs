//! Values that are kept between calls.

use napi::{sys, Error, Result};

use super::env::{Bound, JsEnv, JsVal};
use super::node_api::{methods, Argument, Output};

/// Keeps a value alive between calls, until it is given to [`JsEnv::release`]. The environment's end releases it, too.
pub struct Persistent(Bound<sys::napi_ref>);

/// A reference that belongs to the environment it is used in.
struct Reference(sys::napi_ref);

impl Argument for Reference {
    type Raw = sys::napi_ref;
    fn raw(&self) -> sys::napi_ref {
        self.0
    }
}

impl<'env> Output<'env> for Reference {
    type Raw = sys::napi_ref;
    const EMPTY: sys::napi_ref = std::ptr::null_mut();
    fn of(_: JsEnv<'env>, raw: sys::napi_ref) -> Result<Self> {
        Ok(Self(raw))
    }
}

// A `Reference` is made by `new_reference` and deleted once, for `release` takes its `Persistent` by value.
methods! {
    fn new_reference(value: JsVal<'_>, count: u32) -> Reference = napi_create_reference, "reference";
    fn referenced(reference: Reference) -> Option<JsVal<'env>> = napi_get_reference_value, "reference";
    fn unreference(reference: Reference) -> u32 = napi_reference_unref, "reference";
    fn delete_reference(reference: Reference) = napi_delete_reference, "release";
}

impl<'env> JsEnv<'env> {
    /// Keeps an object or a function between calls.
    pub fn keep(self, value: JsVal<'_>) -> Result<Persistent> {
        let Reference(reference) = self.new_reference(value, 1)?;
        Ok(Persistent(Bound::new(self, reference)))
    }

    fn own(self, kept: &Persistent) -> Result<Reference> {
        kept.0.within(self).map(Reference)
    }

    /// A kept value.
    pub fn kept(self, kept: &Persistent) -> Result<JsVal<'env>> {
        self.referenced(self.own(kept)?)?.ok_or_else(|| Error::from_reason("A kept value is gone"))
    }

    /// Whether a weakened value was collected.
    pub fn is_gone(self, kept: &Persistent) -> Result<bool> {
        Ok(self.referenced(self.own(kept)?)?.is_none())
    }

    /// Makes it a weak reference: the value lives as long as something else holds it. To be called once.
    pub fn weaken(self, kept: &Persistent) -> Result<()> {
        self.unreference(self.own(kept)?).map(drop)
    }

    /// Lets a kept value go.
    pub fn release(self, kept: Persistent) -> Result<()> {
        self.delete_reference(self.own(&kept)?)
    }
}
