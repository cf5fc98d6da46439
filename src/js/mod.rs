//! The boundary: what JavaScript sees of the engine. One file per exported thing; argument in, core call, value out.
//!
//! Invariants: nothing here decides what a session is or does; no state is borrowed while the caller's code may run;
//! no panic reaches the engine.

// The class and the functions are registered with the engine at load time; test builds register nothing.
#![cfg_attr(test, allow(dead_code, unused_imports))]

mod adopt;
mod append;
mod appends;
mod args;
mod bodies;
mod branching;
mod cache;
mod diagnostics;
mod entries;
mod errors;
mod functions;
mod help;
mod host;
mod identity;
mod info;
mod kinds;
mod listing;
mod long;
mod manager;
mod message;
mod object;
mod prompt;
mod queue;
mod raw;
mod reads;
mod search;
mod slots;
mod state;
mod statics;
mod strings;
mod stroke;
mod task;
mod texts;
mod unheld;
mod values;

use napi::bindgen_prelude::*;
use napi_derive::napi;

#[napi(module_exports)]
fn initialise(exports: Object, env: Env) -> Result<()> {
    host::install(&env)?;
    let js = raw::Js::new(&env);
    let class = js.get(exports.raw(), c"SessionManager")?;
    host::make(js, host::F::ThroughProxies, &[js.get(class, c"prototype")?]).map(drop)
}
