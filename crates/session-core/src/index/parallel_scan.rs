//! Scans the lines of a large storage on several threads.
//!
//! The storage is divided into segments. A line belongs to the segment in which it starts. A thread reads a whole
//! segment and scans its lines. Lines are passed on in file order.
//!
//! The thread that builds the index also scans segments while the next segment in order is not ready. If it only built
//! the index, two cores would run three threads, and opening 128 MB would take 77 ms instead of 32.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::base::error::{part, Error, Result, WithCall};
use crate::base::memory::{self, append, reserve, with_capacity};
use crate::base::threads::cores;
use crate::format::body::{Body, LARGE_BODY};
use crate::format::entry::{read_line_and_bodies, Damage, HeadAs, Line};
use crate::lines::line_reader::{line_text, LineReader, RawLine};
use crate::storage::storage::{read_into, Storage};

/// The size of a segment in bytes. A segment should stay in the processor's cache while it is scanned. Large files have
/// larger segments, because a line that reaches into the next segment is read twice.
const SEGMENT: u64 = 1 << 18;
const LARGE_SEGMENT: u64 = 1 << 20;

/// How many bytes of a line are read first if it reaches beyond its segment.
const ACROSS: usize = 32 << 10;

/// A text of a line: an id.
pub(crate) type Text<'a> = Cow<'a, [u8]>;

/// The part of a line that is indexed, with `T` as the type of texts.
#[derive(Debug)]
pub(crate) struct IndexedLine<T> {
    pub offset: u64,
    /// The length in bytes, without the newline.
    pub len: u64,
    /// How many lines it represents: consecutive blank lines are merged into one.
    pub lines: u64,
    /// Whether the line has a newline.
    pub is_terminated: bool,
    /// Whether the line is unterminated and not JSON.
    pub is_torn: bool,
    pub kind: LineKind<T>,
}

/// The class of a line.
#[derive(Debug)]
pub(crate) enum LineKind<T> {
    Entry(HeadAs<T>),
    /// A second header, or white space.
    Nothing,
    Damaged(Damage),
}

impl<T> IndexedLine<T> {
    /// The line with each text converted by `each`.
    fn with_texts<U, E>(self, each: impl FnMut(T) -> Result<U, E>) -> Result<IndexedLine<U>, E> {
        let Self { offset, len, lines, is_terminated, is_torn, kind } = self;
        let kind = match kind {
            LineKind::Entry(head) => LineKind::Entry(head.with_texts(each)?),
            LineKind::Nothing => LineKind::Nothing,
            LineKind::Damaged(damage) => LineKind::Damaged(damage),
        };
        Ok(IndexedLine { offset, len, lines, is_terminated, is_torn, kind })
    }
}

/// Receives the lines one after another, each with its bodies.
pub(crate) type TakeScannedLine<'a> = dyn FnMut(IndexedLine<Text<'_>>, &[Body]) -> memory::Result<()> + 'a;

/// The lines of a segment. Consecutive blank lines are one element, because there may be millions of them. All texts
/// share one list, and all bodies another: that is faster and smaller than lists for each line.
#[derive(Default)]
struct ScanSegment {
    /// Each line, and how many bodies it has.
    lines: Vec<(IndexedLine<Range<usize>>, usize)>,
    texts: Vec<u8>,
    bodies: Vec<Body>,
}

impl ScanSegment {
    fn push(&mut self, line: IndexedLine<Text<'_>>, bodies: &[Body]) -> memory::Result<()> {
        let is_nothing = matches!(line.kind, LineKind::Nothing);
        let run = self.lines.last_mut().map(|(last, _)| last).filter(|last| {
            let follows = last.is_terminated && last.offset + last.len + 1 == line.offset;
            follows && is_nothing && matches!(last.kind, LineKind::Nothing)
        });
        if let Some(last) = run {
            last.len = line.offset + line.len - last.offset;
            last.lines += 1;
            (last.is_terminated, last.is_torn) = (line.is_terminated, line.is_torn);
            return Ok(());
        }
        reserve(&mut self.lines, 1)?;
        reserve(&mut self.bodies, bodies.len())?;
        let texts = &mut self.texts;
        let line = line.with_texts(|text| -> memory::Result<_> {
            let start = texts.len();
            append(texts, &text)?;
            Ok(start..texts.len())
        })?;
        self.lines.push((line, bodies.len()));
        self.bodies.extend_from_slice(bodies);
        Ok(())
    }

    fn hand_on(self, each: &mut TakeScannedLine<'_>) -> Result<()> {
        let mut bodies = self.bodies.as_slice();
        for (line, count) in self.lines {
            let Some((own, later)) = bodies.split_at_checked(count) else {
                return Err(Error::internal(format_args!(
                    "{count} bodies of a line, of {} that are left",
                    bodies.len()
                )));
            };
            bodies = later;
            each(line.with_texts(|text| part(&self.texts, text, "the ids of a segment").map(Cow::Borrowed))?, own)?;
        }
        Ok(())
    }
}

