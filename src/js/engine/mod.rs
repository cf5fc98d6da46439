pub mod kinds;
pub mod long;
pub mod queue;
pub mod raw;
pub mod slots;
pub mod strings;
