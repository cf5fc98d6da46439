//! Copies lines of a storage to a new file. Neighbouring lines are copied together, and each is checked to be the line that
//! was indexed.

use super::index::Index;
use crate::base::error::{part, Result};
use crate::base::memory::append;
use crate::base::options::Durability;
use crate::io::line_reader::line_text;
use crate::io::line_span::LineSpan;
use crate::storage::file::FileStorage;
use crate::storage::new_file::NewFile;
use crate::storage::storage::{read_into, Storage};
use crate::tree::tree::RowNo;

/// How many bytes are copied together, unless one line has more.
const BATCH_BYTES: u64 = 1 << 18;

/// A new file that is being written from lines of a storage, and new ones.
pub struct Copier<'a> {
    /// None if there are only new lines.
    from: Option<&'a dyn Storage>,
    index: &'a Index,
    out: NewFile,
    /// Neighbouring lines that are yet to be copied, and their rows.
    run: Vec<(LineSpan, RowNo)>,
    buffer: Vec<u8>,
}

impl<'a> Copier<'a> {
    /// Begins to write `out` from lines of `from`, whose index is `index`.
    pub fn new(from: Option<&'a dyn Storage>, index: &'a Index, out: NewFile) -> Self {
        Self { from, index, out, run: Vec::new(), buffer: Vec::new() }
    }

    /// Adds a new line, given without its newline. Returns where it is.
    pub fn write(&mut self, line: &[u8]) -> Result<LineSpan> {
        self.copy_run()?;
        self.out.line(line)
    }

    /// Adds an entry's line unchanged. Returns where it is; None if it is not in the storage. An error, now or later, if the line no
    /// longer says what was indexed.
    pub fn keep(&mut self, row: RowNo) -> Result<Option<LineSpan>> {
        let Some(span) = self.index.line_span(row) else { return Ok(None) };
        let (start, end) = self.bounds();
        // Only a newline is between neighbours.
        if !self.run.is_empty() && (span.offset != end + 1 || span.end() - start > BATCH_BYTES) {
            self.copy_run()?;
        }
        let start = self.run.first().map_or(span.offset, |(first, _)| first.offset);
        self.run.push((span, row));
        Ok(Some(LineSpan { offset: self.out.size() + (span.offset - start), len: span.len }))
    }

    /// Writes what is left, and gives the file its name.
    pub fn finish(mut self, durability: Durability) -> Result<FileStorage> {
        self.copy_run()?;
        self.out.finish(durability)
    }

    /// Where the run begins and ends, its last newline not counted.
    fn bounds(&self) -> (u64, u64) {
        let start = self.run.first().map_or(0, |(first, _)| first.offset);
        (start, self.run.last().map_or(start, |(last, _)| last.end()))
    }

