pub mod at_exit;
pub mod fd_limit;
pub mod file_version;
pub mod fs;
pub mod line_reader;
pub mod lock_file;
pub mod sidecar_names;
pub mod temporary;
