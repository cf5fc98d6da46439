pub mod header_scan;
pub mod line_scanner;
pub mod searchable_text;
pub mod session_summary;
pub mod usage;
