//! The torn tail: a last line that lacks its newline. Another process may be writing it at this moment, or a power cut
//! may have left it. It is never cut off:
//! - If it is not JSON, or white space, it is not indexed. It is read again when the file has grown.
//! - If it is a whole entry, it is indexed. Bytes that are appended later are the rest of that line.
//! - Before its first append the storage ends the line with a newline ([`crate::core::storage::file`]): an incomplete line
//!   becomes a damaged line, and our line does not continue it.

use super::parallel_scan::{IndexedLine, LineKind};
use crate::core::format::entry::Damage;

/// How far a storage was indexed.
#[derive(Debug, Default)]
pub struct IndexedEnd {
    /// The start of the first line that was not indexed for good.
    pub offset: u64,
    /// Whether `offset` is within a line, whose start was indexed as a whole line.
    pub mid_line: bool,
}

impl IndexedEnd {
    /// Moves to the end of a line. Returns how many lines it counts as: 0 for a torn line, and for the rest of one that was
    /// indexed before it had its newline.
    pub fn advance(&mut self, line: &IndexedLine) -> u64 {
        let may_be_torn = matches!(line.kind, LineKind::Nothing | LineKind::Damaged(Damage::NotJson | Damage::TooLong));
        if !line.ended && may_be_torn {
            return 0;
        }
        let is_rest = self.mid_line && line.kind == LineKind::Nothing;
        self.set(line.offset + line.len + u64::from(line.ended), !line.ended);
        line.lines - u64::from(is_rest)
    }

    /// Moves to an offset.
    pub fn set(&mut self, offset: u64, mid_line: bool) {
        *self = Self { offset, mid_line };
    }
}
