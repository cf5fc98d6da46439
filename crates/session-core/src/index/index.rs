//! The index of a session: its tree, and the position of each entry's line.

use std::io::Read;

use serde::Serialize;

use super::parallel_scan::{with_indexed_line, IndexedLine, LineKind, Text};
use super::torn_line::IndexedEnd;
use crate::base::error::{Result, WithCall};
use crate::base::memory::{self, reserve};
use crate::format::body::Body;
use crate::format::entry::{Damage, EntryHead};
use crate::lines::file_window::WHOLE;
use crate::lines::line_reader::{LineReader, RawLine};
use crate::lines::line_span::LineSpan;
use crate::storage::storage::Storage;
use crate::tree::{Row, RowNo, Tree};

/// A line that is not an entry. It may be longer than any line that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DamagedLine {
    /// The number of the line, counted from 1.
    pub line: u64,
    /// The line is the bytes `start..end` of the file, without its newline.
    pub start: u64,
    /// See `start`.
    pub end: u64,
    /// The reason why it is not an entry.
    #[serde(rename = "reason")]
    pub damage: Damage,
}

/// The index of a session: its tree, and the position of each entry's line.
#[derive(Debug, Default)]
pub struct Index {
    /// The entries.
    pub tree: Tree,
    /// By row; None for an entry that is not in the storage.
    spans: Vec<Option<LineSpan>>,
    /// The bodies of entries in the storage, sorted by row.
    bodies: Vec<(RowNo, Body)>,
    pub(super) end: IndexedEnd,
    pub(super) lines: u64,
    damaged: Vec<DamagedLine>,
    /// How many lines before an entry's line are not entries, including the header: each number is valid from a row on.
    /// Sorted by row.
    other_lines: Vec<(RowNo, u64)>,
}

/// The value of `other_lines` for a file in which only the header is not an entry.
const HEADER_ONLY: u64 = 1;

/// Reads the next line of a storage.
pub(super) fn next<'a, R: Read>(reader: &'a mut LineReader<R>, storage: &dyn Storage) -> Result<Option<RawLine<'a>>> {
    reader.next_line().with_call("read", storage.name())
}

impl Index {
    /// Indexes a line. If `advance` is set, its entry becomes the leaf. Changes nothing if an allocation fails.
    pub(super) fn index_line(
        &mut self,
        line: IndexedLine<Text<'_>>,
        bodies: &[Body],
        advance: bool,
    ) -> memory::Result<()> {
        match &line.kind {
            LineKind::Entry(head) => {
                self.reserve(head)?;
                reserve(&mut self.bodies, bodies.len())?;
            }
            LineKind::Nothing => {}
            LineKind::Damaged(_) => reserve(&mut self.damaged, 1)?,
        }
        let lines = self.end.advance(&line);
        if lines == 0 {
            return Ok(());
        }
        self.lines += lines;
        let IndexedLine { offset, len, kind, .. } = line;
        match kind {
            LineKind::Entry(head) => {
                let row = self.tree.push(&head, advance)?;
                self.note_other_lines(row);
                self.spans.push(Some(LineSpan::of(offset, len as usize)));
                self.bodies.extend(bodies.iter().map(|body| (row, *body)));
            }
            LineKind::Nothing => {}
            LineKind::Damaged(damage) => {
                self.damaged.push(DamagedLine { line: self.lines, start: offset, end: offset + len, damage });
            }
        }
        Ok(())
    }

    /// Reserves memory for an entry, so that adding it next cannot fail.
    pub(crate) fn reserve(&mut self, head: &EntryHead<'_>) -> memory::Result<()> {
        self.tree.reserve(head)?;
        reserve(&mut self.other_lines, 1)?;
        reserve(&mut self.spans, 1)
    }

    /// Records how many lines before a new row's line are not entries. The memory is reserved, see
    /// [`reserve`](Self::reserve).
    fn note_other_lines(&mut self, row: RowNo) {
        let others = self.lines.saturating_sub(u64::from(row) + 1);
        if self.other_lines.last().map_or(HEADER_ONLY, |(_, others)| *others) != others {
            self.other_lines.push((row, others));
        }
    }

