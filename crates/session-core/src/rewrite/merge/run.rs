//! A merge from the lock to the report. It starts over if another program changes the file in the meantime.

use super::layout::{MergeLayout, Merged};
use super::old_file::OldFile;
use crate::base::error::{Error, Result};
use crate::base::memory::{copy_of_bytes, push};
use crate::base::options::Durability;
use crate::locks::lock_file::SessionLockGuard;
use crate::rewrite::replace::{retried, Backup, Rewrite};
use crate::storage::memory::MemoryStorage;
use crate::storage::new_file::NewFile;
use crate::storage::storage::{read_into, Storage};

/// The part of the file that is known to contain the stored lines in their order.
#[derive(Debug, Clone, Copy)]
pub struct Since<'a> {
    /// The length of that part in bytes. All given stored lines come after it.
    pub bytes: u64,
    /// The last bytes of that part, by which it is recognised.
    pub tail: &'a [u8],
}

/// Merges stored lines of `session`, each ending with a newline, into the session file at an absolute path. Fails, and
/// changes nothing, if the file cannot be read or written, is another session's, or is locked by another process or by
/// a session that does not share its lock; or if a stored line is not an entry.
///
/// The file is replaced as a whole: if the process is killed, the old or the new file remains. Lines that other
/// programs append in the meantime are kept.
pub fn merge(path: &str, session: &str, stored: &[u8], since: Option<Since<'_>>) -> Result<Merged> {
    check_end(stored)?;
    let _lock = SessionLockGuard::join(path)?;
    retried(path, "stored lines are added", |original| {
        let storage = original.storage();
        if !since.map_or(Ok(true), |since| is_known(storage, since))? {
            return Ok(Some(Merged::needs_all()));
        }
        let old = OldFile::read(storage, session, since.map_or(0, |since| since.bytes), stored)?;
        let Some(mut layout) = MergeLayout::of(old, stored)? else { return Ok(Some(Merged::needs_all())) };
        let size = storage.size()?;
        let mut file_id = storage.file_id();
        let changed = layout.is_changed();
        if changed {
            let Some(replaced) = original.replace(Backup::None, &mut layout)? else { return Ok(None) };
            file_id = replaced.file_id;
        }
        // An unterminated last line gets its newline at the next change.
        let stored_bytes = if changed { layout.report.stored_bytes } else { layout.report.stored_bytes.min(size) };
        Ok(Some(Merged { changed, stored_bytes, inode: file_id.inode.to_string(), ..layout.report }))
    })
}

/// Without its newline the last stored line would be fused with the line after it.
fn check_end(stored: &[u8]) -> Result<()> {
    if stored.is_empty() || stored.ends_with(b"\n") {
        return Ok(());
    }
    Err(Error::argument("`lines` must end with a newline"))
}

/// Whether the file still begins with the known bytes.
fn is_known(storage: &dyn Storage, since: Since<'_>) -> Result<bool> {
    let Some(from) = since.bytes.checked_sub(since.tail.len() as u64).filter(|_| since.tail.ends_with(b"\n")) else {
        return Ok(false);
    };
    if storage.size()? < since.bytes {
        return Ok(false);
    }
    let mut tail = Vec::new();
    read_into(storage, from, since.tail.len(), &mut tail)?;
    Ok(tail == since.tail)
}

/// Creates the file of a session that this machine does not have yet, at an absolute path where nothing exists.
pub fn create(path: &str, session: &str, header: &[u8], stored: &[u8]) -> Result<Merged> {
    check_end(stored)?;
    let not_its_header = || Error::argument("`header` must be the header line of this session, of version 3");
    if header.contains(&b'\n') {
        return Err(not_its_header());
    }
    let mut line = copy_of_bytes(header)?;
    push(&mut line, b'\n')?;
    let header = MemoryStorage::new(path.to_owned(), line);
    let old = OldFile::read(&header, session, 0, stored).map_err(|error| match error.as_io() {
        Some(_) => error,
        None => not_its_header(),
    })?;
    let Some(mut layout) = MergeLayout::of(old, stored)? else {
        return Err(Error::internal("a new file has lines that are not stored"));
    };
    let mut file = NewFile::create(path)?;
    layout.write(&header, &mut file)?;
    let inode = file.finish(Durability::Fsync)?.file_id().inode.to_string();
    Ok(Merged { changed: true, inode, ..layout.report })
}
