//! The trait of storages, and reads that work on any of them.

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;

use crate::base::error::{part, Result, WithCall};
use crate::base::memory::resize;
use crate::io::file_fingerprint::Nanos;
use crate::lines::file_window::read_some;
use crate::lines::line_span::LineSpan;

/// How many bytes are copied at once.
const CHUNK: usize = 1 << 20;

/// The bytes of a span; an error if there are not that many, or no memory for them.
pub(crate) fn bytes_at(storage: &dyn Storage, span: LineSpan) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_into(storage, span.offset, span.len as usize, &mut bytes)?;
    Ok(bytes)
}

/// Makes `bytes` the `len` bytes at `offset`.
pub(crate) fn read_into(storage: &dyn Storage, offset: u64, len: usize, bytes: &mut Vec<u8>) -> Result<()> {
    resize(bytes, len)?;
    storage.read_at(offset, bytes)
}

/// Hands on the bytes `from..to`, as far as there are any, in pieces.
pub(crate) fn copy_bytes(
    storage: &dyn Storage,
    from: u64,
    to: u64,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut reader = storage.reader(from)?.take(to.saturating_sub(from));
    let size = storage.size()?.min(to).saturating_sub(from);
    let mut buffer = Vec::new();
    let chunk = usize::try_from(size + 1).unwrap_or(CHUNK).min(CHUNK);
    resize(&mut buffer, chunk)?;
    loop {
        let size = read_some(&mut reader, &mut buffer).with_call("read", storage.name())?;
        let bytes = part(&buffer, 0..size, "a buffer")?;
        if bytes.is_empty() {
            return Ok(());
        }
        each(bytes)?;
    }
}

/// What a check of the storage found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStatus {
    /// The open file was not deleted, and has `size` bytes. The path was not looked at.
    Open { size: u64 },
    /// It has its name, and `size` bytes; other processes may have appended or truncated. `changed`: its change time, if a later
    /// change would show in it. `reopened`: it was closed meanwhile, so that another file may have got its inode.
    Here { size: u64, changed: Option<Nanos>, reopened: bool },
    /// Nothing has its name. Its content can still be read if `readable`. `deleted`: it seems to have no other name either.
    Gone { readable: bool, deleted: bool },
    /// Another file has its name. Its content can still be read if `readable`.
    Replaced { readable: bool },
}

/// Stores a session's lines. Methods with a default are about files: only [`crate::storage::file::FileStorage`] overrides them.
pub trait Storage: Send + Sync {
    /// Fills `into` from `offset`; an error if there are not that many bytes.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()>;
    /// Reads on from `offset` to the end.
    fn reader(&self, offset: u64) -> Result<Box<dyn Read + '_>>;
    /// How many bytes there are now; others may have added some.
    fn size(&self) -> Result<u64>;
    /// Checks whether the storage is still what it was. Unless `checks_path`, this is mostly one call, which does not notice a rename;
    /// every few milliseconds the path is checked all the same.
    fn status(&self, _checks_path: bool) -> Result<FileStatus> {
        Ok(FileStatus::Open { size: self.size()? })
    }
    /// Appends a line, given without its newline, in one write. Returns where it is. `line` becomes what was written: a newline is
    /// added after it, and one before it if the last line lacked its own.
    fn append(&mut self, line: &mut Vec<u8>) -> Result<LineSpan>;
    /// Rolls back the line that `append` has just added: truncates it, or overwrites it with spaces if others wrote
    /// after it. If something else is there by now, that stays.
    fn rollback_append(&mut self, span: LineSpan, line: &[u8]) -> Result<()>;
    /// Sets whether the last line lacks its newline, which the next append then writes first.
    fn set_unterminated(&mut self, _is_unterminated: bool) {}
    /// Notes that other processes write here, too: every write and truncation asks for the write lock first.
    fn set_shared(&mut self) {}
    /// Waits until everything is on disk.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    /// Mode and owner of the file, which may have no name any more; None where there is no file.
    fn metadata(&self) -> Result<Option<Metadata>> {
        Ok(None)
    }
    /// Whether its content can be read even if another file has its name.
    fn is_open(&self) -> bool {
        true
    }
    /// Closes the file; it is opened again when it is needed.
    fn close(&mut self) {}
    /// Where the file was when it was opened, links followed; None where there is no file. A file that is gone is written
    /// again only there: a link that somebody creates later leads elsewhere.
    fn target(&self) -> Option<&Path> {
        None
    }
    /// The name of the storage in messages.
    fn name(&self) -> &str;
}
