//! Functions of Rust for JavaScript to call.

use napi::bindgen_prelude::FunctionCallContext;
use napi::{sys, JsValue as _, Result};

use super::env::{JsEnv, JsVal};

impl<'env> JsEnv<'env> {
    /// A function that calls `work` with its arguments. An error is thrown, and so is a panic, which napi-rs catches.
    pub fn function<F>(self, name: &str, work: F) -> Result<JsVal<'env>>
    where
        F: for<'call> Fn(JsEnv<'call>, &[JsVal<'call>]) -> Result<JsVal<'call>> + 'static,
    {
        let callback = move |context: FunctionCallContext<'_>| -> Result<sys::napi_value> {
            let args = context.arguments::<JsVal>()?;
            work(JsEnv::new(context.env), &args).map(JsVal::raw)
        };
        self.made(self.env().create_function_from_closure::<(), sys::napi_value, _>(name, callback)?.raw())
    }
}
