//! Bodies that are read and taken apart on another thread, ahead of a reader that goes through a session in order.

use std::fs::File;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::index::Index;
use super::read_entries::ExpectedLine;
use crate::format::body::BodyOf;
use crate::io::file_fingerprint::{now, would_show_change, Nanos};
use crate::io::fs;
use crate::io::line_reader::WHOLE;
use crate::io::line_span::LineSpan;
use crate::json::long_strings::{Parts, Strings};
use crate::storage::storage::Storage;
use crate::tree::tree::RowNo;

/// How many rows may lie between two bodies that are read one after the other.
pub const NEAR: RowNo = 64;
/// How many bytes of lines are read ahead at first. Each time there are twice as many, for who has read on so far is the
/// more likely to go on.
pub const FIRST: usize = 64 << 10;
/// How many at most.
const MOST: usize = 512 << 10;
/// How many bytes a line may have that is read ahead.
const LONGEST_LINE: usize = 1 << 20;
/// How many characters share memory, which is there until the last string of them is gone.
const SHARED: usize = 64 << 10;

/// A body that was read ahead.
pub struct AheadBody {
    pub row: RowNo,
    pub of: BodyOf,
    pub parts: Parts,
}

/// Bodies that another thread reads. Dropped, it waits for that thread.
pub struct ReadAhead {
    file: Arc<File>,
    before: SizeAndTime,
    lines: Arc<[AheadLine]>,
    /// Which rows are read: from the first to before the second.
    rows: (RowNo, RowNo),
    bytes: usize,
    thread: Option<JoinHandle<(Vec<AheadBody>, Vec<u8>)>>,
}

/// What shows that a file was not changed.
type SizeAndTime = (u64, Nanos);

struct AheadLine {
    row: RowNo,
    span: LineSpan,
    expected: ExpectedLine,
}

impl Index {
    /// Starts to read the bodies of the lines from a row on, about so many bytes. None if there are none, or if it cannot
    /// be done. Lines are read into `room`: fresh memory costs more than reading into it.
    pub fn read_ahead(&self, storage: &dyn Storage, from: RowNo, bytes: usize, mut room: Vec<u8>) -> Option<ReadAhead> {
        let file = storage.file()?;
        let before = state_of(&file).filter(|(_, changed)| would_show_change(*changed, now()))?;
        let bytes = bytes.min(MOST);
        let mut lines = Vec::new();
        let (mut row, mut size) = (from, 0);
        let mut end = from + NEAR;
        while size < bytes && row < end && (row as usize) < self.tree.len() {
            // A line of many bytes takes memory for nothing if nobody goes on reading.
            let span = self.line_span(row).filter(|span| span.len as usize <= LONGEST_LINE);
            if let (Some(span), [_, ..]) = (span, self.bodies(row)) {
                lines.push(AheadLine { row, span, expected: self.expected(row)? });
                size += span.len as usize;
                end = row + NEAR;
            }
            row += 1;
        }
        let lines: Arc<[AheadLine]> = lines.into();
        lines.first()?;
        let thread = {
            let (file, lines) = (file.clone(), lines.clone());
            Builder::new().spawn(move || (read(&file, &lines, &mut room), room)).ok()?
        };
        Some(ReadAhead { file, before, lines, rows: (from, row), bytes, thread: Some(thread) })
    }

    /// The bodies that were read ahead, in the order of their lines, and the room for the next ones. None if the file or
    /// its index has changed since.
    pub fn finish_read_ahead(&self, mut ahead: ReadAhead) -> Option<(Vec<AheadBody>, Vec<u8>)> {
        let read = ahead.thread.take()?.join().ok()?;
        let is_same = |line: &AheadLine| {
            self.line_span(line.row) == Some(line.span) && *self.tree.id_of(line.row) == *line.expected.id
        };
        (state_of(&ahead.file) == Some(ahead.before) && ahead.lines.iter().all(is_same)).then_some(read)
    }
}

impl ReadAhead {
    /// Whether a row is one of those that are read.
    pub fn has(&self, row: RowNo) -> bool {
        (self.rows.0..self.rows.1).contains(&row)
    }

    /// The row after those that are read, and how many bytes to read ahead from there.
    pub fn next(&self) -> (RowNo, usize) {
        (self.rows.1, 2 * self.bytes)
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // What it found is of no use, nor why it failed.
            let _ = thread.join();
        }
    }
}

fn state_of(file: &File) -> Option<SizeAndTime> {
    fs::stat(file).ok().map(|stat| (stat.size, stat.changed))
}

