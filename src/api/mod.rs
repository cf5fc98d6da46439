//! The exports to JavaScript: the class `SessionManager` and the functions. The rules of sessions are in the core.

pub mod about_session;
pub mod appends;
pub mod diagnostics;
pub mod directories;
pub mod files;
pub mod functions;
pub mod manager;
pub mod merge;
pub mod redact;
pub mod statics;
