//! A window that moves over a file of JSON lines.

use std::io::{self, Read};

use crate::base::memory::resize;
use crate::json::scanner::Input;

/// How many bytes are read at once from a file that is read whole. More would not stay in the processor's cache.
pub(crate) const WHOLE: usize = 1 << 18;
/// Buffers larger than this are not reused for another file.
const LARGEST_REUSED: usize = 4 << 20;

/// The part of a source that is in memory. It grows beyond its usual size only for a value that is kept.
#[derive(Debug)]
pub(crate) struct FileWindow<R> {
    source: R,
    buffer: Vec<u8>,
    /// The first size of the buffer.
    first: usize,
    /// The bytes in memory are `buffer[..end]`.
    end: usize,
    /// How many bytes of the source were dropped.
    dropped: u64,
    at_end: bool,
}

impl<R: Read> FileWindow<R> {
    /// A window of the usual size. `buffer` is the memory of an earlier window, or empty.
    pub(crate) fn new(source: R, buffer: Box<[u8]>) -> Self {
        let buffer = if buffer.len() < WHOLE { Box::default() } else { buffer };
        Self { source, buffer: buffer.into_vec(), first: WHOLE, end: 0, dropped: 0, at_end: false }
    }

    /// A window that reads `first` bytes at first. If they are not enough, it grows to the usual size.
    pub(crate) fn starting_with(source: R, first: usize) -> Self {
        Self { source, buffer: Vec::new(), first, end: 0, dropped: 0, at_end: false }
    }

    /// The buffer, for the next file; empty if a long value made it large.
    pub(crate) fn into_buffer(self) -> Box<[u8]> {
        if self.buffer.len() > LARGEST_REUSED {
            return Box::default();
        }
        self.buffer.into_boxed_slice()
    }

    /// Drops the bytes in memory, and the buffer.
    pub(crate) fn clear(&mut self) {
        self.dropped += self.end as u64;
        (self.buffer, self.end) = (Vec::new(), 0);
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl<R: Read> Input for FileWindow<R> {
    type Error = io::Error;
    const NEWLINE_IS_SPACE: bool = false;

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.end).unwrap_or_default()
    }

    fn read_more(&mut self, keep: usize) -> io::Result<Option<usize>> {
        if self.at_end {
            return Ok(None);
        }
        self.buffer.copy_within(keep..self.end, 0);
        self.end -= keep;
        self.dropped += keep as u64;
        if self.end == self.buffer.len() || self.buffer.len() < WHOLE {
            let len = if self.buffer.is_empty() { self.first } else { self.buffer.len() * 2 };
            resize(&mut self.buffer, len)?;
        }
        let free = self.buffer.get_mut(self.end..).unwrap_or_default();
        let read = read_some(&mut self.source, free)?;
        self.end += read;
        self.at_end = read == 0;
        Ok(Some(keep))
    }
}

/// Reads once; repeats the call if a signal interrupted it. Returns how many bytes were read, 0 at the end.
pub(crate) fn read_some(source: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
