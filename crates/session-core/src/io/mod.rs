//! All calls to the file system, and helpers that need only those calls.

pub(crate) mod dirs;
pub(crate) mod file_fingerprint;
pub(crate) mod fs;
pub(crate) mod head_tail_hash;
pub(crate) mod open;
pub(crate) mod owner;
pub(crate) mod session_files;
pub(crate) mod sidecar_names;
pub(crate) mod temporary;
