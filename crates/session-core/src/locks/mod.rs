//! Locks by files beside the files that they protect. Removes lock files and temporary files of dead processes.

pub(crate) mod file_mutex;
pub(crate) mod held_lock_files;
pub(crate) mod lock_file;
pub(crate) mod session_lock;
pub(crate) mod sweep;
