//! The trait of what keeps lines, and the reading that every such thing has.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;

use crate::core::base::error::{Error, Result};
use crate::core::io::line_reader::resize;
use crate::core::io::line_span::LineSpan;

/// How many bytes are copied at once.
const CHUNK: usize = 1 << 20;

/// The bytes at a place; an error if there are not that many, or no memory for them.
pub fn bytes_at(storage: &dyn Storage, place: LineSpan) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_into(storage, place.offset, place.len as usize, &mut bytes)?;
    Ok(bytes)
}

/// Makes `bytes` the `len` bytes that stand at `offset`.
pub fn read_into(storage: &dyn Storage, offset: u64, len: usize, bytes: &mut Vec<u8>) -> Result<()> {
    resize(bytes, len).map_err(|error| Error::io("read", storage.name(), error))?;
    storage.read_at(offset, bytes)
}

/// Hands on the bytes `from..to`, as far as there are any, in pieces. Tells the last of them.
pub fn copy_bytes(
    storage: &dyn Storage,
    from: u64,
    to: u64,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Option<u8>> {
    let mut reader = storage.reader(from)?.take(to.saturating_sub(from));
    let size = storage.size()?.min(to).saturating_sub(from);
    let mut buffer = vec![0; usize::try_from(size + 1).unwrap_or(CHUNK).min(CHUNK)];
    let mut last = None;
    loop {
        let size = match reader.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result.map_err(|error| Error::io("read", storage.name(), error))?,
        };
        let bytes = buffer.get(..size).unwrap_or_default();
        match bytes.last() {
            None => return Ok(last),
            Some(&byte) => last = Some(byte),
        }
        each(bytes)?;
    }
}

/// What a look at the storage found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStatus {
    /// It is where it was, with this many bytes; others may have added some, or taken some away. `touched`: its times
    /// tell that somebody else changed it, or may have. `reopened`: it was closed meanwhile, and what is there now looks
    /// like the same file, but may be another.
    Here { size: u64, touched: bool, reopened: bool },
    /// Its name leads nowhere now. What it held can still be read if `readable`, but nothing written to it would be
    /// found again. `deleted`: it has no other name either, as far as can be told.
    Gone { readable: bool, deleted: bool },
    /// Its name leads to something else. What it held can still be read if `readable`.
    Replaced { readable: bool },
}

/// Keeps a session's lines.
pub trait Storage: Send + Sync {
    /// Fills `into` from `offset`; an error if there are not that many bytes.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()>;
    /// Reads on from `offset` to the end.
    fn reader(&self, offset: u64) -> Result<Box<dyn Read + '_>>;
    /// How many bytes there are now; others may have added some.
    fn size(&self) -> Result<u64>;
    /// Looks whether it is still what it was, before something is written to it. Not `thorough`, it costs one call
    /// and may miss what was done to its name, or without a change of its size, a moment ago.
    fn status(&self, thorough: bool) -> Result<FileStatus>;
    /// How often `look` looked at all there is to see, which it does not do every time.
    fn full_checks(&self) -> u64;
    /// Adds one line (given without its newline) in one write and tells where it came to stand.
    fn append(&mut self, line: &mut Vec<u8>) -> Result<LineSpan>;
    /// Takes out a line that `append` has just added: cut off, or made blank where others wrote behind it (its newline
    /// stays then). Where something else stands by now, that stays.
    fn rollback_append(&mut self, place: LineSpan, line: &[u8]) -> Result<()>;
    /// Says that the storage ends in the middle of a line, which the next append must end first.
    fn set_lacks_final_newline(&mut self, lacks_final_newline: bool);
    /// Says that others write here too: what is written or cut off is so under a lock of a moment.
    fn set_shared(&mut self);
    /// Waits until the disk has everything.
    fn flush(&mut self) -> Result<()>;
    /// Mode and owner of the file, which may have no name any more; None where there is no file.
    fn metadata(&self) -> Result<Option<Metadata>>;
    /// Whether what it holds can be read even if its name leads elsewhere by now.
    fn is_open(&self) -> bool;
    /// Lets go of the file; it is opened again when it is needed.
    fn close(&mut self);
    /// Where the file was when it was opened, links followed; None where there is no file. A file that is gone is written
    /// again there alone: a link that somebody put in its place later leads elsewhere.
    fn target(&self) -> Option<&Path>;
    /// The name of the storage in messages.
    fn name(&self) -> &str;
}