    /// The number of an entry's line in the file, counted from 1.
    pub(crate) fn line_number(&self, row: RowNo) -> u64 {
        let later = self.other_lines.partition_point(|(from, _)| *from <= row);
        let last = later.checked_sub(1).and_then(|at| self.other_lines.get(at));
        u64::from(row) + 1 + last.map_or(HEADER_ONLY, |(_, others)| *others)
    }

    /// Indexes the lines that other processes appended before `end`. The leaf stays. Returns whether the last line is
    /// unterminated.
    pub(crate) fn read_more(&mut self, storage: &dyn Storage, end: u64) -> Result<bool> {
        let source = storage.reader(self.end.offset)?.take(end.saturating_sub(self.end.offset));
        let size = storage.size()?.min(end).saturating_sub(self.end.offset);
        // Mostly one or two lines were appended, so a small buffer is enough.
        let chunk = usize::try_from(size).unwrap_or(WHOLE).clamp(1, WHOLE).next_power_of_two();
        let mut reader = LineReader::new(source, self.end.offset, chunk);
        let mut is_unterminated = false;
        while let Some(line) = next(&mut reader, storage)? {
            is_unterminated = !line.is_terminated;
            with_indexed_line(line, |line, bodies| self.index_line(line, bodies, false))?;
        }
        Ok(is_unterminated)
    }

    /// About how many bytes of memory the index uses, for ids and labels of the usual length and number.
    #[doc(hidden)]
    pub fn memory(&self) -> usize {
        const ID: usize = 64;
        let rows = self.spans.capacity() * (size_of::<Row>() + size_of::<Option<LineSpan>>() + ID);
        let bodies = self.bodies.capacity() * size_of::<(RowNo, Body)>();
        rows + bodies + self.damaged.capacity() * size_of::<DamagedLine>()
    }

    /// The position up to which the storage was read, in bytes.
    pub(crate) fn indexed_end(&self) -> u64 {
        self.end.offset
    }

    /// Whether the last indexed line is unterminated.
    #[doc(hidden)]
    pub fn is_after_unterminated_line(&self) -> bool {
        self.end.after_unterminated_line
    }

    /// Adds an entry of ours, with the span of its line if it has one. The entry becomes the leaf. Changes nothing if
    /// an allocation fails.
    pub(crate) fn push(&mut self, head: &EntryHead<'_>, span: Option<LineSpan>) -> memory::Result<RowNo> {
        self.reserve(head)?;
        let row = self.tree.push(head, true)?;
        self.spans.push(span);
        if let Some(span) = span {
            self.lines += 1;
            self.note_other_lines(row);
            self.end.set(self.end.offset.max(span.end() + 1), false);
        }
        Ok(row)
    }

    /// The span of an entry's line.
    #[doc(hidden)]
    pub fn line_span(&self, row: RowNo) -> Option<LineSpan> {
        self.spans.get(row as usize).copied().flatten()
    }

    /// Sets the spans of the header and of every entry, and the bodies. `spans` has one element for each row. The
    /// storage has no other lines.
    pub(crate) fn set_spans(
        &mut self,
        header: Option<LineSpan>,
        spans: Vec<Option<LineSpan>>,
        bodies: Vec<(RowNo, Body)>,
    ) {
        self.lines = spans.len() as u64 + u64::from(header.is_some());
        let last = spans.last().copied().flatten().or(header);
        self.end.set(last.map_or(0, |last| last.end() + 1), false);
        self.damaged.clear();
        self.other_lines.clear();
        self.spans = spans;
        self.bodies = bodies;
    }

    /// The bodies of an entry, in their order in its line.
    pub(crate) fn bodies(&self, row: RowNo) -> impl Iterator<Item = &Body> {
        let from = self.bodies.partition_point(|(of, _)| *of < row);
        self.bodies.iter().skip(from).take_while(move |(of, _)| *of == row).map(|(_, body)| body)
    }

    /// The lines that are not entries.
    pub fn damaged(&self) -> &[DamagedLine] {
        &self.damaged
    }
}
