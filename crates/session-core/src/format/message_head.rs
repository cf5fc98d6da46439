//! The part of a message that the index reads: its role, and whether it has content.
//!
//! It is never the stored form. The file stores the line's bytes, and JavaScript sees the values parsed from those
//! bytes, or the object that the caller passed. So unknown fields, the order of keys, number texts such as `1.50` and
//! repeated keys survive. Rust strings cannot contain a lone surrogate (`"\ud83d"`, left where a tool's output was
//! truncated), so decoded texts are WTF-8 bytes (see [`wtf8`](crate::base::wtf8)), and a lone surrogate is written as
//! an escape again.

use super::agent_message::Role;
use crate::base::memory::OutOfMemory;
use crate::json::reader::{FromJson, Raw};
use crate::json::scanner::{ScanResult, Scanner};
use crate::json::{fields, Value};

fields! {
    /// The fields of a message that the core reads from a line.
    #[doc(hidden)]
    pub(crate) struct MessageFields<V> {
        /// The name of a [`Role`].
        role: V = "role",
        /// A string or an array of content blocks.
        content: V = "content",
        /// Data that a tool adds to its result for the display.
        details: V = "details",
    }
}

/// The value of an entry's `message` field: a message if the value is an object or an array. An array has no fields.
pub(crate) struct EntryMessage<'a>(pub Option<MessageFields<Raw<'a>>>);

impl<'a> FromJson<'a> for EntryMessage<'a> {
    fn take(scanner: &mut Scanner<&'a str>) -> ScanResult<Self, &'a str> {
        let message = match scanner.next_token()? {
            Some(b'{') => return MessageFields::take(scanner).map(|message| Self(Some(message))),
            Some(b'[') => Some(MessageFields::default()),
            _ => None,
        };
        scanner.skip_value()?;
        Ok(Self(message))
    }
}

/// The part of a message that the index stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageHead {
    /// Its role.
    pub role: Role,
    /// Whether `content` is null or missing, as in some old and hand-edited files.
    pub lacks_content: bool,
}

impl MessageFields<Raw<'_>> {
    /// The role and whether there is content.
    pub(crate) fn head(&self) -> Result<MessageHead, OutOfMemory> {
        let name = self.role.as_ref().map_or(Ok(None), Value::text)?;
        let role = name.map_or(Role::Other, |name| Role::from_name(&name));
        Ok(MessageHead { role, lacks_content: self.content.as_ref().is_none_or(Value::is_null) })
    }
}

#[cfg(test)]
mod tests;
