//! Values without I/O: errors, options, enums with names, file paths, text and times as in JavaScript, threads.

pub(crate) mod error;
pub(crate) mod escape_sequences;
pub(crate) mod fold;
pub(crate) mod memory;
pub(crate) mod named;
pub(crate) mod options;
pub(crate) mod packed;
pub(crate) mod path_syntax;
pub(crate) mod paths;
pub(crate) mod threads;
pub(crate) mod time;
pub(crate) mod utf16;
pub(crate) mod wtf8;
