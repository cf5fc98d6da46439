//! Values of Rust that JavaScript holds, each in an External.

use napi::bindgen_prelude::External;
use napi::{JsExternal, JsValue as _, Result};

use super::env::{JsEnv, JsVal};

impl<'env> JsEnv<'env> {
    /// An External that holds a value until it is collected.
    pub fn external<T: 'static>(self, value: T) -> Result<JsVal<'env>> {
        self.made(External::new(value).into_js_external(&self.env())?.raw())
    }

    /// A copy of the value that an External of ours holds. An error for anything else.
    pub fn external_value<T: Clone + 'static>(self, value: JsVal<'env>) -> Result<T> {
        value.typed::<JsExternal>(self)?.get_value::<T>().map(|value| value.clone())
    }
}
