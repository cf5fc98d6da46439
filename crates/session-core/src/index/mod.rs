//! Reads a session file into its tree, once, and later the lines of entries when they are requested.

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
