//! Full-text search over all sessions, in their files.

pub mod candidate_lines;
pub mod long_line;
pub mod matcher;
pub mod prefilter;
pub mod query;
pub mod run;
pub mod scope;
pub mod session_search;
pub mod snippet;
