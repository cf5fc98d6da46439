//! Reads the lines of entries from the storage, with or without their bodies. Checks that each line is the entry that
//! was indexed.

use std::cell::Cell;

use simdutf8::basic::from_utf8;

use super::index::Index;
use crate::base::error::{Error, Result};
use crate::base::memory::{self, append, collect, copy_of, keep, push, with_capacity};
use crate::base::wtf8::shown;
use crate::format::body::{Body, BodyOf};
use crate::format::entry::{read_line, Line};
use crate::lines::file_window::WHOLE;
use crate::lines::line_reader::line_text;
use crate::lines::line_span::LineSpan;
use crate::storage::storage::{read_into, Storage};
use crate::tree::RowNo;

/// If fewer bytes than this are between two parts, they are read together.
const GAP: u64 = 8 << 10;

/// Replaces a body in a line that is read without it: the JSON number 0, so that the boundary can parse the line.
#[doc(hidden)]
pub const BODY_PLACEHOLDER: u8 = 0;

/// Receives a row, the text of its line, and the codes of the bodies that were replaced.
pub(crate) type TakeLine<'a> = dyn FnMut(RowNo, &str, u8) -> Result<()> + 'a;

/// Receives the text of a body. Returns false if it is not JSON.
pub type TakeBody<'a> = dyn FnMut(&str) -> bool + 'a;

