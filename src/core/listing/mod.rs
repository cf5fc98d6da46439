//! Lists of sessions, and finding one among many.

pub mod candidates;
pub mod find_session;
pub mod list;
#[allow(clippy::module_inception)]
pub mod listing;
pub mod locale_sort;
pub mod usage;
