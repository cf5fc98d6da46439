//! The scripts that the addon compiles once, the calls into them, and the host's clock and environment.

mod call;
mod codes;
mod functions;
pub mod host;

pub use call::{call, function, install, scratch, uninstall};
pub use functions::FactoryFn;
