//! Every call to the file system, and what needs nothing but those calls.

pub(crate) mod dirs;
pub(crate) mod file_fingerprint;
pub mod file_mutex;
pub(crate) mod file_window;
pub(crate) mod fs;
pub(crate) mod head_tail_hash;
pub mod held_lock_files;
pub(crate) mod line_reader;
pub(crate) mod line_span;
pub mod lock_file;
pub(crate) mod open;
pub(crate) mod owner;
pub(crate) mod session_files;
pub(crate) mod sidecar_names;
pub(crate) mod sweep;
pub(crate) mod temporary;
