//! The calls into the JavaScript engine. All `unsafe` of the boundary is in this room.
//!
//! Invariants: no safe function takes or returns a raw pointer of the engine; a handle does not outlive its scope.

mod deferred;
mod env;
mod node_api;
mod persistent;
mod queue;
mod strings;
mod to_js;
mod typed_arrays;
mod values;

pub use deferred::Deferred;
pub use env::{Bound, EnvId, JsEnv, JsVal};
pub use persistent::Persistent;
pub use queue::{queue, Sender};
pub use to_js::{or_undefined, to_js, Wtf8};
pub use typed_arrays::Scratch;
