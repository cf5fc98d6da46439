//! Reads a file once, in chunks in reused memory, and gives the lines that can hold a hit.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicBool;

use memchr::{memchr, memrchr};

use super::prefilter::{Prefilter, LONGEST_MATCH};
use crate::base::memory::resize;
use crate::io::fs::At;
use crate::io::line_reader::{is_stopped, read_some};

/// How many bytes are read at once: what fits into a processor's cache.
pub const CHUNK: usize = 256 << 10;

/// The longest line that is held in memory.
pub const LONGEST_HELD: usize = 1 << 20;

/// A line that can hold a hit.
pub enum CandidateLine<'a> {
    /// Its bytes.
    Held(&'a [u8]),
    /// A line that is not held in memory.
    Long,
}

/// Sizes of what is read and held; tests use small ones.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub chunk: usize,
    pub longest_held: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { chunk: CHUNK, longest_held: LONGEST_HELD }
    }
}

/// Calls `each` with the offset of each candidate in the first `size` bytes of a file, in order, and the line. False if it was
/// stopped.
pub fn candidate_lines(
    (file, size): (&File, u64),
    filter: &Prefilter,
    sizes: Sizes,
    buffer: &mut Vec<u8>,
    stops: &[&AtomicBool],
    each: &mut dyn FnMut(u64, CandidateLine<'_>) -> io::Result<()>,
) -> io::Result<bool> {
    let mut source = At { file, offset: 0 };
    let mut window = CandidateRange { base: 0, filled: 0, from: 0, line: 0, skips: false };
    loop {
        if is_stopped(stops) {
            return Ok(false);
        }
        if buffer.len() < window.filled + sizes.chunk {
            resize(buffer, window.filled + sizes.chunk)?;
        }
        let most = usize::try_from(size.saturating_sub(source.offset)).unwrap_or(usize::MAX).min(sizes.chunk);
        let free = buffer.get_mut(window.filled..window.filled + most).unwrap_or_default();
        let read = read_some(&mut source, free)?;
        window.filled += read;
        let is_last = read == 0 || source.offset >= size;
        let keep = window.search(buffer.get(..window.filled).unwrap_or_default(), is_last, filter, sizes, each)?;
        if is_last {
            return Ok(true);
        }
        buffer.copy_within(keep..window.filled, 0);
        window.drop_before(keep);
    }
}

/// The part of a file that is in memory. Positions count from its first byte.
struct CandidateRange {
    /// The offset of the first byte in the file, and how many bytes there are.
    base: u64,
    filled: usize,
    /// Where to search on.
    from: usize,
    /// The offset in the file of the start of the line that `from` is in.
    line: u64,
    /// Whether the rest of that line is skipped.
    skips: bool,
}

impl CandidateRange {
    /// Searches what is in memory. Gives the position before which nothing is needed any more.
    fn search(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        filter: &Prefilter,
        sizes: Sizes,
        each: &mut dyn FnMut(u64, CandidateLine<'_>) -> io::Result<()>,
    ) -> io::Result<usize> {
        if self.skips {
            match memchr(b'\n', bytes.get(self.from..).unwrap_or_default()) {
                None => return Ok(self.skip_all()),
                Some(length) => self.begin_line(self.from + length + 1),
            }
        }
        let mut candidates = filter.candidates(bytes, self.from);
        while let Some(at) = candidates.next(self.from) {
            if let Some(newline) = memrchr(b'\n', bytes.get(self.from..at).unwrap_or_default()) {
                self.begin_line(self.from + newline + 1);
            }
            let end = memchr(b'\n', bytes.get(at..).unwrap_or_default()).map(|length| at + length);
            let start = self.line.checked_sub(self.base).and_then(|start| usize::try_from(start).ok());
            match (start, end.or(is_last.then_some(bytes.len()))) {
                (Some(start), Some(end)) => {
                    each(self.line, CandidateLine::Held(bytes.get(start..end).unwrap_or_default()))?;
                }
                // The rest of the line is read before it is looked at.
                (Some(start), None) if bytes.len() - start < sizes.longest_held => {
                    self.from = at;
                    return Ok(start);
                }
                _ => each(self.line, CandidateLine::Long)?,
            }
            match end {
                Some(end) => self.begin_line(end + 1),
                None => return Ok(self.skip_all()),
            }
        }
        let rest = bytes.get(self.from..).unwrap_or_default();
        if let Some(newline) = memrchr(b'\n', rest) {
            self.begin_line(self.from + newline + 1);
        }
        // A match may begin in what is searched already.
        self.from = self.from.max(bytes.len().saturating_sub(LONGEST_MATCH));
        let start = self.line.checked_sub(self.base).and_then(|start| usize::try_from(start).ok());
        Ok(start.filter(|start| bytes.len() - start <= sizes.chunk).unwrap_or(self.from))
    }

    fn begin_line(&mut self, at: usize) {
        (self.from, self.line, self.skips) = (at, self.base + at as u64, false);
    }

    fn skip_all(&mut self) -> usize {
        (self.from, self.skips) = (self.filled, true);
        self.filled
    }

    fn drop_before(&mut self, at: usize) {
        self.base += at as u64;
        self.filled -= at;
        self.from -= at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    proptest! {
        /// Wherever chunks end, the lines with the word are found, each once.
        #[test]
        fn the_lines_with_the_word_are_found(
            pieces in prop::collection::vec(prop_oneof![Just("\n"), Just("needle"), Just("nee"), Just("dle"), Just("xx"), Just("\\u0065"), Just("a longer piece of text")], 0..60),
            chunk in 1usize..40,
            longest_held in 1usize..60,
        ) {
            let text = pieces.concat();
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(text.as_bytes()).expect("written");
            let filter = Prefilter::of(&["needle".into()]).expect("a filter");
            let mut found = Vec::new();
            let mut each = |offset: u64, line: CandidateLine<'_>| {
                if let CandidateLine::Held(bytes) = line {
                    assert_eq!(text.as_bytes().get(offset as usize..).map(|rest| rest.starts_with(bytes)), Some(true));
                    let after = text.as_bytes().get(offset as usize + bytes.len());
                    assert!(!bytes.contains(&b'\n') && after.is_none_or(|byte| *byte == b'\n'));
                }
                found.push(offset);
                Ok(())
            };
            let sizes = Sizes { chunk, longest_held };
            let read = candidate_lines((&file, text.len() as u64), &filter, sizes, &mut Vec::new(), &[], &mut each);
            prop_assert!(read.expect("read"));
            let mut want = Vec::new();
            let mut offset = 0;
            for line in text.split_inclusive('\n') {
                if line.contains("needle") || line.contains("\\u0065") {
                    want.push(offset);
                }
                offset += line.len() as u64;
            }
            prop_assert_eq!(found, want);
        }
    }
}
