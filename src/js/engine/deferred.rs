//! Promises that are settled later.

use std::cell::Cell;
use std::ptr::null_mut;
use std::rc::Rc;

use napi::{sys, Error, Result};

use super::env::{EnvId, JsEnv, JsVal};

/// The handle that settles a promise. Copies settle the same promise, which is settled once.
//
// napi-rs's own `JsDeferred` settles through a thread-safe function: after progress calls that are still queued, and in a
// later turn of the event loop.
#[derive(Clone)]
pub struct Deferred {
    /// None once the promise is settled.
    handle: Rc<Cell<Option<sys::napi_deferred>>>,
    env: EnvId,
}

impl Deferred {
    /// A promise and the handle that settles it.
    pub fn promise(js: JsEnv<'_>) -> Result<(Self, JsVal<'_>)> {
        let (mut deferred, mut promise) = (null_mut(), null_mut());
        // SAFETY: both receive what the engine makes.
        let status = unsafe { sys::napi_create_promise(js.raw(), &mut deferred, &mut promise) };
        js.check(status, "creating a promise")?;
        Ok((Self { handle: Rc::new(Cell::new(Some(deferred))), env: js.id() }, js.made(promise)?))
    }

    /// Whether the promise is settled.
    pub fn is_settled(&self) -> bool {
        self.handle.get().is_none()
    }

    /// Resolves the promise, or rejects it. Does nothing if it is settled.
    pub fn settle(&self, js: JsEnv<'_>, value: JsVal<'_>, resolves: bool) -> Result<()> {
        if self.env != js.id() {
            return Err(Error::from_reason("A promise belongs to another environment"));
        }
        let Some(deferred) = self.handle.take() else { return Ok(()) };
        let settle = if resolves { sys::napi_resolve_deferred } else { sys::napi_reject_deferred };
        // SAFETY: it is of this environment, and taken out above: each is settled once.
        let status = unsafe { settle(js.raw(), deferred, value.raw()) };
        if status == sys::Status::napi_pending_exception {
            // Nothing was settled: a later call can.
            self.handle.set(Some(deferred));
        }
        js.check(status, "settling a promise")
    }
}
