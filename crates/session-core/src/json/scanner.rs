//! The JSON scanner: checks and skips values by the rules of `JSON.parse`, without building them.
//!
//! It reads from an [`Input`]: text in memory, or a window that moves over a file (`lines/file_window.rs`). It skips
//! values of any size and depth without further memory. It keeps a value in one piece only if the caller asks for that
//! value, up to a limit.

use std::io;

use super::simd::{short_end, skip_string, Skipped};
use super::string::unescape;
use crate::base::memory::{self, OutOfMemory};

/// The longest key that is compared, in bytes. No key that a caller looks for is longer.
const LONGEST_KEY: usize = 1 << 10;

/// The bytes that a scanner reads.
pub(crate) trait Input {
    /// Why no more bytes could be read or kept.
    type Error: From<OutOfMemory>;
    /// Whether a newline is white space. In JSON Lines it ends the value.
    const NEWLINE_IS_SPACE: bool;

    /// The bytes in memory.
    fn bytes(&self) -> &[u8];

    /// Reads more bytes after those in memory, and may drop the bytes before `keep`. Returns how many were dropped, or
    /// None at the end of the input.
    fn read_more(&mut self, keep: usize) -> Result<Option<usize>, Self::Error>;
}

/// A text in memory, or bytes.
impl<T: AsRef<[u8]>> Input for T {
    type Error = OutOfMemory;
    const NEWLINE_IS_SPACE: bool = true;

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.as_ref()
    }

    #[inline(always)]
    fn read_more(&mut self, _keep: usize) -> Result<Option<usize>, Self::Error> {
        Ok(None)
    }
}

/// Why a value was not scanned to its end. The scanner is then at the first byte that it could not scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanError<E> {
    /// The text is not JSON.
    Malformed,
    /// The input could not be read, or an allocation failed.
    Input(E),
}

impl<E> ScanError<E> {
    /// The error of the input; None if the text is not JSON.
    pub(crate) fn cause(self) -> Option<E> {
        match self {
            ScanError::Malformed => None,
            ScanError::Input(error) => Some(error),
        }
    }
}

impl<E> From<E> for ScanError<E> {
    fn from(error: E) -> Self {
        ScanError::Input(error)
    }
}

impl From<OutOfMemory> for ScanError<io::Error> {
    fn from(error: OutOfMemory) -> Self {
        ScanError::Input(error.into())
    }
}

pub(crate) type ScanResult<T, I> = Result<T, ScanError<<I as Input>::Error>>;

/// Scans an input from a position.
#[derive(Debug)]
pub(crate) struct Scanner<I> {
    pub input: I,
    /// The index in memory of the next byte.
    at: usize,
    /// The index of the kept value's first byte, and the limit of its length.
    kept: Option<(usize, usize)>,
    containers: Containers,
}

/// The open containers, one bit each: 1 for an object. Up to 64 need no allocation.
#[derive(Debug, Default)]
struct Containers {
    bits: u64,
    depth: usize,
    outer: Vec<u64>,
}

impl Containers {
    fn push(&mut self, is_object: bool) -> memory::Result<()> {
        if self.depth != 0 && self.depth.is_multiple_of(64) {
            memory::push(&mut self.outer, self.bits)?;
        }
        self.bits = self.bits << 1 | u64::from(is_object);
        self.depth += 1;
        Ok(())
    }

    fn last_is_object(&self) -> bool {
        self.bits & 1 == 1
    }

    fn pop(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
        if self.depth != 0 && self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }
}

impl<'a> Scanner<&'a str> {
    /// Skips by `skip`, and returns the skipped part of the text.
    pub(crate) fn span(
        &mut self,
        skip: impl FnOnce(&mut Self) -> ScanResult<(), &'a str>,
    ) -> ScanResult<&'a str, &'a str> {
        self.next_token()?;
        let from = self.at;
        skip(self)?;
        self.input.get(from..self.at).ok_or(ScanError::Malformed)
    }
}

impl<I: Input> Scanner<I> {
    /// A scanner at the start of an input.
    pub(crate) fn new(input: I) -> Self {
        Self { input, at: 0, kept: None, containers: Containers::default() }
    }

    /// A scanner at a position of an input.
    pub(crate) fn starting_at(input: I, at: usize) -> Self {
        Self { at, ..Self::new(input) }
    }

