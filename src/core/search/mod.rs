//! Search over the texts of all sessions.

pub mod index;
pub mod query;
pub mod run;
pub mod snippet;
pub mod words;
