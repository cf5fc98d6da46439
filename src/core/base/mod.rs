pub mod error;
pub mod options;
pub mod paths;
pub mod string_buffer;
pub mod threads;
pub mod time;
pub mod unparsed_dates;
pub mod wtf8;
