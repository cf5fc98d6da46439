//! The lines of one session: a trait, implemented for files and for memory.
//!
//! Invariants: a line is at the position that `append` returned; a failed `append` does not change the lines before;
//! reads change nothing.

pub(crate) mod end_mark;
pub(crate) mod file;
pub(crate) mod memory;
pub(crate) mod new_file;
pub(crate) mod path_check;
pub(crate) mod storage;
pub(crate) mod write_lock;
