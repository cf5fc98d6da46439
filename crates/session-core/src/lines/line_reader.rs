//! Reads a file line by line into a buffer that is reused. Lines end only at `\n`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Take};
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::{memchr, memrchr};

use super::file_window::FileWindow;
use crate::base::error::part;
use crate::base::memory::{self, push_str};
use crate::format::entry::Damage;
use crate::io::fs::At;
use crate::json::reader::is_json;
use crate::json::scanner::Input;

/// How many bytes are read first to find the header.
pub(crate) const HEAD: usize = 4 << 10;

/// The longest line that is read or appended, in bytes. With two newlines it is the most that Linux writes in one call,
/// and it is less than a window of 2 GiB. pi writes no longer line, because a JavaScript string has at most 2^29 units,
/// each at most three bytes of UTF-8.
pub(crate) const MAX_LINE_BYTES: usize = 0x7fff_f000 - 2;
/// Lines of this length and more are searched for zero bytes. JSON contains none, but sparse files, and files that lost
/// data in a power failure, contain any number of them.
const GIANT: usize = 16 << 20;

/// One line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawLine<'a> {
    /// The position of the first byte in the file.
    pub offset: u64,
    /// The line's bytes without the newline; empty if the line was skipped.
    pub bytes: &'a [u8],
    /// Whether the line ends with a newline. Only the last line of a file may have none.
    pub is_terminated: bool,
    /// For a line that was skipped: the reason, and its length in bytes. None for a line that was read.
    pub skipped: Option<(Damage, u64)>,
}

impl<'a> RawLine<'a> {
    /// The length in bytes, without the newline.
    pub(crate) fn length(&self) -> u64 {
        self.skipped.map_or(self.bytes.len() as u64, |(_, len)| len)
    }

    /// The position in the file after the line and its newline.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.length() + u64::from(self.is_terminated)
    }

    /// Whether the line is torn: it has no newline and is not JSON.
    pub(crate) fn is_torn(&self) -> memory::Result<bool> {
        Ok(!self.is_terminated && (self.skipped.is_some() || !is_json(&line_text(self.bytes)?)))
    }
}

/// The text of a line. Invalid UTF-8 becomes U+FFFD. Fails with `OutOfMemory` if the allocation fails, because a line
/// may be as long as memory.
pub(crate) fn line_text(line: &[u8]) -> memory::Result<Cow<'_, str>> {
    if let Ok(text) = simdutf8::basic::from_utf8(line) {
        return Ok(Cow::Borrowed(text));
    }
    let mut text = String::new();
    for chunk in line.utf8_chunks() {
        push_str(&mut text, chunk.valid())?;
        push_str(&mut text, if chunk.invalid().is_empty() { "" } else { "\u{fffd}" })?;
    }
    Ok(Cow::Owned(text))
}

/// As [`line_text`], for a line that is no longer needed.
pub(crate) fn owned_text(line: Vec<u8>) -> memory::Result<String> {
    String::from_utf8(line).or_else(|error| line_text(error.as_bytes()).map(Cow::into_owned))
}

/// Reads a part of a file. Other readers of the same handle do not affect its position.
pub(crate) struct Positioned<'a> {
    source: Take<At<&'a File>>,
    stops: &'a [&'a AtomicBool],
}

impl<'a> Positioned<'a> {
    /// Reads the file's bytes `from..end`, or as many of them as exist. If one of the flags in `stops` is set, the next
    /// read fails: a cancellation cannot wait for the end of a line, which may be as long as the file.
    pub(crate) fn new(file: &'a File, from: u64, end: u64, stops: &'a [&'a AtomicBool]) -> Self {
        Self { source: At { file, offset: from }.take(end.saturating_sub(from)), stops }
    }
}

/// Whether one of the flags is set.
pub(crate) fn is_stopped(stops: &[&AtomicBool]) -> bool {
    stops.iter().any(|stop| stop.load(Ordering::Relaxed))
}

impl Read for Positioned<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if is_stopped(self.stops) {
            return Err(io::Error::other("the read was cancelled"));
        }
        self.source.read(into)
    }
}

