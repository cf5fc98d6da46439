//! Where the lines of a session are stored: one trait, implemented for files and for memory.
//!
//! Invariants: a line is where `append` said; a failed `append` leaves what was there; reads never change anything.

pub(crate) mod end_mark;
pub(crate) mod file;
pub(crate) mod memory;
pub(crate) mod new_file;
pub(crate) mod path_check;
pub(crate) mod storage;
pub(crate) mod write_lock;
