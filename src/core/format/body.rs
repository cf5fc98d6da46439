//! Bodies: the large values of an entry that are read when somebody asks for them, and not before.
//!
//! The index keeps where each stands in its line. Everything else of the entry is read without them.

use crate::core::json::reader::Raw;

/// From how many bytes of JSON text on a value is a body.
pub const LARGE: usize = 512;

/// Which value of its entry a body is. The codes are those of `src/js/lazy.js`.
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

    /// How messages name it.
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

/// Where a body stands in its line, in bytes from the line's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    pub of: BodyOf,
    pub from: u32,
    pub len: u32,
}

impl Body {
    /// Where it ends.
    pub fn end(&self) -> u32 {
        self.from.saturating_add(self.len)
    }

    /// The body that a value of a line is; None for what is not there or not of `least` bytes.
    pub fn of(of: BodyOf, line: &str, value: Option<Raw<'_>>, least: usize) -> Option<Self> {
        let text = value?.get();
        if text.len() < least {
            return None;
        }
        // A raw value is a part of its line.
        let from = (text.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
        Some(Self { of, from: u32::try_from(from).ok()?, len: u32::try_from(text.len()).ok()? })
    }
}
