//! Where the lines of a session are stored: one trait, implemented for files and for memory.
//!
//! Invariants: a line is where `append` said; a failed `append` leaves what was there; reads never change anything.

pub mod file;
pub mod memory;
pub mod new_file;
pub mod path_check;
pub mod storage;
pub mod write_lock;
