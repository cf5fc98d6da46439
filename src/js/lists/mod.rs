pub mod info;
pub mod lazy_text;
pub mod list;
pub mod search;
pub mod task;
pub mod usage;
