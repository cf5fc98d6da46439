//! The trait of storages, and reads that work with any storage.

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

/// The bytes of a span. Fails if there are not that many, or if the allocation fails.
pub(crate) fn bytes_at(storage: &dyn Storage, span: LineSpan) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_into(storage, span.offset, span.len as usize, &mut bytes)?;
    Ok(bytes)
}

/// Reads the `len` bytes at `offset` into `bytes`, replacing its content.
pub(crate) fn read_into(storage: &dyn Storage, offset: u64, len: usize, bytes: &mut Vec<u8>) -> Result<()> {
    resize(bytes, len)?;
    storage.read_at(offset, bytes)
}

/// Passes the bytes `from..to`, or as many of them as exist, in pieces.
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

/// The result of a check of the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStatus {
    /// The open file was not deleted, and has `size` bytes. The path was not checked.
    Open { size: u64 },
    /// The file has its name, and `size` bytes. Other processes may have appended or truncated. `changed`: its change
    /// time, if a later change would change it. `reopened`: the file was closed in between, so another file may have
    /// got its inode.
    Here { size: u64, changed: Option<Nanos>, reopened: bool },
    /// No file has the name. The content can still be read if `readable`. `deleted`: it seems to have no other name
    /// either.
    Gone { readable: bool, deleted: bool },
    /// Another file has the name. The content can still be read if `readable`.
    Replaced { readable: bool },
}

/// Stores a session's lines. Methods with a default are for files; only [`crate::storage::file::FileStorage`] overrides
/// them.
pub trait Storage: Send + Sync {
    /// Fills `into` from `offset`. Fails if there are not that many bytes.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()>;
    /// Reads from `offset` to the end.
    fn reader(&self, offset: u64) -> Result<Box<dyn Read + '_>>;
    /// The size in bytes. Other processes may have added some.
    fn size(&self) -> Result<u64>;
    /// Checks whether the storage is unchanged. Unless `checks_path`, this is mostly one call, which does not notice a
    /// rename; every few milliseconds it checks the path all the same.
    fn status(&self, _checks_path: bool) -> Result<FileStatus> {
        Ok(FileStatus::Open { size: self.size()? })
    }
    /// Appends a line, passed without its newline, in one write. Returns its position. Changes `line` to the bytes that
    /// were written: with a newline after it, and one before it if the last line was unterminated.
    fn append(&mut self, line: &mut Vec<u8>) -> Result<LineSpan>;
    /// Rolls back the line that `append` has just added: truncates it, or overwrites it with spaces if others wrote
    /// after it. Other bytes that are there now stay.
    fn rollback_append(&mut self, span: LineSpan, line: &[u8]) -> Result<()>;
    /// Sets whether the last line is unterminated; the next append then writes its newline first.
    fn set_unterminated(&mut self, _is_unterminated: bool) {}
    /// Records that other processes write here too. From then on each write and truncation takes the write lock.
    fn set_shared(&mut self) {}
    /// Waits until everything is on disk.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    /// Mode and owner of the file, even if it has no name any more; None if there is no file.
    fn metadata(&self) -> Result<Option<Metadata>> {
        Ok(None)
    }
    /// Whether the content can be read even if another file has the name.
    fn is_open(&self) -> bool {
        true
    }
    /// Closes the file. It is opened again at its next use.
    fn close(&mut self) {}
    /// The path with links followed, when the file was opened; None if there is no file. A file that is gone is created
    /// again only there, because a link that somebody creates later may lead elsewhere.
    fn target(&self) -> Option<&Path> {
        None
    }
    /// The name of the storage in messages.
    fn name(&self) -> &str;
}
