//! Promises that are settled later.

use std::cell::Cell;
use std::ptr::null_mut;
use std::rc::Rc;

use napi::{sys, Result, Status};

use super::env::{Bound, JsEnv, JsVal};

/// Settles a promise. Copies settle the same promise, which can be settled only once.
// We do not use napi-rs's own `JsDeferred`, because it settles through a thread-safe function: after progress calls
// that are still queued, and in a later turn of the event loop.
#[derive(Clone)]
pub struct Deferred {
    /// None once the promise is settled.
    handle: Rc<Cell<Option<Bound<sys::napi_deferred>>>>,
}

impl Deferred {
    /// Creates a promise and its [`Deferred`].
    pub fn promise(js: JsEnv<'_>) -> Result<(Self, JsVal<'_>)> {
        let (mut deferred, mut promise) = (null_mut(), null_mut());
        // SAFETY: the engine writes its new values to both.
        let status = unsafe { sys::napi_create_promise(js.raw(), &mut deferred, &mut promise) };
        js.check(status, "creating a promise")?;
        Ok((Self { handle: Rc::new(Cell::new(Some(Bound::new(js, deferred)))) }, js.made(promise)?))
    }

    /// Whether the promise is settled.
    pub fn is_settled(&self) -> bool {
        self.handle.get().is_none()
    }

    /// Resolves the promise, or rejects it. Does nothing if it is settled.
    pub fn settle(&self, js: JsEnv<'_>, value: JsVal<'_>, resolves: bool) -> Result<()> {
        let Some(deferred) = self.handle.get() else { return Ok(()) };
        let settler = deferred.within(js)?;
        self.handle.set(None);
        let settle = if resolves { sys::napi_resolve_deferred } else { sys::napi_reject_deferred };
        // SAFETY: the promise is this environment's, and was not settled before; the handle of the value is good.
        let settled = js.check(unsafe { settle(js.raw(), settler, value.raw()) }, "settling a promise");
        if settled.as_ref().is_err_and(|error| error.status == Status::PendingException) {
            // Nothing was settled, so a later call can settle it.
            self.handle.set(Some(deferred));
        }
        settled
    }
}
