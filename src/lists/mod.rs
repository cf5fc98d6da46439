//! The promises of `list`, `listAll`, `readTexts`, `search` and `usage`, which other threads settle without blocking
//! the event loop. The work itself is in the core's rooms `listing` and `search`.

pub mod info;
pub mod lazy_text;
pub mod list;
pub mod search;
pub mod task;
pub mod usage;
