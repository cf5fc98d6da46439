//! From a file to the tree and back: reading every line once, and entries' lines when they are asked for.

pub mod copy;
pub mod damage_report;
pub mod entry_lines;
pub mod index;
pub mod load;
pub mod parallel_scan;
pub mod read_entries;
pub mod torn_line;
pub mod verify;
