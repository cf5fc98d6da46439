//! The torn tail: a last line that lacks its newline. Another process may be writing it at this moment, or a power cut
//! may have left it. Nothing that is found at opening is cut off:
//! - One that is no JSON, or white space, is not indexed: it is read again when there is more of the file.
//! - One that is a whole entry is indexed. What follows it then is the rest of that line.
//! - Before its first append the storage ends the line with a newline ([`crate::core::storage::file`]): a torn one
//!   becomes a damaged line, and no line of ours continues it.

use super::parallel_scan::{IndexedLine, LineKind};
use crate::core::format::entry::Damage;

/// How far a storage was indexed.
#[derive(Debug, Default)]
pub struct IndexedEnd {
    /// Where the next line starts that was not indexed for good.
    pub offset: u64,
    /// Whether that is inside of a line, whose start was indexed as a whole one.
    pub mid_line: bool,
}

impl IndexedEnd {
    /// Moves behind a line, and tells how many lines it counts as: 0 for a torn one, and for the end of one that was
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
