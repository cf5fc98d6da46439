//! The content of the merged file, as pieces of the old file and new lines.

use std::collections::HashSet;
use std::io::Write;

use serde::Serialize;

use super::old_file::{fault_of_entry, lines_of, OldFile, Range};
use crate::base::error::{Error, Result};
use crate::base::memory::{self, insert_into, push};
use crate::lines::line_reader::line_text;
use crate::rewrite::replace::{write_line, ReadTo, Rewrite};
use crate::storage::storage::{copy_bytes, Storage};

/// A piece of the new file.
#[derive(Debug)]
enum Piece<'a> {
    Old(Range),
    New(&'a [u8]),
}

/// The report on a merge.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    /// Nothing was done, because all stored lines are needed.
    pub needs_all: bool,
    /// Whether the file was written.
    pub changed: bool,
    /// The number of stored lines that the file did not have.
    pub added: u64,
    /// The number of entries of the file that are not stored.
    pub unstored: u64,
    /// How many bytes at the start of the file contain the stored lines in their order.
    pub stored_bytes: u64,
    /// The inode number of the file in this report; another process may have replaced that file since. Empty if nothing
    /// was done.
    pub inode: String,
}

/// The layout of the merged file.
#[derive(Debug)]
pub(super) struct MergeLayout<'a> {
    pieces: Vec<Piece<'a>>,
    read: ReadTo,
    /// The position at which the old file's unterminated line gets its newline.
    missing_newline_at: Option<u64>,
    /// The report on the merge.
    pub report: Merged,
}

impl Merged {
    /// The report that nothing was done, because one of the stored lines belongs to the front.
    pub(crate) fn needs_all() -> Self {
        Self { needs_all: true, ..Self::default() }
    }
}

impl<'a> MergeLayout<'a> {
    /// The layout of the merged file; None if the stored lines of the front are needed too.
    pub(super) fn of(mut old: OldFile, stored: &'a [u8]) -> Result<Option<Self>> {
        let mut layout = Self {
            pieces: Vec::new(),
            read: ReadTo::all(old.size, old.torn_line_start),
            missing_newline_at: Some(old.size).filter(|_| old.is_unterminated),
            report: Merged::default(),
        };
        old.front.iter().try_for_each(|&range| layout.push_old(range))?;
        if !layout.place_stored(&mut old, stored)? {
            return Ok(None);
        }
        layout.report.stored_bytes = layout.length();
        for group in old.groups.iter().filter(|group| !group.is_stored) {
            layout.report.unstored += 1;
            layout.push_old(group.entry)?;
            group.rest.iter().try_for_each(|&range| layout.push_old(range))?;
        }
        Ok(Some(layout))
    }

    /// Whether the layout differs from the old file.
    pub(super) fn is_changed(&self) -> bool {
        !matches!(self.pieces.as_slice(), [Piece::Old(Range { from: 0, to })] if *to == self.read.end)
    }

    /// Adds the stored lines. False if the stored lines of the front are needed too.
    fn place_stored(&mut self, old: &mut OldFile, stored: &'a [u8]) -> Result<bool> {
        let mut seen = HashSet::new();
        let mut has_new = false;
        for (index, line) in lines_of(stored).enumerate() {
            let key = old.key(line);
            if !insert_into(&mut seen, key)? {
                continue;
            }
            if let Some(fault) = fault_of_entry(&line_text(line)?)? {
                return Err(Error::argument(format!("line {} of `lines` is not an entry: {fault}", index + 1)));
            }
            if old.front_keys.contains(&key) {
                // A line that precedes this one in the store's order belongs to the front too.
                if has_new {
                    return Ok(false);
                }
                continue;
            }
            has_new = true;
            let Some((entry, rest)) = old.take(key) else {
                self.report.added += 1;
                push(&mut self.pieces, Piece::New(line))?;
                continue;
            };
            self.push_old(entry)?;
            rest.into_iter().try_for_each(|range| self.push_old(range))?;
        }
        Ok(true)
    }

    /// Adds a range of the old file. It extends the last piece if that piece ends where the range begins.
    fn push_old(&mut self, range: Range) -> memory::Result<()> {
        match self.pieces.last_mut() {
            Some(Piece::Old(last)) if last.to == range.from => last.to = range.to,
            _ => push(&mut self.pieces, Piece::Old(range))?,
        }
        Ok(())
    }

    fn length(&self) -> u64 {
        let length = |piece: &Piece<'_>| match piece {
            Piece::Old(range) => range.to - range.from + u64::from(self.missing_newline_at == Some(range.to)),
            Piece::New(line) => line.len() as u64 + 1,
        };
        self.pieces.iter().map(length).sum()
    }
}

impl Rewrite for MergeLayout<'_> {
    fn write(&mut self, old: &dyn Storage, out: &mut dyn Write) -> Result<ReadTo> {
        for piece in &self.pieces {
            match piece {
                Piece::Old(range) => {
                    copy_bytes(old, range.from, range.to, &mut |bytes| write_line(out, bytes, false, old.name()))?;
                    if self.missing_newline_at == Some(range.to) {
                        write_line(out, b"", true, old.name())?;
                    }
                }
                Piece::New(line) => write_line(out, line, true, old.name())?,
            }
        }
        Ok(self.read)
    }

    /// The file's time changes, because a merge adds to the conversation.
    fn keeps_time(&self) -> bool {
        false
    }
}
