//! One pass over a file for lists: its row in a list, its usage and the texts of its conversation, in bounded memory.

pub(crate) mod header_scan;
pub(crate) mod line_scanner;
pub(crate) mod listed_text;
pub(crate) mod session_summary;
pub(crate) mod usage;
