//! Which appended messages need their JSON text. The boundary asks, and makes no text that is not written.

use super::session::Session;

/// Whether an append needs a message's JSON text, before its role is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TextNeed {
    /// The session has no file.
    Never = 0,
    Always = 1,
    /// If the message is conversation, which makes the session's file.
    OfConversation = 2,
}

impl TextNeed {
    /// What the next append to a session needs.
    pub fn by(session: &Session) -> Self {
        match (session.writes_lines(), session.is_persisted()) {
            (true, _) => Self::Always,
            (false, true) if session.tree().has_conversation() => Self::Always,
            (false, true) => Self::OfConversation,
            (false, false) => Self::Never,
        }
    }
}
