pub mod agent_message;
pub mod body;
pub mod entry;
pub mod header;
pub mod ids;
pub mod serialize;
