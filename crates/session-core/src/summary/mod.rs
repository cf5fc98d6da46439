//! One file read once for lists: its list row, usage and the texts of its conversation, in bounded memory.

pub(crate) mod header_scan;
pub(crate) mod line_scanner;
pub(crate) mod listed_text;
pub(crate) mod session_summary;
pub(crate) mod usage;
