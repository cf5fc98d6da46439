//! The calls into the JavaScript engine. All `unsafe` of the boundary is in this room.

mod env;
mod external_memory;
mod kinds;
mod long;
mod queue;
mod scratch;
mod strings;

pub use env::{returned, EnvId, JsEnv, JsVal, Persistent};
pub use external_memory::ExternalMemory;
pub use queue::{queue, Sender, WeakSender};
pub use scratch::Scratch;
