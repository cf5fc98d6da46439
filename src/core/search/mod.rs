//! Full-text search over the texts of all sessions.

pub mod file_search;
pub mod hits;
pub mod index_lookup;
pub mod query;
pub mod ranking;
pub mod run;
pub mod snippet;
