//! Where the lines of a session are kept: one trait, its file engine and one for lines that have no file.
//!
//! Invariants: what `append` returned stands at its place; a failed `append` leaves what was there; reads never
//! change anything.

mod file;
mod replace;

pub use file::{make_dir, read_at, FileStorage, NewFile};
pub use replace::replace_with_backup;

use std::io::{self, Read};

use super::error::{Error, Result};

/// A place in the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub offset: u64,
    pub len: u32,
}

impl Place {
    /// The place of a line's bytes. Lines of 4 GiB and more cannot become text anyway; they are capped here.
    pub fn of(offset: u64, len: usize) -> Self {
        Self { offset, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }
}

/// Keeps a session's lines.
pub trait Storage: Send + Sync {
    /// Fills `into` from `offset`; an error if there are not that many bytes.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()>;
    /// Reads on from `offset` to the end.
    fn reader(&self, offset: u64) -> Result<Box<dyn Read + '_>>;
    /// How many bytes there are now; others may have added some. None if the storage was deleted: what it held can
    /// still be read, but nothing written to it would be found again.
    fn size(&self) -> Result<Option<u64>>;
    /// Adds one line (given without its newline) in one write and tells where it came to stand.
    fn append(&mut self, line: &[u8]) -> Result<Place>;
    /// Says that the storage ends in the middle of a line, which the next append must end first.
    fn set_unended(&mut self, unended: bool);
    /// The name of the storage in messages.
    fn name(&self) -> &str;
}

/// Lines in memory: a session that is read from a file but must not write to it.
pub struct MemoryStorage {
    name: String,
    bytes: Vec<u8>,
}

impl MemoryStorage {
    /// Holds these bytes, whole lines; `name` stands in messages.
    pub fn new(name: String, bytes: Vec<u8>) -> Self {
        Self { name, bytes }
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

    fn size(&self) -> Result<Option<u64>> {
        Ok(Some(self.bytes.len() as u64))
    }

    fn append(&mut self, line: &[u8]) -> Result<Place> {
        let place = Place::of(self.bytes.len() as u64, line.len());
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
        Ok(place)
    }

    fn set_unended(&mut self, _unended: bool) {}

    fn name(&self) -> &str {
        &self.name
    }
}
