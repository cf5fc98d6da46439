//! Lists of sessions, and finding one among many.

pub mod candidates;
pub mod configured_dir;
pub mod find_session;
pub mod list;
pub mod locale_sort;
pub mod read_all;
pub mod usage;
