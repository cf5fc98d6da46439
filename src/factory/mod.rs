//! The scripts that the addon compiles once, the calls into them, and the process's clock, directories and environment.

mod call;
mod codes;
mod functions;
pub mod process;

pub use call::{call, function, install, scratch, uninstall};
pub use codes::STRING_PLACEHOLDER;
pub use functions::FactoryFn;
