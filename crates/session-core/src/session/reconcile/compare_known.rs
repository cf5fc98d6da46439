//! Compares the index with the file: by the header and the last lines, or line by line.
//!
//! A file that grew was appended to or rewritten; its size does not show which. If the header and the last known entry
//! are at their positions, the lines between them were not moved.

use crate::base::error::{Error, Result};
use crate::format::header::{Header, Version};
use crate::index::load::load;
use crate::index::{DamagedLine, Index};
use crate::lines::line_reader::line_text;
use crate::session::Session;
use crate::storage::storage::bytes_at;
use crate::tree::{IdNo, ParentRef, RowNo};

impl Session {
    /// Whether the header and the last known entry are at their positions.
    pub(in crate::session) fn has_same_ends(&self) -> Result<bool> {
        match self.check_ends() {
            Ok(()) => Ok(true),
            Err(error) if error.as_io().is_none() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn check_ends(&self) -> Result<()> {
        let Some(storage) = self.storage.as_deref() else {
            return Ok(());
        };
        let end = self.index.indexed_end();
        if let Some(span) = self.header_span {
            let line = bytes_at(storage, span)?;
            let header = Header::read(&line_text(&line)?)?;
            if !header.is_some_and(|header| header.id == self.id && header.version == Version::Current) {
                return Err(Error::changed(storage.name(), "its header has changed"));
            }
        }
        let last = (self.tree().len() as RowNo).checked_sub(1);
        if let Some((row, span)) = last.and_then(|row| Some((row, self.index.line_span(row)?))) {
            self.index.check_line(storage, row, &bytes_at(storage, span)?)?;
        }
        // A damaged last line may be longer than memory, so only its end is checked.
        let mut newline = [b'\n'];
        if let Some(at) = end.checked_sub(1).filter(|_| !self.index.is_after_unterminated_line()) {
            storage.read_at(at, &mut newline)?;
        }
        if newline != *b"\n" {
            return Err(Error::changed(storage.name(), "its last line is no longer at its position"));
        }
        Ok(())
    }

    /// Whether every known line is at its position. Reads the whole file.
    pub(in crate::session) fn has_same_content(&self) -> Result<bool> {
        let Some(storage) = self.storage.as_deref() else {
            return Ok(true);
        };
        let Some(now) = load(storage)?.filter(|now| now.header.id == self.id) else {
            return Ok(false);
        };
        let rows = 0..self.tree().len() as RowNo;
        let damaged = self.index.damaged().iter().map(extent);
        let damaged_now = now.index.damaged().iter().map(extent).take(self.index.damaged().len());
        Ok(now.header.version == Version::Current
            && Some(now.header_span) == self.header_span
            && damaged.eq(damaged_now)
            && rows.into_iter().all(|row| {
                self.index.line_span(row) == now.index.line_span(row) && self.is_same_row(row, &now.index, row)
            }))
    }

    /// Whether a known row and a row of another index have the same length and the same indexed fields, except their
    /// times. For a row that was appended here, only length, id, kind and parent are compared, because the other fields
    /// are from the caller's object, whose JSON may differ.
    pub(super) fn is_same_row(&self, was: RowNo, new: &Index, row: RowNo) -> bool {
        let old = &self.index;
        let (Some(a), Some(b)) = (old.tree.row(was), new.tree.row(row)) else {
            return false;
        };
        let length = |index: &Index, row| index.line_span(row).map(|span| span.len);
        let parent = |of: ParentRef| match of {
            ParentRef::Id(id_no) => Some(id_no),
            _ => None,
        };
        let has_same_fields = || {
            a.message == b.message
                && a.sets_label == b.sets_label
                && a.has_summary == b.has_summary
                && text(old, a.target) == text(new, b.target)
        };
        a.kind == b.kind
            && length(old, was) == length(new, row)
            && old.tree.id_of(was) == new.tree.id_of(row)
            && text(old, parent(a.parent)) == text(new, parent(b.parent))
            && (self.is_appended_here(was) || has_same_fields())
    }

    pub(in crate::session) fn is_appended_here(&self, row: RowNo) -> bool {
        self.appended.binary_search(&row).is_ok()
    }
}

fn extent(line: &DamagedLine) -> (u64, u64) {
    (line.start, line.end)
}

fn text(index: &Index, id_no: Option<IdNo>) -> Option<&[u8]> {
    id_no.map(|id_no| index.tree.id_bytes(id_no))
}
