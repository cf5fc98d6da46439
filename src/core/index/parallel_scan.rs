//! Scans the lines of a large storage on several threads.
//!
//! The storage is divided into segments; a line belongs to the segment that it starts in. A thread reads a segment at
//! once and scans its lines. Lines are handed on in file order.
//!
//! The thread that builds the index scans segments, too, while the next one in order is not ready. If it only built the
//! index, two cores would have three threads: opening 128 MB then takes 77 ms in place of 32.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::base::error::{Error, Result};
use crate::base::memory::reserve;
use crate::base::threads::cores;
use crate::format::body::{Body, LARGE_BODY};
use crate::format::entry::{read_line_and_bodies, Damage, EntryHead, Line};
use crate::io::line_reader::{line_text, LineReader, RawLine};
use crate::storage::storage::{read_into, Storage};

/// How many bytes a segment has: it should stay in the processor's cache while it is scanned. Large files have larger
/// segments, because a line that reaches into the next segment is read twice.
const SEGMENT: u64 = 1 << 18;
const LARGE_SEGMENT: u64 = 1 << 20;

/// How many bytes are read at first of a line that reaches beyond its segment.
const ACROSS: usize = 32 << 10;

/// A line as the index takes it.
#[derive(Debug, PartialEq)]
pub struct IndexedLine {
    pub offset: u64,
    /// How many bytes it has, without the newline.
    pub len: u64,
    /// How many lines it stands for: consecutive blank lines are taken as one.
    pub lines: u64,
    /// Whether a newline ends it.
    pub is_terminated: bool,
    /// Whether it is unterminated, and not JSON.
    pub is_torn: bool,
    pub kind: LineKind,
    /// Its large values.
    pub bodies: Vec<Body>,
}

