//! Functions of Rust for JavaScript to call.

use std::panic::{catch_unwind, AssertUnwindSafe};

use napi::bindgen_prelude::FunctionCallContext;
use napi::{sys, Error, JsValue as _, Result};

use super::env::{JsEnv, JsVal};

impl<'env> JsEnv<'env> {
    /// A function that calls `work` with its arguments. An error is thrown, and so is a panic.
    pub fn function<F>(self, name: &str, work: F) -> Result<JsVal<'env>>
    where
        F: for<'call> Fn(JsEnv<'call>, &[JsVal<'call>]) -> Result<JsVal<'call>> + 'static,
    {
        let callback = move |context: FunctionCallContext<'_>| -> Result<sys::napi_value> {
            let args = context.arguments::<JsVal>()?;
            let done = catch_unwind(AssertUnwindSafe(|| work(JsEnv::new(context.env), &args).map(JsVal::raw)));
            done.unwrap_or_else(|_| Err(Error::from_reason("Internal error: the addon panicked")))
        };
        self.made(self.env().create_function_from_closure::<(), sys::napi_value, _>(name, callback)?.raw())
    }
}
