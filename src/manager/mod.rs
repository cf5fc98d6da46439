//! One manager: its session, the objects of its entries, and the calls that change either.

pub mod append;
pub mod bodies;
pub mod branching;
pub mod config;
pub mod context_messages;
pub mod file_check;
pub mod from_objects;
pub mod gc;
pub mod identity_cache;
pub mod materialize;
pub mod message;
pub mod object_lines;
pub mod open;
pub mod outline;
pub mod parse_batch;
pub mod reads;
pub mod session_dir;
pub mod state;
pub mod system_message;
pub mod usage;
