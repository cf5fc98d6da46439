//! Locks by files beside the ones that they protect, and the removal of lock files and temporary files that dead processes left.

pub(crate) mod file_mutex;
pub(crate) mod held_lock_files;
pub(crate) mod lock_file;
pub(crate) mod session_lock;
pub(crate) mod sweep;
