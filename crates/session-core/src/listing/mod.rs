//! Reads many session files: lists them, adds up their usage, and finds one among many. The promises of these calls are
//! in the boundary's room `lists`.

pub(crate) mod candidates;
pub(crate) mod configured_dir;
pub(crate) mod find_session;
#[cfg(feature = "lists")]
pub(crate) mod list;
#[cfg(feature = "lists")]
pub(crate) mod newest_first;
#[cfg(feature = "lists")]
pub(crate) mod read_all;
pub(crate) mod scope;
pub(crate) mod subagents;
#[cfg(feature = "lists")]
pub(crate) mod usage;
