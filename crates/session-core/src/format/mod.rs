//! The content of a line of a session file: header, entry, message, body. Unknown fields are kept. `kinds.rs` is the
//! table of kinds and roles.

pub mod agent_message;
pub(crate) mod body;
pub(crate) mod entry;
pub(crate) mod header;
pub(crate) mod ids;
pub(crate) mod kind_facts;
pub(crate) mod kinds;
pub(crate) mod message_head;
pub mod message_parts;
pub(crate) mod other_format;
pub(crate) mod serialize;
pub mod session_entry;
