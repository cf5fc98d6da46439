//! Values without I/O: errors, options, enums with names, paths, text and times as JavaScript has them, threads.

pub mod error;
pub(crate) mod escape_sequences;
pub(crate) mod fold;
#[doc(hidden)]
pub mod memory;
pub(crate) mod named;
pub mod options;
pub(crate) mod packed;
pub(crate) mod path_syntax;
pub mod paths;
#[doc(hidden)]
pub mod threads;
pub mod time;
pub mod wtf8;
