//! `list`, `listAll`, `readTexts`, `search` and `usage`: promises that other threads settle, without stalling the event loop.

pub mod info;
pub mod lazy_text;
pub mod list;
pub mod search;
pub mod task;
pub mod usage;
