//! Reading a file line by line in reused memory. Lines end at `\n` alone.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use super::storage::read_at;

/// How much is read at once from a file that will be read whole: more would not stay in the processor's cache.
pub const WHOLE: usize = 1 << 18;
/// How much is read at first from a file of which the header is wanted.
pub const HEAD: usize = 4 << 10;

/// One line as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawLine<'a> {
    /// Where it starts, in bytes from the start of the file.
    pub offset: u64,
    /// Its bytes, without the newline.
    pub bytes: &'a [u8],
    /// Whether a newline ends it; only a file's last line may lack one.
    pub ended: bool,
}

impl<'a> RawLine<'a> {
    /// The line as text: invalid UTF-8 becomes U+FFFD.
    pub fn text(&self) -> Cow<'a, str> {
        text_of(self.bytes)
    }
}

/// Bytes as text: invalid UTF-8 becomes U+FFFD.
pub fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// A file from a position on. Several may read one file, each at its own place.
pub struct Positioned<'a> {
    file: &'a File,
    at: u64,
    /// Nothing is read from here on.
    end: u64,
    /// Nothing is read any more once one of these is set.
    stops: &'a [&'a AtomicBool],
}

impl<'a> Positioned<'a> {
    /// The file's bytes in `from..end`, as far as it has them.
    pub fn new(file: &'a File, from: u64, end: u64) -> Self {
        Self { file, at: from, end, stops: &[] }
    }

    /// The same; once one of the flags is set, the next read fails. A line may be as long as the file, so who must stop
    /// soon cannot wait for its end.
    pub fn stopped_by(self, stops: &'a [&'a AtomicBool]) -> Self {
        Self { stops, ..self }
    }
}

/// Whether one of the flags is set.
pub fn is_stopped(stops: &[&AtomicBool]) -> bool {
    stops.iter().any(|stop| stop.load(Ordering::Relaxed))
}

impl Read for Positioned<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if is_stopped(self.stops) {
            return Err(io::Error::other("it was stopped"));
        }
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(into.len());
        let read = read_at(self.file, self.at, into.get_mut(..left).unwrap_or_default())?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads lines from a source, holding at most a chunk or the longest line.
pub struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    chunk: usize,
    /// The unread bytes are `buffer[start..end]`, of which no newline is in the first `searched`.
    start: usize,
    end: usize,
    searched: usize,
    offset: u64,
    at_end: bool,
}

impl<R: Read> LineReader<R> {
    /// Reads `source`, whose first byte is at `offset` of the file, `chunk` bytes at once at first.
    pub fn new(source: R, offset: u64, chunk: usize) -> Self {
        Self { source, buffer: Vec::new(), chunk, start: 0, end: 0, searched: 0, offset, at_end: false }
    }

    /// The next line, or None at the end.
    pub fn next_line(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let (length, ended) = loop {
            let unread = self.buffer.get(self.start..self.end).unwrap_or_default();
            let fresh = unread.get(self.searched..).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', fresh) {
                break (self.searched + at, true);
            }
            if self.at_end {
                if unread.is_empty() {
                    return Ok(None);
                }
                break (unread.len(), false);
            }
            self.searched = unread.len();
            self.fill()?;
        };
        let from = self.start;
        let offset = self.offset;
        let taken = length + usize::from(ended);
        self.start += taken;
        self.offset += taken as u64;
        self.searched = 0;
        let bytes = self.buffer.get(from..from + length).unwrap_or_default();
        Ok(Some(RawLine { offset, bytes, ended }))
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < self.end + self.chunk {
            self.buffer.resize((self.end + self.chunk).max(self.buffer.len() * 2), 0);
        }
        self.chunk = (self.chunk * 2).min(WHOLE);
        let free = self.buffer.get_mut(self.end..).unwrap_or_default();
        let read = loop {
            match self.source.read(free) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => break result?,
            }
        };
        self.end += read;
        self.at_end = read == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(self.0.len()).min(into.len());
            let (now, later) = self.0.split_at(size);
            into[..size].copy_from_slice(now);
            self.0 = later;
            Ok(size)
        }
    }

    proptest! {
        #[test]
        fn lines_are_what_a_split_gives(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200), step in 1usize..9, chunk in 1usize..16) {
            let mut reader = LineReader::new(Trickle(&bytes, step), 7, chunk);
            let mut seen = Vec::new();
            while let Some(line) = reader.next_line().expect("no error") {
                prop_assert_eq!(&bytes[line.offset as usize - 7..][..line.bytes.len()], line.bytes);
                seen.extend_from_slice(line.bytes);
                if line.ended {
                    seen.push(b'\n');
                }
                prop_assert!(!line.bytes.contains(&b'\n'));
            }
            prop_assert_eq!(seen, bytes);
        }
    }
}
