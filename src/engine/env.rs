//! The JavaScript engine during a call into the addon, and handles to its values.
//!
//! The lifetime of a [`JsVal`] is the handle scope in which it was created. A handle that outlives its scope does not
//! compile:
//!
//! ```compile_fail
//! use pi_session_native::engine::{JsEnv, JsVal};
//! fn escapes<'env>(js: JsEnv<'env>) -> napi::Result<JsVal<'env>> {
//!     js.scoped(|inner, _| inner.object())
//! }
//! ```
//!
//! A handle of the outer scope compiles:
//!
//! ```
//! use pi_session_native::engine::{JsEnv, JsVal};
//! fn stays<'env>(js: JsEnv<'env>) -> napi::Result<JsVal<'env>> {
//!     let object = js.object()?;
//!     js.scoped(|inner, _| inner.set(object, c"key", inner.null()?))?;
//!     Ok(object)
//! }
//! ```
//!
//! A handle cannot be kept for a later call:
//!
//! ```compile_fail
//! use pi_session_native::engine::JsVal;
//! thread_local! {
//!     static KEPT: std::cell::Cell<Option<JsVal<'static>>> = const { std::cell::Cell::new(None) };
//! }
//! fn keep(value: JsVal<'_>) {
//!     KEPT.set(Some(value));
//! }
//! ```

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue};
use napi::{sys, Env, Error, JsValue, Result, Status};

thread_local! {
    /// How many scopes of [`JsEnv::scoped`] are open on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The environments of this thread that have not ended.
    static OPEN: RefCell<Vec<EnvId>> = const { RefCell::new(Vec::new()) };
}

/// The JavaScript engine within one handle scope. Cheap to copy.
#[derive(Clone, Copy)]
pub struct JsEnv<'env> {
    env: sys::napi_env,
    depth: u32,
    scope: PhantomData<&'env ()>,
}

/// A handle to a JavaScript value.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct JsVal<'env> {
    value: sys::napi_value,
    scope: PhantomData<&'env ()>,
}

/// The id of an environment. It may be reused when its environment has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvId(usize);

/// A value that belongs to one environment. It is never returned in another environment of the process, because the
/// same handle may be another value there.
///
/// ```
/// use pi_session_native::engine::{Bound, JsEnv};
/// let [one, other] = [1, 2].map(|at| napi::Env::from_raw(at as *mut _));
/// let kept = Bound::new(JsEnv::new(&one), "handle");
/// assert_eq!(kept.within(JsEnv::new(&one)).ok(), Some("handle"));
/// let refused = kept.within(JsEnv::new(&other)).map_err(|error| error.reason);
/// assert_eq!(refused, Err("A handle belongs to another environment".into()));
/// ```
#[derive(Clone, Copy)]
pub struct Bound<T> {
    value: T,
    env: EnvId,
}

impl<T: Copy> Bound<T> {
    /// Binds it to the environment of the current call.
    pub fn new(js: JsEnv<'_>, value: T) -> Self {
        Self { value, env: js.id() }
    }

    /// The value, if the current call is in its environment.
    pub fn within(self, js: JsEnv<'_>) -> Result<T> {
        if self.env == js.id() {
            Ok(self.value)
        } else {
            Err(Error::from_reason("A handle belongs to another environment"))
        }
    }

    /// The environment and the value; None if the environment has ended.
    pub(super) fn open(&self) -> Option<(sys::napi_env, T)> {
        let is_open = OPEN.try_with(|open| open.borrow().contains(&self.env)).unwrap_or(false);
        is_open.then_some((self.env.0 as sys::napi_env, self.value))
    }
}

impl EnvId {
    /// Records that the environment ends. The engine releases everything that is kept in it.
    pub fn end(self) {
        OPEN.with(|open| open.borrow_mut().retain(|env| *env != self));
    }
}

/// Proof that an inner scope is within an outer one, so that outer handles may be used as inner ones.
pub type Within<'inner, 'outer> = PhantomData<&'inner &'outer ()>;