/// The bodies of these lines; what is not as expected is left out.
fn read(file: &File, lines: &[AheadLine], bytes: &mut Vec<u8>) -> Vec<AheadBody> {
    let (mut bodies, mut found, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    let mut strings = Strings::of(2 * SHARED);
    let mut rest = lines;
    while let Some(first) = rest.first() {
        // Lines that follow one another are read together.
        let start = first.span.offset;
        let together = rest.windows(2).take_while(|pair| match pair {
            [before, line] => line.span.offset >= before.span.end() && line.span.end() - start <= WHOLE as u64,
            _ => false,
        });
        let (batch, later) = rest.split_at(1 + together.count());
        rest = later;
        let end = batch.last().map_or(start, |last| last.span.end());
        bytes.resize((end - start) as usize, 0);
        if fs::read_exact_at(file, start, bytes).is_err() {
            continue;
        }
        for AheadLine { row, span, expected } in batch {
            let from = (span.offset - start) as usize;
            let line = bytes.get(from..from + span.len as usize).unwrap_or_default();
            if !expected.is_same_outside_bodies(line) {
                continue;
            }
            for body in &expected.bodies {
                let text = line.get(body.from as usize..body.end() as usize).unwrap_or_default();
                if let Some(body_parts) = Parts::among(text, &mut strings) {
                    found.push((*row, body.of));
                    parts.push(body_parts);
                }
            }
            if strings.length() >= SHARED {
                bodies.extend(found.drain(..).zip(strings.share_copy(std::mem::take(&mut parts))));
            }
        }
    }
    bodies.extend(found.into_iter().zip(strings.share_copy(parts)));
    bodies.into_iter().map(|((row, of), parts)| AheadBody { row, of, parts }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::load::load;
    use crate::storage::file::FileStorage;
    use crate::storage::memory::MemoryStorage;
    use crate::testing::tests::wait_for_next_file_time;

    /// A session in a file: in each third entry a body, or two.
    fn session(dir: &tempfile::TempDir) -> (String, String) {
        let long = |at: usize| format!("line {at}\\n\\u65e5\u{e9}").repeat(40 + at);
        let entries = (0..200).map(|at| match at % 3 {
            0 => format!(
                "{{\"type\":\"custom\",\"id\":\"e{at}\",\"data\":[\"{}\"],\"content\":\"{}\"}}\n",
                long(at),
                long(7)
            ),
            1 => format!(
                "{{\"type\":\"message\",\"id\":\"e{at}\",\"message\":{{\"role\":\"user\",\"content\":\"short\"}}}}\n"
            ),
            _ => format!("{{\"type\":\"message\",\"id\":\"e{at}\",\"message\":{{\"content\":\"{}\"}}}}\n", long(at)),
        });
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}", entries.collect::<String>());
        let path = dir.path().join("session.jsonl").to_str().expect("a path in UTF-8").to_owned();
        std::fs::write(&path, &text).expect("written");
        wait_for_next_file_time();
        (path, text)
    }

    #[test]
    fn bodies_that_are_read_ahead_are_those_that_are_read_one_by_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, _) = session(&dir);
        let storage = FileStorage::open(&path).expect("opened");
        let index = load(&storage).expect("readable").expect("a session").index;
        let (mut from, mut bytes, mut read) = (0, 4096, 0);
        while let Some(ahead) = index.read_ahead(&storage, from, bytes, Vec::new()) {
            assert!(ahead.has(from) && !ahead.has(ahead.next().0));
            (from, bytes) = ahead.next();
            let (bodies, _) = index.finish_read_ahead(ahead).expect("unchanged");
            for AheadBody { row, of, parts } in bodies {
                assert_eq!(index.body(&storage, row, of).expect("read"), Some(parts));
                read += 1;
            }
        }
        assert_eq!(read, (0..200).map(|row| index.bodies(row).len()).sum::<usize>());
        assert!(read > 150);
        assert!(index.read_ahead(&storage, 200, 4096, Vec::new()).is_none());
    }

    #[test]
    fn what_was_read_ahead_of_a_file_that_changed_is_not_used() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, text) = session(&dir);
        let storage = FileStorage::open(&path).expect("opened");
        let index = load(&storage).expect("readable").expect("a session").index;
        let ahead = index.read_ahead(&storage, 0, MOST, Vec::new()).expect("started");
        std::fs::write(&path, format!("{text}\n")).expect("written");
        assert!(index.finish_read_ahead(ahead).is_none());
        // Lines that are no longer those of the index are left out.
        std::fs::write(&path, text.replace("\"e3\"", "\"x3\"")).expect("written");
        // The times of a file that has just changed would not tell another change.
        assert!(index.read_ahead(&storage, 0, MOST, Vec::new()).is_none());
        wait_for_next_file_time();
        let ahead = index.read_ahead(&storage, 0, MOST, Vec::new()).expect("started");
        let (bodies, _) = index.finish_read_ahead(ahead).expect("unchanged");
        assert!(bodies.iter().all(|body| body.row != 3) && bodies.iter().any(|body| body.row == 5));
        drop(index.read_ahead(&storage, 0, MOST, Vec::new()));
    }

    #[test]
    fn memory_is_not_read_ahead() {
        let dir = tempfile::tempdir().expect("a directory");
        let storage = MemoryStorage::new("test".into(), session(&dir).1.into_bytes());
        let index = load(&storage).expect("readable").expect("a session").index;
        assert!(index.read_ahead(&storage, 0, MOST, Vec::new()).is_none());
    }
}