/// What a line is.
#[derive(Debug, PartialEq)]
pub enum LineKind {
    Entry(EntryHead<'static>),
    /// A later header, or white space.
    Nothing,
    Damaged(Damage),
}

/// The lines of a segment. Consecutive blank lines are one element: there may be millions of them.
#[derive(Default)]
struct ScanSegment(Vec<IndexedLine>);

impl ScanSegment {
    fn push(&mut self, line: IndexedLine) -> io::Result<()> {
        let run = self.0.last_mut().filter(|last| {
            let follows = last.is_terminated && last.offset + last.len + 1 == line.offset;
            follows && last.kind == LineKind::Nothing && line.kind == LineKind::Nothing
        });
        match run {
            Some(last) => {
                last.len = line.offset + line.len - last.offset;
                last.lines += 1;
                (last.is_terminated, last.is_torn) = (line.is_terminated, line.is_torn);
            }
            None => {
                reserve(&mut self.0, 1)?;
                self.0.push(line);
            }
        }
        Ok(())
    }
}

/// Takes one line after the other.
pub type Each<'a> = dyn FnMut(IndexedLine) -> io::Result<()> + 'a;

/// Hands on every line that starts in `from..to`, in order. `from` is the start of a line, `to` the end of what is read.
pub fn scan(storage: &dyn Storage, from: u64, to: u64, each: &mut Each<'_>) -> Result<()> {
    let is_large = to.saturating_sub(from) >= 16 * LARGE_SEGMENT;
    scan_in(storage, from, to, if is_large { LARGE_SEGMENT } else { SEGMENT }, each)
}

/// The same in segments of that many bytes.
fn scan_in(storage: &dyn Storage, from: u64, to: u64, size: u64, each: &mut Each<'_>) -> Result<()> {
    let segments = (to.saturating_sub(from)).div_ceil(size) as usize;
    let others = cores().min(8).min(segments).saturating_sub(1);
    let next = AtomicUsize::new(0);
    // Takes the next segment that nobody has; None if all are taken.
    let work = |buffer: &mut Vec<u8>| {
        let segment = next.fetch_add(1, Ordering::Relaxed);
        (segment < segments).then(|| {
            let start = from + segment as u64 * size;
            (segment, scan_segment(storage, start == from, start, (start + size).min(to), to, buffer))
        })
    };
    std::thread::scope(|scope| {
        let (done, finished) = mpsc::channel();
        let work = &work;
        for _ in 0..others {
            let done = done.clone();
            // If no thread can be started, the others scan its segments.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
                let mut buffer = Vec::new();
                while let Some(lines) = work(&mut buffer) {
                    if done.send(lines).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        let mut buffer = Vec::new();
        let mut early = BTreeMap::new();
        for segment in 0..segments {
            let lines = loop {
                if let Some(lines) = early.remove(&segment) {
                    break lines;
                }
                // This thread scans segments, too, and collects what the others have done in between.
                early.extend(finished.try_iter());
                if early.contains_key(&segment) {
                    continue;
                }
                if let Some((number, lines)) = work(&mut buffer) {
                    early.insert(number, lines);
                    continue;
                }
                let (number, lines) = finished.recv().map_err(|_| {
                    // A thread that panicked sends nothing; the scope passes the panic on.
                    Error::changed(storage.name(), "it could not be read to its end")
                })?;
                early.insert(number, lines);
            };
            lines?.0.into_iter().try_for_each(&mut *each).map_err(|error| Error::io("read", storage.name(), error))?;
        }
        Ok(())
    })
}

/// The lines that start in `start..end` of a storage that ends at `to`.
fn scan_segment(
    storage: &dyn Storage,
    at_line: bool,
    start: u64,
    end: u64,
    to: u64,
    buffer: &mut Vec<u8>,
) -> Result<ScanSegment> {
    let fail = |error| Error::io("read", storage.name(), error);
    // A line starts here if the byte before is a newline.
    let read_from = start - u64::from(!at_line);
    read_into(storage, read_from, (end - read_from) as usize, buffer)?;
    let mut at = 0;
    if !at_line {
        match memchr::memchr(b'\n', buffer) {
            Some(newline) => at = newline + 1,
            None => return Ok(ScanSegment::default()),
        }
    }
    let mut lines = ScanSegment::default();
    while let Some(rest) = buffer.get(at..).filter(|rest| !rest.is_empty()) {
        let offset = read_from + at as u64;
        match memchr::memchr(b'\n', rest) {
            Some(length) => {
                let bytes = rest.get(..length).unwrap_or_default();
                indexed_line(RawLine { offset, bytes, is_terminated: true, skipped: None })
                    .and_then(|line| lines.push(line))
                    .map_err(fail)?;
                at += length + 1;
            }
            None if end == to => {
                let line = RawLine { offset, bytes: rest, is_terminated: false, skipped: None };
                indexed_line(line).and_then(|line| lines.push(line)).map_err(fail)?;
                break;
            }
            None => {
                lines.push(line_across(storage, offset, to)?).map_err(fail)?;
                break;
            }
        }
    }
    Ok(lines)
}

/// A line that reaches into the next segments.
fn line_across(storage: &dyn Storage, offset: u64, to: u64) -> Result<IndexedLine> {
    let source = std::io::Read::take(storage.reader(offset)?, to - offset);
    // Most such lines end soon after the segment.
    let mut reader = LineReader::new(source, offset, ACROSS);
    let fail = |error| Error::io("read", storage.name(), error);
    let line = reader.next_line().map_err(fail)?;
    let line = line.ok_or_else(|| Error::changed(storage.name(), "it is shorter than it was"))?;
    indexed_line(line).map_err(fail)
}

/// What the index takes of a line.
pub fn indexed_line(line: RawLine<'_>) -> io::Result<IndexedLine> {
    let (kind, bodies) = match line.skipped {
        Some((why, _)) => (LineKind::Damaged(why), Vec::new()),
        None => read_kind(line_text(line.bytes)?),
    };
    let (offset, len, is_terminated, is_torn) = (line.offset, line.length(), line.is_terminated, line.is_torn()?);
    Ok(IndexedLine { offset, len, lines: 1, is_terminated, is_torn, kind, bodies })
}

fn read_kind(text: Cow<'_, str>) -> (LineKind, Vec<Body>) {
    // Offsets in a text whose invalid UTF-8 was replaced are not those in the file.
    let least = if matches!(text, Cow::Borrowed(_)) { LARGE_BODY } else { usize::MAX };
    read_line_and_bodies(&text, least, |line, bodies| match line {
        Line::Entry(head) => (LineKind::Entry(head.into_owned()), bodies),
        Line::Header | Line::Blank => (LineKind::Nothing, Vec::new()),
        Line::Damaged(damage) => (LineKind::Damaged(damage), Vec::new()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::line_reader::WHOLE;
    use crate::storage::memory::MemoryStorage;

    /// Lines of many lengths, some longer than segments, so that every kind of border occurs.
    fn text(seed: u64, is_unterminated: bool) -> Vec<u8> {
        let mut state = seed;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut out = Vec::new();
        while out.len() < 5 * SEGMENT as usize {
            let length = match random(40) {
                0 => random(3 * SEGMENT) as usize,
                1 => (SEGMENT - out.len() as u64 % SEGMENT).saturating_sub(40 + random(30)) as usize,
                _ => random(5000) as usize,
            };
            match random(9) {
                0 => out.extend_from_slice(b"torn {"),
                1 => out.resize(out.len() + random(4) as usize, b'\n'),
                n => out.extend_from_slice(format!("{{\"id\":\"{n}\",\"x\":\"{}\"}}", "x".repeat(length)).as_bytes()),
            }
            out.push(b'\n');
        }
        if is_unterminated {
            out.extend_from_slice(b"{\"id\":\"last\"}");
        }
        out
    }

    /// Blank lines that were taken as one, each by itself.
    fn one_by_one(bytes: &[u8], line: IndexedLine) -> Vec<IndexedLine> {
        if line.lines == 1 {
            return vec![line];
        }
        let (from, to) = (line.offset as usize, (line.offset + line.len) as usize);
        let mut reader = LineReader::new(&bytes[from..(to + 1).min(bytes.len())], line.offset, WHOLE);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().expect("read") {
            lines.push(indexed_line(line).expect("memory"));
        }
        assert_eq!(lines.len() as u64, line.lines);
        lines
    }

    #[test]
    fn threads_find_the_lines_that_one_reader_finds() {
        for seed in 0..6 {
            let bytes = text(seed, seed % 2 == 0);
            let storage = MemoryStorage::new("test".into(), bytes.clone());
            let mut found = Vec::new();
            let size = if seed < 3 { SEGMENT } else { SEGMENT / 3 };
            scan_in(&storage, 0, bytes.len() as u64, size, &mut |line| {
                found.push(line);
                Ok(())
            })
            .expect("read");
            let mut reader = LineReader::new(bytes.as_slice(), 0, WHOLE);
            let mut expected = Vec::new();
            while let Some(line) = reader.next_line().expect("read") {
                expected.push(indexed_line(line).expect("memory"));
            }
            let found: Vec<_> = found.into_iter().flat_map(|line| one_by_one(&bytes, line)).collect();
            assert_eq!(found.len(), expected.len(), "seed {seed}");
            // NaN times do not equal themselves; their printed forms do.
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "seed {seed}");
        }
    }
}