    /// Reads, checks and writes the run.
    fn copy_run(&mut self) -> Result<()> {
        let (Some(from), (start, end)) = (self.from.filter(|_| !self.run.is_empty()), self.bounds()) else {
            return Ok(());
        };
        // The last line of the storage may have no newline.
        let lacks_newline = end >= from.size()?;
        read_into(from, start, (end - start) as usize + usize::from(!lacks_newline), &mut self.buffer)?;
        if lacks_newline {
            append(&mut self.buffer, b"\n")?;
        }
        for (span, row) in std::mem::take(&mut self.run) {
            let at = (span.offset - start) as usize;
            let end = at + span.len as usize;
            let line = part(&self.buffer, at..end, "a run of lines")?;
            let line = line_text(line)?;
            self.index.check_copy(from.name(), row, &line)?;
            // A line that became longer still begins as it did.
            if self.buffer.get(end) != Some(&b'\n') {
                return Err(self.index.changed(from.name(), row, "no longer ends where it did"));
            }
        }
        self.out.bytes(&self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::load::load;
    use crate::storage::memory::MemoryStorage;

    #[test]
    fn lines_arrive_where_they_are_said_to() {
        let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}";
        let lines: Vec<_> = (0..4_000)
            .map(|n| if n % 1_900 == 1_899 { 2 * BATCH_BYTES as usize + n } else { n % 700 })
            .enumerate()
            .map(|(n, size)| format!("{{\"type\":\"custom\",\"id\":\"{n}\",\"data\":\"{}\"}}", "x".repeat(size)))
            .collect();
        let text = format!("{header}\n{}", lines.join("\n"));
        let storage = MemoryStorage::new("test".into(), text.into_bytes());
        let index = load(&storage).expect("readable").expect("a session").index;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("copy");
        let path = path.to_str().expect("text");
        let mut expected = Vec::new();
        let out = NewFile::create(path).expect("created");
        let mut copier = Copier::new(Some(&storage), &index, out);
        let mut spans = Vec::new();
        for row in 0..4_000 {
            match row % 97 {
                0 => {}
                1 => {
                    spans.push(copier.write(b"mine").expect("written"));
                    expected.push("mine");
                }
                _ => {
                    spans.push(copier.keep(row).expect("copied").expect("a place"));
                    expected.push(&lines[row as usize]);
                }
            }
        }
        let copy = copier.finish(Durability::Os).expect("written");
        assert_eq!(std::fs::read_to_string(path).expect("read"), format!("{}\n", expected.join("\n")));
        for (span, line) in spans.iter().zip(expected) {
            let mut bytes = vec![0; span.len as usize];
            copy.read_at(span.offset, &mut bytes).expect("read");
            assert_eq!(bytes, line.as_bytes());
        }
    }

    /// What a line says is changed in place, its length and beginning kept, early and late in a file.
    #[test]
    fn lines_that_no_longer_say_what_was_indexed_are_not_copied() {
        let line = |n: usize, parent: usize| {
            let filler = "x".repeat(900);
            format!("{{\"type\":\"custom\",\"id\":\"{n:05}\",\"parentId\":\"{parent:05}\",\"data\":\"{filler}\"}}\n")
        };
        let head = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
        let text = |odd: usize, parent: usize| {
            let lines = (1..6_000).map(|n| line(n, if n == odd { parent } else { n - 1 }));
            (head.to_owned() + &lines.collect::<String>()).into_bytes()
        };
        let index = load(&MemoryStorage::new("test".into(), text(0, 0))).expect("readable").expect("a session").index;
        let dir = tempfile::tempdir().expect("a directory");
        for odd in [3, 5_990] {
            let same_type = |bytes: &mut [u8]| bytes.copy_from_slice(b"label-");
            type Harm<'a> = (&'a str, &'a dyn Fn(&mut [u8]));
            let places: [Harm<'_>; 3] = [
                ("\"data\":\"xx", &|bytes| bytes.fill(0)),
                ("\"parentId\":\"0", &|bytes| bytes.fill(b' ')),
                ("custom", &same_type),
            ];
            let harmed = places.into_iter().map(|(at, harm)| {
                let mut bytes = text(0, 0);
                let line = line(odd, odd - 1);
                let start = memchr::memmem::find(&bytes, line.as_bytes()).expect("the line");
                let from = start + line.find(at).expect("the part");
                harm(bytes.get_mut(from..from + at.len()).expect("the part"));
                bytes
            });
            for bytes in harmed.chain([text(odd, odd - 2)]) {
                let storage = MemoryStorage::new("test".into(), bytes);
                let path = dir.path().join("copy");
                let out = NewFile::create(path.to_str().expect("text")).expect("created");
                let mut copier = Copier::new(Some(&storage), &index, out);
                let kept: Result<Vec<_>> = (0..5_999).map(|row| copier.keep(row)).collect();
                let error = kept.and_then(|_| copier.finish(Durability::Os)).err().expect("an error");
                assert!(error.is_changed() && error.to_string().contains(&format!("{odd:05}")), "{error}");
                assert!(!path.exists());
            }
        }
    }
}
