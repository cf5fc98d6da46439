//! What the index reads of a message: its role, and whether it has content.
//!
//! That is a view, never the stored form. What is stored is the line's bytes; what JavaScript gets is parsed from those bytes
//! or is the object that the caller gave. Unknown fields, the order of keys, number texts such as `1.50` and repeated keys therefore
//! survive. A lone surrogate (`"\ud83d"`, left where a tool's output was cut) cannot be in a Rust string: a text that is decoded
//! becomes WTF-8 bytes, see [`wtf8`](crate::base::wtf8), and a lone surrogate in them is written as an escape again.

use super::agent_message::Role;
use crate::base::memory::OutOfMemory;
use crate::json::reader::{FromJson, Raw};
use crate::json::scanner::{ScanResult, Scanner};
use crate::json::{fields, Value};

fields! {
    /// The fields of a message that the core reads from a line.
    #[doc(hidden)]
    pub(crate) struct MessageFields<V> {
        /// The name of its [`Role`].
        role: V = "role",
        /// A string or an array of content blocks.
        content: V = "content",
        /// What a tool adds to its result for the one who shows it.
        details: V = "details",
    }
}

/// The value of an entry's `message` field: a message if it is an object. A list is one without fields.
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

/// What the index keeps of a message.
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
mod tests {
    use super::*;
    use crate::json::reader::read;

    fn read_text(text: &str) -> MessageFields<Raw<'_>> {
        read(text).expect("a message")
    }

    #[test]
    fn heads_tell_role_and_content() {
        let head = |text: &str| read_text(text).head().expect("memory");
        assert_eq!(
            head(r#"{"role":"toolResult","content":[]}"#),
            MessageHead { role: Role::ToolResult, lacks_content: false }
        );
        assert_eq!(head(r#"{"role":7}"#), MessageHead { role: Role::Other, lacks_content: true });
        assert_eq!(
            head(r#"{"content":null,"role":"\u0075ser"}"#),
            MessageHead { role: Role::User, lacks_content: true }
        );
    }
}
