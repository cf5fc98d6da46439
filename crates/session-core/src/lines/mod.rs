//! The lines of a file: where each is, and reading them one after the other.

pub(crate) mod file_window;
pub(crate) mod line_reader;
pub(crate) mod line_span;
