//! One file read once for lists and searches: its list row, usage and searchable text, in bounded memory.

pub mod conversation_texts;
pub mod header_scan;
pub mod line_scanner;
pub mod listed_text;
pub mod session_summary;
pub mod usage;
