//! Where the lines of a session are kept: one trait, its file engine and one for lines that have no file.
//!
//! Invariants: what `append` returned stands at its place; a failed `append` leaves what was there; reads never
//! change anything.

pub mod change_clock;
pub mod file;
pub mod memory;
pub mod new_file;
pub mod storage;
pub mod write_lock;