/// Calls `each` with every line that starts in `from..to`, in order. `from` is the start of a line, `to` the end of the
/// bytes that are read.
pub(crate) fn scan(storage: &dyn Storage, from: u64, to: u64, each: &mut TakeScannedLine<'_>) -> Result<()> {
    let is_large = to.saturating_sub(from) >= 16 * LARGE_SEGMENT;
    scan_in(storage, from, to, if is_large { LARGE_SEGMENT } else { SEGMENT }, each)
}

/// As [`scan`], in segments of `size` bytes.
fn scan_in(storage: &dyn Storage, from: u64, to: u64, size: u64, each: &mut TakeScannedLine<'_>) -> Result<()> {
    let segments = (to.saturating_sub(from)).div_ceil(size) as usize;
    let others = cores().min(8).min(segments).saturating_sub(1);
    let next = AtomicUsize::new(0);
    // Scans the next segment that no thread has taken; None if all are taken.
    let work = |buffer: &mut Vec<u8>| {
        let segment = next.fetch_add(1, Ordering::Relaxed);
        (segment < segments).then(|| {
            let start = from + segment as u64 * size;
            (segment, scan_segment(storage, start == from, start, (start + size).min(to), to, buffer))
        })
    };
    // The segments that were scanned before their turn, by number.
    let mut early = with_capacity(segments)?;
    early.resize_with(segments, || None);
    std::thread::scope(|scope| {
        // Bounded, because an unbounded channel allocates memory for each message.
        let (done, finished) = mpsc::sync_channel(8 * others);
        let work = &work;
        for _ in 0..others {
            let done = done.clone();
            // If no thread can be started, the other threads scan its segments.
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
        for segment in 0..segments {
            let lines: Result<ScanSegment> = loop {
                if let Some(lines) = early.get_mut(segment).and_then(Option::take) {
                    break lines;
                }
                // This thread scans segments too, and between two of them collects the results of the others.
                let scanned = match finished.try_recv() {
                    Ok(scanned) => scanned,
                    Err(_) => match work(&mut buffer) {
                        Some(scanned) => scanned,
                        // A thread that panicked sends nothing. The scope passes its panic on.
                        None => finished
                            .recv()
                            .map_err(|_| Error::changed(storage.name(), "it could not be read to its end"))?,
                    },
                };
                let (number, lines) = scanned;
                early.get_mut(number).map(|place| place.replace(lines));
            };
            lines?.hand_on(each)?;
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
                let bytes = part(rest, 0..length, "a chunk")?;
                let line = RawLine { offset, bytes, is_terminated: true, skipped: None };
                with_indexed_line(line, |line, bodies| lines.push(line, bodies))?;
                at += length + 1;
            }
            None if end == to => {
                let line = RawLine { offset, bytes: rest, is_terminated: false, skipped: None };
                with_indexed_line(line, |line, bodies| lines.push(line, bodies))?;
                break;
            }
            None => {
                push_across(storage, offset, to, &mut lines)?;
                break;
            }
        }
    }
    Ok(lines)
}

/// Adds a line that reaches into the next segments.
fn push_across(storage: &dyn Storage, offset: u64, to: u64, lines: &mut ScanSegment) -> Result<()> {
    let source = std::io::Read::take(storage.reader(offset)?, to - offset);
    // Most such lines end soon after the segment.
    let mut reader = LineReader::new(source, offset, ACROSS);
    let line = reader.next_line().with_call("read", storage.name())?;
    let line = line.ok_or_else(|| Error::changed(storage.name(), "it is shorter than it was"))?;
    Ok(with_indexed_line(line, |line, bodies| lines.push(line, bodies))?)
}

/// Calls `then` with the indexed part of a line and its bodies.
pub(crate) fn with_indexed_line(
    line: RawLine<'_>,
    mut then: impl FnMut(IndexedLine<Text<'_>>, &[Body]) -> memory::Result<()>,
) -> memory::Result<()> {
    let (offset, len, is_terminated, is_torn) = (line.offset, line.length(), line.is_terminated, line.is_torn()?);
    let mut then = |kind: LineKind<Text<'_>>, bodies: &[Body]| {
        then(IndexedLine { offset, len, lines: 1, is_terminated, is_torn, kind }, bodies)
    };
    if let Some((why, _)) = line.skipped {
        return then(LineKind::Damaged(why), &[]);
    }
    let text = line_text(line.bytes)?;
    // If invalid UTF-8 was replaced, positions in the text differ from those in the file, so the bodies are not used.
    let least = if matches!(text, Cow::Borrowed(_)) { LARGE_BODY } else { usize::MAX };
    read_line_and_bodies(&text, least, |line, bodies| match line {
        Line::Entry(head) => then(LineKind::Entry(head), bodies),
        Line::Header | Line::Blank => then(LineKind::Nothing, &[]),
        Line::Damaged(damage) => then(LineKind::Damaged(damage), &[]),
    })?
}

#[cfg(test)]
mod tests;