impl<'env> JsEnv<'env> {
    /// The engine that made the current call, whose environment is `env`.
    pub fn new(env: &'env Env) -> Self {
        Self { env: env.raw(), depth: DEPTH.get(), scope: PhantomData }
    }

    /// Records that the environment has begun. Call it once, and [`EnvId::end`] when the environment ends.
    pub fn begin(self) {
        OPEN.with(|open| open.borrow_mut().push(self.id()));
    }

    /// Which environment this is.
    pub fn id(self) -> EnvId {
        EnvId(self.env as usize)
    }

    pub(super) fn raw(self) -> sys::napi_env {
        self.env
    }

    pub(super) fn env(self) -> Env {
        Env::from_raw(self.env)
    }

    /// The handle of a value that the engine has just created. Fails unless this is the innermost scope: the engine
    /// creates handles only there, so a handle for an outer scope would be released before that scope ends.
    pub(super) fn made(self, value: sys::napi_value) -> Result<JsVal<'env>> {
        if self.depth == DEPTH.get() {
            Ok(JsVal { value, scope: PhantomData })
        } else {
            Err(Error::from_reason("A handle was requested for an outer scope"))
        }
    }

    pub(super) fn check(self, status: sys::napi_status, what: &str) -> Result<()> {
        match status {
            sys::Status::napi_ok => Ok(()),
            // The exception stays pending in the engine, so that the JavaScript caller sees it.
            sys::Status::napi_pending_exception => Err(pending()),
            status => Err(Error::new(Status::from(status), format!("{what} failed"))),
        }
    }

    /// Runs work in a new handle scope, whose handles are released at its end. For loops that create many handles.
    pub fn scoped<T>(
        self,
        work: impl for<'inner> FnOnce(JsEnv<'inner>, Within<'inner, 'env>) -> Result<T>,
    ) -> Result<T> {
        let mut scope = std::ptr::null_mut();
        // SAFETY: the guard closes the scope when the work ends or panics.
        self.check(unsafe { sys::napi_open_handle_scope(self.env, &mut scope) }, "scope")?;
        let _open = OpenScope { env: self.env, scope };
        DEPTH.set(DEPTH.get() + 1);
        work(JsEnv { env: self.env, depth: DEPTH.get(), scope: PhantomData }, PhantomData)
    }
}

struct OpenScope {
    env: sys::napi_env,
    scope: sys::napi_handle_scope,
}

impl Drop for OpenScope {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        // SAFETY: `scoped` opened the scope, and it is the innermost one, because those within it are closed.
        unsafe { sys::napi_close_handle_scope(self.env, self.scope) };
    }
}

impl<'env> JsVal<'env> {
    /// The handle of a value that has a type in napi-rs.
    pub fn of(value: &impl JsValue<'env>) -> Self {
        Self { value: value.raw(), scope: PhantomData }
    }

    pub(super) fn raw(self) -> sys::napi_value {
        self.value
    }

    /// The value as a type of napi-rs. Fails for values of other types.
    pub(super) fn typed<T: FromNapiValue>(self, js: JsEnv<'env>) -> Result<T> {
        // SAFETY: the handle is valid.
        unsafe { T::from_napi_value(js.env, self.value) }
    }
}

// An exported function must declare the lifetime of its `env` for the handles that it takes and returns, because the
// compiler accepts any lifetime here, even `'static`.
impl FromNapiValue for JsVal<'_> {
    // SAFETY: napi-rs passes a handle of the current call, whose scope is the lifetime of `JsVal`; nothing is read
    // through it here.
    unsafe fn from_napi_value(_: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        Ok(Self { value, scope: PhantomData })
    }
}

impl ToNapiValue for JsVal<'_> {
    // SAFETY: the handle is valid, because `JsVal` cannot outlive its scope. It is returned unchanged.
    unsafe fn to_napi_value(_: sys::napi_env, value: Self) -> Result<sys::napi_value> {
        Ok(value.value)
    }
}

/// The error that represents an exception that is pending in the engine.
pub(super) fn pending() -> Error {
    Error::new(Status::PendingException, "")
}
