//! Where a line stands in its file.

/// A place in the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSpan {
    pub offset: u64,
    pub len: u32,
}

impl LineSpan {
    /// The place of a line's bytes. No line is read, or written, that has 4 GiB; what is longer is capped here.
    pub fn of(offset: u64, len: usize) -> Self {
        Self { offset, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }

    /// Where the line's bytes end, its newline not counted.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}
