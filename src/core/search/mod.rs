//! Full-text search over all sessions, in their files.

pub(crate) mod matcher;
pub(crate) mod prefilter;
pub mod query;
pub mod run;
pub mod scope;
pub mod session_search;
pub(crate) mod snippet;
