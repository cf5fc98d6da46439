//! Lines in memory.

use std::io::{self, Read};

use crate::base::error::{Error, Result};
use crate::base::memory::{append, reserve};
use crate::lines::line_span::LineSpan;
use crate::storage::storage::Storage;

/// Lines in memory, for a session that is read from a file but must not write to it.
pub(crate) struct MemoryStorage {
    name: String,
    bytes: Vec<u8>,
    is_unterminated: bool,
}

impl MemoryStorage {
    /// A storage with these bytes. `name` is its name in messages.
    pub(crate) fn new(name: String, bytes: Vec<u8>) -> Self {
        Self { name, bytes, is_unterminated: false }
    }
}

impl Storage for MemoryStorage {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = from.checked_add(into.len()).and_then(|to| self.bytes.get(from..to));
        let bytes = found.ok_or_else(|| Error::io("read", &self.name, io::ErrorKind::UnexpectedEof.into()))?;
        into.copy_from_slice(bytes);
        Ok(())
    }

    fn reader(&self, offset: u64) -> Result<Box<dyn Read + '_>> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(Box::new(self.bytes.get(from..).unwrap_or_default()))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn append(&mut self, line: &mut Vec<u8>) -> Result<LineSpan> {
        let lead = usize::from(self.is_unterminated);
        let span = LineSpan::of((self.bytes.len() + lead) as u64, line.len());
        reserve(line, 2)?;
        line.push(b'\n');
        line.splice(0..0, std::iter::repeat_n(b'\n', lead));
        append(&mut self.bytes, line)?;
        self.is_unterminated = false;
        Ok(span)
    }

    fn rollback_append(&mut self, span: LineSpan, _line: &[u8]) -> Result<()> {
        self.bytes.truncate(usize::try_from(span.offset).unwrap_or(usize::MAX));
        Ok(())
    }

    fn set_unterminated(&mut self, is_unterminated: bool) {
        self.is_unterminated = is_unterminated;
    }

    fn name(&self) -> &str {
        &self.name
    }
}
