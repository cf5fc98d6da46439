//! Full-text search over the texts of all sessions.

pub mod files;
pub mod hits;
pub mod index_lookup;
pub mod query;
pub mod ranking;
pub mod run;
pub mod snippet;
