//! An unterminated line is a last line without its newline. It is torn if it is not JSON either
//! ([`RawLine::is_torn`](crate::lines::line_reader::RawLine::is_torn)). Another process may be writing it at this
//! moment, or a power failure may have left it. It is never cut off.
//!
//! This file decides whether the line is indexed:
//! - A torn line is not indexed. It is read again when the file has grown.
//! - Any other unterminated line is indexed. Bytes that are appended later are the rest of that line.
//!
//! Other files handle it in other situations:
//! - `storage/file.rs`: the first append ends the line with a newline. A torn line becomes a damaged line.
//! - `session/append.rs`: an append that continued another writer's unterminated line is rolled back and written again.
//! - `session/reconcile/refresh.rs`: the other writer may roll the line back.
//! - `rewrite/replace.rs`: a replacement starts over if a torn line is continued in the meantime.
//! - `summary/session_summary.rs`: list rows count an unterminated line, and read it again.

use super::parallel_scan::{IndexedLine, LineKind};

/// How far a storage was indexed.
#[derive(Debug, Default)]
pub(crate) struct IndexedEnd {
    /// The start of the first line that is not finally indexed.
    pub offset: u64,
    /// Whether the line before `offset` is indexed and unterminated.
    pub after_unterminated_line: bool,
}

impl IndexedEnd {
    /// Moves to the end of a line. Returns how many lines it counts as: 0 for a torn line, and for the rest of an
    /// unterminated one.
    pub(crate) fn advance<T>(&mut self, line: &IndexedLine<T>) -> u64 {
        if line.is_torn {
            return 0;
        }
        let is_rest = self.after_unterminated_line && matches!(line.kind, LineKind::Nothing);
        self.set(line.offset + line.len + u64::from(line.is_terminated), !line.is_terminated);
        line.lines - u64::from(is_rest)
    }

    /// Moves to an offset.
    pub(crate) fn set(&mut self, offset: u64, after_unterminated_line: bool) {
        *self = Self { offset, after_unterminated_line };
    }
}
