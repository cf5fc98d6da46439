//! Every call to the file system, and what needs nothing but those calls.

pub mod dirs;
pub mod file_fingerprint;
pub mod file_window;
pub mod fs;
pub mod head_tail_hash;
pub mod held_lock;
pub mod line_reader;
pub mod line_span;
pub mod lock_file;
pub mod locked_file;
pub mod open;
pub mod owner;
pub mod session_files;
pub mod sidecar_names;
pub mod sweep;
pub mod temporary;
