//! The boundary: what JavaScript sees of the engine. One file per exported thing; argument in, core call, value out.
//!
//! Invariants: nothing here decides what a session is or does; no state is borrowed while the caller's code may run;
//! no panic reaches the engine.

// The class and the functions are registered with the engine at load time; test builds register nothing.
#![cfg_attr(test, allow(dead_code, unused_imports))]

mod api;
mod convert;
mod engine;
mod factory;
mod lists;
mod manager;

use napi::bindgen_prelude::*;
use napi_derive::napi;

#[napi(module_exports)]
fn initialise(exports: Object, env: Env) -> Result<()> {
    factory::host::install(&env)?;
    let js = engine::raw::Js::new(&env);
    let class = js.get(exports.raw(), c"SessionManager")?;
    factory::host::make(js, factory::host::F::ThroughProxies, &[js.get(class, c"prototype")?]).map(drop)
}
