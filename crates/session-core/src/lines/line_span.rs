//! The position of a line in its file.

/// The position of a line in a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSpan {
    pub offset: u64,
    pub len: u32,
}

impl LineSpan {
    /// The span of a line. Caps the length at 4 GiB, because longer lines are neither read nor written.
    pub fn of(offset: u64, len: usize) -> Self {
        Self { offset, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }

    /// The position after the line's last byte, before its newline.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}
