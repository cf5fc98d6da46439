pub mod find_session;
pub mod listing;
pub mod locale_sort;