/// Reads the lines of a source. At most one window, or the longest allowed line, is in memory.
pub(crate) struct LineReader<R> {
    window: FileWindow<R>,
    /// The position of the source's first byte in the file.
    offset: u64,
    /// The unread bytes are the window's bytes from `start` on. The first `searched` of them contain no newline.
    start: usize,
    searched: usize,
    /// How many of the unread bytes are known not to be zero.
    without_zero: usize,
    longest: usize,
    giant: usize,
}

impl<R: Read> LineReader<R> {
    /// Reads `source`, whose first byte is at `offset` in the file. Reads `chunk` bytes at first.
    pub(crate) fn new(source: R, offset: u64, chunk: usize) -> Self {
        Self::of(FileWindow::starting_with(source, chunk), offset)
    }

    /// Reads the lines of a window, whose first byte is at `offset` in the file.
    pub(crate) fn of(window: FileWindow<R>, offset: u64) -> Self {
        Self { window, offset, start: 0, searched: 0, without_zero: 0, longest: MAX_LINE_BYTES, giant: GIANT }
    }

    /// The buffer, for the next file.
    pub(crate) fn into_buffer(self) -> Box<[u8]> {
        self.window.into_buffer()
    }

    #[cfg(test)]
    fn with_limits(self, longest: usize, giant: usize) -> Self {
        Self { longest, giant, ..self }
    }

    /// The next line, or None at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.next_to(memchr)
    }

    /// The complete lines in memory, at least one, as one line with newlines in it; None at the end.
    pub(crate) fn next_lines(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.next_to(memrchr)
    }

    /// The bytes before a newline. `find` finds the newline in the bytes that were just read.
    fn next_to(&mut self, find: fn(u8, &[u8]) -> Option<usize>) -> io::Result<Option<RawLine<'_>>> {
        let (length, is_terminated) = loop {
            let unread = self.unread();
            if let Some(at) = find(b'\n', unread.get(self.searched..).unwrap_or_default()) {
                break (self.searched + at, true);
            }
            self.searched = unread.len();
            if self.searched >= self.giant {
                if let Some(why) = self.skip_reason() {
                    return self.skip(why).map(Some);
                }
            }
            if !self.read_more()? {
                if self.searched == 0 {
                    return Ok(None);
                }
                break (self.searched, false);
            }
        };
        let (from, offset) = (self.start, self.position());
        self.start += length + usize::from(is_terminated);
        (self.searched, self.without_zero) = (0, 0);
        let bytes = part(self.window.bytes(), from..from + length, "a window").map_err(io::Error::other)?;
        Ok(Some(RawLine { offset, bytes, is_terminated, skipped: None }))
    }

    fn unread(&self) -> &[u8] {
        self.window.bytes().get(self.start..).unwrap_or_default()
    }

    /// The position of the first unread byte in the file.
    fn position(&self) -> u64 {
        self.offset + self.window.dropped() + self.start as u64
    }

    /// Reads more. False at the end.
    fn read_more(&mut self) -> io::Result<bool> {
        let dropped = self.window.read_more(self.start)?;
        self.start -= dropped.unwrap_or_default();
        Ok(dropped.is_some())
    }

    /// The reason to skip the current line, of which all unread bytes are a part. None if it is to be read.
    fn skip_reason(&mut self) -> Option<Damage> {
        let unread = self.unread();
        let (len, has_zero) = (unread.len(), memchr(0, unread.get(self.without_zero..).unwrap_or_default()).is_some());
        self.without_zero = len;
        if has_zero {
            return Some(Damage::NotJson);
        }
        (len > self.longest).then_some(Damage::TooLong)
    }

    /// Skips the current line, of which all unread bytes are a part. Only a window of the usual size is in memory.
    fn skip(&mut self, why: Damage) -> io::Result<RawLine<'_>> {
        let offset = self.position();
        self.window.clear();
        (self.start, self.searched, self.without_zero) = (0, 0, 0);
        let is_terminated = loop {
            let newline = memchr(b'\n', self.unread());
            self.start = newline.map_or(self.window.bytes().len(), |at| self.start + at + 1);
            if newline.is_some() || !self.read_more()? {
                break newline.is_some();
            }
        };
        let len = self.position() - offset - u64::from(is_terminated);
        Ok(RawLine { offset, bytes: &[], is_terminated, skipped: Some((why, len)) })
    }
}

#[cfg(test)]
mod tests;
