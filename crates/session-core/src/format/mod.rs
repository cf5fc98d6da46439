//! What a line of a session file is: header, entry, message, body. Unknown fields are kept.

pub mod agent_message;
#[doc(hidden)]
pub mod body;
pub mod entry;
pub mod header;
pub mod ids;
pub mod message_head;
pub mod message_parts;
pub mod other_format;
#[doc(hidden)]
pub mod serialize;
pub mod session_entry;
