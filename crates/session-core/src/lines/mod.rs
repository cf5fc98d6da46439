//! The lines of a file: their positions, and reading them one after another.

pub(crate) mod file_window;
pub(crate) mod line_reader;
pub(crate) mod line_span;
