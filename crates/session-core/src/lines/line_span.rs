//! Where a line is in its file.

/// Where a line is in the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSpan {
    pub offset: u64,
    pub len: u32,
}

impl LineSpan {
    /// The span of a line. Lines of 4 GiB and more are neither read nor written, so a longer length is capped.
    pub fn of(offset: u64, len: usize) -> Self {
        Self { offset, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }

    /// Where the line's bytes end, its newline not counted.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}
