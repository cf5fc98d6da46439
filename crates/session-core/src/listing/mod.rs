//! Lists of sessions, and finding one among many.

pub(crate) mod candidates;
pub mod configured_dir;
pub mod find_session;
#[cfg(feature = "catalog")]
pub mod list;
pub(crate) mod locale_sort;
#[cfg(feature = "catalog")]
pub(crate) mod read_all;
pub mod scope;
pub(crate) mod subagents;
#[cfg(feature = "catalog")]
pub mod usage;
