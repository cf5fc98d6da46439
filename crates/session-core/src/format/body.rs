//! Bodies: the large values of an entry, which are read at their first use.
//!
//! For an entry, the index finds the span of each body in its line. The rest of the line is read without them.

use crate::json::reader::Raw;

/// The smallest size of a body, in bytes of JSON text.
pub(crate) const LARGE_BODY: usize = 512;

/// The value of its entry that a body is. The boundary uses these codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BodyOf {
    /// `message.content`
    MessageContent = 1,
    /// `message.details`
    MessageDetails = 2,
    /// `content` of a custom message.
    Content = 4,
    /// `details`
    Details = 8,
    /// `data` of a custom entry.
    Data = 16,
}

impl BodyOf {
    /// The body with a code.
    pub fn from_code(code: u8) -> Option<Self> {
        let all = [Self::MessageContent, Self::MessageDetails, Self::Content, Self::Details, Self::Data];
        all.into_iter().find(|of| *of as u8 == code)
    }

    /// The name in error messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::MessageContent => "message.content",
            Self::MessageDetails => "message.details",
            Self::Content => "content",
            Self::Details => "details",
            Self::Data => "data",
        }
    }
}

/// The span of a body, in bytes from the start of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Body {
    pub of: BodyOf,
    pub from: u32,
    pub len: u32,
}

impl Body {
    /// The end of the span.
    pub(crate) fn end(&self) -> u32 {
        self.from.saturating_add(self.len)
    }

    /// The body for a value of a line; None if the value is missing or shorter than `least` bytes.
    pub(crate) fn of(of: BodyOf, line: &str, value: Option<Raw<'_>>, least: usize) -> Option<Self> {
        let text = value?.get();
        if text.len() < least {
            return None;
        }
        // A raw value borrows from its line, so the difference of the addresses is its position.
        let from = (text.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
        Some(Self { of, from: u32::try_from(from).ok()?, len: u32::try_from(text.len()).ok()? })
    }
}
