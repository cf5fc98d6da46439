//! Promises that are settled later.

use std::cell::Cell;
use std::ptr::null_mut;
use std::rc::Rc;

use napi::{sys, Result, Status};

use super::env::{Bound, JsEnv, JsVal};
use super::node_api::{methods, Argument};

/// A promise's handle that belongs to the environment it is used in, and was not used before.
struct Settler(sys::napi_deferred);

impl Argument for Settler {
    type Raw = sys::napi_deferred;
    fn raw(&self) -> sys::napi_deferred {
        self.0
    }
}

// Only `Deferred::settle` makes a `Settler`, once for each promise.
methods! {
    fn resolve(deferred: Settler, value: JsVal<'_>) = napi_resolve_deferred, "settling a promise";
    fn reject(deferred: Settler, value: JsVal<'_>) = napi_reject_deferred, "settling a promise";
}

/// The handle that settles a promise. Copies settle the same promise, which is settled once.
//
// napi-rs's own `JsDeferred` settles through a thread-safe function: after progress calls that are still queued, and in a
// later turn of the event loop.
#[derive(Clone)]
pub struct Deferred {
    /// None once the promise is settled.
    handle: Rc<Cell<Option<Bound<sys::napi_deferred>>>>,
}

impl Deferred {
    /// A promise and the handle that settles it.
    pub fn promise(js: JsEnv<'_>) -> Result<(Self, JsVal<'_>)> {
        let (mut deferred, mut promise) = (null_mut(), null_mut());
        // SAFETY: both receive what the engine makes.
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
        let settler = Settler(deferred.within(js)?);
        self.handle.set(None);
        let settle = if resolves { JsEnv::resolve } else { JsEnv::reject };
        let settled = settle(js, settler, value);
        if settled.as_ref().is_err_and(|error| error.status == Status::PendingException) {
            // Nothing was settled: a later call can.
            self.handle.set(Some(deferred));
        }
        settled
    }
}
