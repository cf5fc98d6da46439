//! One file read once for lists: its list row, usage and the texts of its conversation, in bounded memory.

pub mod header_scan;
#[doc(hidden)]
pub mod line_scanner;
#[doc(hidden)]
pub mod listed_text;
pub mod session_summary;
pub mod usage;
