//! Search over the texts of all sessions.

pub mod ask;
pub mod build;
pub mod clean;
pub mod files;
pub mod hits;
pub mod index;
pub mod judge;
pub mod query;
pub mod run;
pub mod snippet;
pub mod turns;
pub mod vocabulary;
pub mod words;
