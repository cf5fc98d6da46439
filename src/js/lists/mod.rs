pub mod info;
pub mod lazy_text;
pub mod listing;
pub mod search;
pub mod task;
pub mod usage;
