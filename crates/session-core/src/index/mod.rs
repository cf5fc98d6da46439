//! From a file to the tree and back: reading every line once, and entries' lines when they are asked for.

pub(crate) mod damage_report;
pub(crate) mod entry_lines;
pub(crate) mod index;
pub(crate) mod load;
pub(crate) mod parallel_scan;
pub(crate) mod read_entries;
pub(crate) mod salvage;
pub(crate) mod surveyed_line;
pub(crate) mod torn_line;
pub(crate) mod unpaired_calls;
pub(crate) mod verify;

pub use self::index::{DamagedLine, Index};