thread_local! {
    /// The buffer for the next line from which a body is read.
    static LINE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// As [`TakeLine`], with bytes that are not checked yet.
type TakeBytes<'a> = dyn FnMut(RowNo, &[u8], u8) -> Result<()> + 'a;

/// A part of a row's line, up to a body or to the line's end.
struct LinePart {
    row: RowNo,
    span: LineSpan,
    /// The code of the body after this part; None for the last part.
    before: Option<u8>,
}

impl Index {
    /// The text of an entry's line, after a check that it is that entry. None if the entry is not in the storage.
    pub(crate) fn line(&self, storage: &dyn Storage, row: RowNo) -> Result<Option<String>> {
        let mut found = None;
        self.lines(storage, &[row], &mut |_, line, _| {
            found = Some(copy_of(line)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `each` with the line of each row that is in the storage. Neighbours are read together.
    pub(crate) fn lines(&self, storage: &dyn Storage, rows: &[RowNo], each: &mut TakeLine<'_>) -> Result<()> {
        let parts = self.whole_lines(rows)?;
        self.read(storage, &parts, &mut |row, line, omitted| self.hand_on(storage, row, line, omitted, each))
    }

    /// Calls `each` with the bytes of the line of each row that is in the storage. Fails if a line differs from the
    /// index in any indexed field.
    pub(crate) fn lines_to_copy(
        &self,
        storage: &dyn Storage,
        rows: &[RowNo],
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let parts = self.whole_lines(rows)?;
        self.read(storage, &parts, &mut |row, line, _| {
            let says_the_same =
                |line: Line<'_>| matches!(line, Line::Entry(head) if self.tree.matches_head(row, &head));
            if line.contains(&b'\n') || !read_line(&line_text(line)?, says_the_same)? {
                return Err(self.changed(storage.name(), row, "has changed"));
            }
            each(line)
        })
    }

    fn whole_lines(&self, rows: &[RowNo]) -> memory::Result<Vec<LinePart>> {
        collect(rows.iter().filter_map(|&row| Some(LinePart { row, span: self.line_span(row)?, before: None })))
    }

    /// Calls `each` with the lines of these rows without their bodies. The bodies are not read; the JSON number 0
    /// replaces each.
    pub(crate) fn lines_without_bodies(
        &self,
        storage: &dyn Storage,
        rows: &[RowNo],
        each: &mut TakeLine<'_>,
    ) -> Result<()> {
        let mut parts = with_capacity(rows.len())?;
        for &row in rows {
            let Some(LineSpan { offset, len }) = self.line_span(row) else { continue };
            let mut from = 0;
            for body in self.bodies(row) {
                let span = LineSpan { offset: offset + u64::from(from), len: body.from.saturating_sub(from) };
                push(&mut parts, LinePart { row, span, before: Some(body.of as u8) })?;
                from = body.end();
            }
            let span = LineSpan { offset: offset + u64::from(from), len: len.saturating_sub(from) };
            push(&mut parts, LinePart { row, span, before: None })?;
        }
        self.read(storage, &parts, &mut |row, line, omitted| self.hand_on(storage, row, line, omitted, each))
    }

    /// The length of an entry's line without its bodies, in bytes; 0 if the entry is not in the storage.
    #[doc(hidden)]
    pub fn length_without_bodies(&self, row: RowNo) -> usize {
        let bodies: u64 = self.bodies(row).map(|body| u64::from(body.len)).sum();
        self.line_span(row).map_or(0, |span| u64::from(span.len).saturating_sub(bodies) as usize)
    }

    /// Calls `take` with the text of a body, read at its indexed position. Returns false if the rest of the line is not
    /// the entry, or if `take` returns that the body is not JSON. Then the caller must search for the body in the whole
    /// line.
    pub(crate) fn body(&self, storage: &dyn Storage, row: RowNo, of: BodyOf, take: &mut TakeBody<'_>) -> Result<bool> {
        let body = self.bodies(row).find(|body| body.of == of).copied();
        let (Some(span), Some(body)) = (self.line_span(row), body) else {
            return Ok(false);
        };
        let mut line = LINE.take();
        let taken = match read_into(storage, span.offset, span.len as usize, &mut line) {
            Err(error) if !error.is_out_of_memory() => Ok(false),
            Err(error) => Err(error),
            Ok(()) => self.take_body(row, body, &line, take),
        };
        keep(&LINE, line);
        taken
    }

    fn take_body(&self, row: RowNo, body: Body, line: &[u8], take: &mut TakeBody<'_>) -> Result<bool> {
        let text = line.get(body.from as usize..body.end() as usize).and_then(|text| from_utf8(text).ok());
        Ok(match text {
            Some(text) => self.is_entry_outside_bodies(row, line)? && take(text),
            None => false,
        })
    }

    /// Whether a line is the entry of this row, apart from its bodies.
    fn is_entry_outside_bodies(&self, row: RowNo, line: &[u8]) -> memory::Result<bool> {
        let mut joined = Vec::new();
        let mut from = 0;
        for body in self.bodies(row) {
            let Some(before) = line.get(from..body.from as usize) else { return Ok(false) };
            append(&mut joined, before)?;
            append(&mut joined, &[b'0' + BODY_PLACEHOLDER])?;
            from = body.end() as usize;
        }
        let Some(rest) = line.get(from..) else { return Ok(false) };
        append(&mut joined, rest)?;
        Ok(!joined.contains(&b'\n') && read_line(&line_text(&joined)?, |line| self.is_entry(row, &line))?)
    }

    fn read(&self, storage: &dyn Storage, parts: &[LinePart], each: &mut TakeBytes<'_>) -> Result<()> {
        let mut bytes = Vec::new();
        let mut joined = Vec::new();
        let mut omitted = 0;
        let mut rest = parts;
        while let Some((first, _)) = rest.split_first() {
            let start = first.span.offset;
            let end = |part: &LinePart| part.span.offset + u64::from(part.span.len);
            let mut reach = end(first);
            let mut count = 1;
            for pair in rest.windows(2) {
                let [before, part] = pair else { break };
                let near = part.span.offset >= end(before) && part.span.offset - end(before) < GAP;
                if !near || end(part) - start > WHOLE as u64 {
                    break;
                }
                reach = end(part);
                count += 1;
            }
            read_into(storage, start, (reach - start) as usize, &mut bytes)?;
            let (batch, later) = rest.split_at(count);
            for part in batch {
                let from = (part.span.offset - start) as usize;
                let text =
                    crate::base::error::part(&bytes, from..from + part.span.len as usize, "lines read together")?;
                match part.before {
                    Some(code) => {
                        append(&mut joined, text)?;
                        append(&mut joined, &[b'0' + BODY_PLACEHOLDER])?;
                        omitted |= code;
                    }
                    None if omitted == 0 => each(part.row, text, 0)?,
                    None => {
                        append(&mut joined, text)?;
                        each(part.row, &joined, omitted)?;
                        joined.clear();
                        omitted = 0;
                    }
                }
            }
            rest = later;
        }
        Ok(())
    }

    fn hand_on(
        &self,
        storage: &dyn Storage,
        row: RowNo,
        line: &[u8],
        omitted: u8,
        each: &mut TakeLine<'_>,
    ) -> Result<()> {
        let line = line_text(line)?;
        self.check_text(storage, row, &line)?;
        each(row, &line, omitted)
    }

    /// Fails if a line is not the entry of this row.
    pub(crate) fn check_line(&self, storage: &dyn Storage, row: RowNo, line: &[u8]) -> Result<()> {
        match memchr::memchr(b'\n', line) {
            Some(_) => Err(self.changed(storage.name(), row, "is no longer one line")),
            None => {
                let line = line_text(line)?;
                self.check_text(storage, row, &line)
            }
        }
    }

    fn check_text(&self, storage: &dyn Storage, row: RowNo, line: &str) -> Result<()> {
        let is_same = read_line(line, |line| self.is_entry(row, &line));
        if is_same? {
            Ok(())
        } else {
            Err(self.changed(storage.name(), row, "is no longer at its position"))
        }
    }

    /// The error of an entry whose line was changed. `how` describes the change.
    pub(crate) fn changed(&self, name: &str, row: RowNo, how: &str) -> Error {
        Error::changed(name, format!("entry {} {how}", shown(self.tree.id_of(row))))
    }

    /// Whether a line is an entry with the id and kind of this row.
    pub(crate) fn is_entry(&self, row: RowNo, line: &Line<'_>) -> bool {
        let kind = self.tree.row(row).map(|row| row.kind);
        matches!(line, Line::Entry(head) if *head.id == *self.tree.id_of(row) && Some(head.kind) == kind)
    }
}

#[cfg(test)]
mod tests;