    /// Resets the scanner after a failed scan. The position stays.
    pub(crate) fn forget_failure(&mut self) {
        self.kept = None;
        self.containers = Containers::default();
    }

    /// The index in memory of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Skips the next byte, which the caller has peeked.
    pub(crate) fn skip_byte(&mut self) {
        self.at += 1;
    }

    /// The next byte, or None at the end. Does not skip it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, I::Error> {
        match self.input.bytes().get(self.at) {
            Some(byte) => Ok(Some(*byte)),
            None => self.peek_further(),
        }
    }

    #[cold]
    fn peek_further(&mut self) -> Result<Option<u8>, I::Error> {
        if self.read_more()? {
            Ok(self.input.bytes().get(self.at).copied())
        } else {
            Ok(None)
        }
    }

    /// Skips white space and returns the next byte, or None at the end. Does not skip that byte.
    #[inline]
    pub(crate) fn next_token(&mut self) -> Result<Option<u8>, I::Error> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\n') if I::NEWLINE_IS_SPACE => self.at += 1,
                other => return Ok(other),
            }
        }
    }

    /// Skips white space, and the token if it is next. Returns whether it was.
    #[inline]
    pub(crate) fn take(&mut self, token: u8) -> Result<bool, I::Error> {
        let is_next = self.next_token()? == Some(token);
        self.at += usize::from(is_next);
        Ok(is_next)
    }

    /// Skips white space and the token. Fails if another byte is next.
    #[inline]
    pub(crate) fn expect(&mut self, token: u8) -> ScanResult<(), I> {
        if self.take(token)? {
            Ok(())
        } else {
            Err(ScanError::Malformed)
        }
    }

    /// Moves to the next element of an array, or the next key of an object, after its opening bracket was skipped.
    /// Returns false at the closing bracket, and does not skip it. `first` is true before the first call.
    pub(crate) fn next_element(&mut self, first: &mut bool, close: u8) -> ScanResult<bool, I> {
        let is_first = std::mem::replace(first, false);
        match self.next_token()? {
            Some(token) if token == close => Ok(false),
            Some(_) if is_first => Ok(true),
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(ScanError::Malformed),
        }
    }

    /// Reads an object. Calls `member` for each member, at its value, with the result of `find` for its key. `find`
    /// receives keys without escapes.
    pub(crate) fn members<K>(
        &mut self,
        find: impl Fn(&[u8]) -> Option<K>,
        mut member: impl FnMut(&mut Self, Option<K>) -> ScanResult<(), I>,
    ) -> ScanResult<(), I> {
        self.expect(b'{')?;
        let mut first = true;
        while self.next_element(&mut first, b'}')? {
            if self.next_token()? != Some(b'"') {
                return Err(ScanError::Malformed);
            }
            let quoted = self.keep(LONGEST_KEY, Self::skip_string)?.unwrap_or_default();
            let key = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
            let mut found = find(key);
            if found.is_none() && key.contains(&b'\\') {
                found = unescape(key).map_err(I::Error::from)?.and_then(|key| find(&key));
            }
            self.expect(b':')?;
            member(self, found)?;
        }
        self.expect(b'}')
    }

    /// Reads a value and returns its text without white space around it; None if the text is longer than `limit`.
    pub(crate) fn value(&mut self, limit: usize) -> ScanResult<Option<&[u8]>, I> {
        self.next_token()?;
        self.keep(limit, Self::skip_value)
    }

    /// Keeps the bytes that `skip` skips in memory, unless they are longer than `limit`.
    #[inline]
    fn keep(
        &mut self,
        limit: usize,
        skip: impl FnOnce(&mut Self) -> ScanResult<(), I>,
    ) -> ScanResult<Option<&[u8]>, I> {
        self.kept = Some((self.at, limit));
        let skipped = skip(self);
        let kept = self.kept.take();
        skipped?;
        let bytes = kept.and_then(|(from, _)| self.input.bytes().get(from..self.at));
        Ok(bytes.filter(|bytes| bytes.len() <= limit))
    }

    /// Drops the scanned bytes that are not kept, and reads more. False at the end.
    fn read_more(&mut self) -> Result<bool, I::Error> {
        self.kept = self.kept.filter(|(from, limit)| self.at - from < *limit);
        let keep = self.kept.map_or(self.at, |(from, _)| from);
        let Some(dropped) = self.input.read_more(keep)? else { return Ok(false) };
        self.at -= dropped;
        self.kept = self.kept.map(|(from, limit)| (from - dropped, limit));
        Ok(true)
    }

    /// Skips everything up to and including a byte. False if the input ends before it, or if `should_continue` returns
    /// false when the bytes in memory do not contain it.
    pub(crate) fn skip_past(
        &mut self,
        byte: u8,
        mut should_continue: impl FnMut(&Self) -> bool,
    ) -> Result<bool, I::Error> {
        loop {
            let rest = self.input.bytes().get(self.at..).unwrap_or_default();
            if let Some(length) = memchr::memchr(byte, rest) {
                self.at += length + 1;
                return Ok(true);
            }
            self.at += rest.len();
            if !should_continue(self) || !self.read_more()? {
                return Ok(false);
            }
        }
    }

    /// Skips a value.
    pub(crate) fn skip_value(&mut self) -> ScanResult<(), I> {
        let depth = self.containers.depth;
        loop {
            // A value is next.
            match self.next_token()? {
                Some(b'"') => self.skip_string()?,
                Some(b'{') => {
                    self.at += 1;
                    if !self.take(b'}')? {
                        self.containers.push(true).map_err(I::Error::from)?;
                        self.skip_key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    if !self.take(b']')? {
                        self.containers.push(false).map_err(I::Error::from)?;
                        continue;
                    }
                }
                Some(b't') => self.skip_word(b"true")?,
                Some(b'f') => self.skip_word(b"false")?,
                Some(b'n') => self.skip_word(b"null")?,
                Some(b'-' | b'0'..=b'9') => self.skip_number()?,
                _ => return Err(ScanError::Malformed),
            }
            // After a value: its container ends, or another element follows.
            loop {
                if self.containers.depth == depth {
                    return Ok(());
                }
                let is_object = self.containers.last_is_object();
                if self.take(b',')? {
                    if is_object {
                        self.skip_key()?;
                    }
                    break;
                }
                self.expect(if is_object { b'}' } else { b']' })?;
                self.containers.pop();
            }
        }
    }

    fn skip_key(&mut self) -> ScanResult<(), I> {
        match self.next_token()? {
            Some(b'"') => self.skip_string()?,
            _ => return Err(ScanError::Malformed),
        }
        self.expect(b':')
    }

    /// Skips a string. Its opening quote is next.
    pub(crate) fn skip_string(&mut self) -> ScanResult<(), I> {
        self.at += 1;
        if let Some(end) = short_end(self.input.bytes(), self.at) {
            self.at = end;
            return Ok(());
        }
        loop {
            match skip_string(self.input.bytes(), self.at) {
                Skipped::Closed(end) => {
                    self.at = end;
                    return Ok(());
                }
                Skipped::Open(at) => {
                    self.at = at;
                    if !self.read_more()? {
                        return Err(ScanError::Malformed);
                    }
                }
                Skipped::Bad(at) => {
                    self.at = at;
                    return Err(ScanError::Malformed);
                }
            }
        }
    }

    fn skip_word(&mut self, word: &[u8]) -> ScanResult<(), I> {
        for wanted in word {
            if self.peek()? != Some(*wanted) {
                return Err(ScanError::Malformed);
            }
            self.at += 1;
        }
        Ok(())
    }

    fn skip_number(&mut self) -> ScanResult<(), I> {
        self.take_any(b"-")?;
        if !self.take_any(b"0")? {
            self.skip_digits()?;
        }
        if self.take_any(b".")? {
            self.skip_digits()?;
        }
        if self.take_any(b"eE")? {
            self.take_any(b"+-")?;
            self.skip_digits()?;
        }
        Ok(())
    }

    fn take_any(&mut self, bytes: &[u8]) -> Result<bool, I::Error> {
        let is_next = self.peek()?.is_some_and(|byte| bytes.contains(&byte));
        self.at += usize::from(is_next);
        Ok(is_next)
    }

    /// Skips one or more digits.
    fn skip_digits(&mut self) -> ScanResult<(), I> {
        if !self.peek()?.is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(ScanError::Malformed);
        }
        loop {
            let rest = self.input.bytes().get(self.at..).unwrap_or_default();
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let is_end = digits < rest.len();
            self.at += digits;
            if is_end || !self.read_more()? {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
pub mod tests;
