//! A merge from the lock to the report. It starts over if another program changes the file meanwhile.

use serde::Serialize;

use super::ids::RenamedEntry;
use super::layout::{LayoutResult, MergeLayout};
use super::old_file::OldFile;
use super::stored::StoredLines;
use crate::base::error::{Error, Result};
use crate::base::options::Durability;
use crate::format::header::Header;
use crate::io::line_reader::line_text;
use crate::io::lock_file::FileLock;
use crate::rewrite::replace::{Backup, RewriteTarget};
use crate::storage::new_file::NewFile;
use crate::storage::storage::{read_into, Storage};

/// How often a merge starts over because the file changed.
const TRIES: usize = 20;

/// How far the file is known to hold the stored lines in their order.
#[derive(Debug, Clone, Copy)]
pub struct Since<'a> {
    /// How many bytes of it. The given stored lines all come after those.
    pub bytes: u64,
    /// The last of these bytes, to recognise them by.
    pub tail: &'a [u8],
}

/// The report on a merge.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    /// Nothing was done: all stored lines are needed.
    pub needs_all: bool,
    /// Nothing was done: an entry of the file that is not stored has an id that a stored one has, or refers to an entry that gets
    /// a new id. It must be stored first.
    pub needs_push: bool,
    /// Whether the file was written.
    pub changed: bool,
    /// Stored lines that the file did not have.
    pub added: u64,
    /// Entries of the file that are not stored.
    pub unstored: u64,
    /// How many bytes of the file hold the stored lines in their order.
    pub stored_bytes: u64,
    /// The number of the file that this says something of: another process may have replaced it since. Empty if nothing was done.
    pub inode: String,
    pub renamed: Vec<RenamedEntry>,
}

/// Brings stored lines of `session` into the session file at an absolute path. An error, and nothing changed, if it cannot be read
/// or written, is another session's, or if another process has its lock.
///
/// The file is replaced as a whole: a process that is killed leaves the old one or the new one. Lines that other programs append
/// meanwhile are kept.
pub fn merge(path: &str, session: &str, stored: StoredLines<'_>, since: Option<Since<'_>>) -> Result<Merged> {
    let _lock = FileLock::take(path)?;
    for _ in 0..TRIES {
        let original = RewriteTarget::hold(path)?;
        let storage = original.storage();
        if !since.map_or(Ok(true), |since| is_known(storage, since))? {
            break;
        }
        let old = OldFile::read(storage, session, since.map_or(0, |since| since.bytes), stored)?;
        let mut layout = match MergeLayout::of(storage, old, stored)? {
            LayoutResult::Ready(layout) => layout,
            LayoutResult::NeedsPush => return Ok(Merged { needs_push: true, ..Merged::default() }),
            LayoutResult::NeedsAll => break,
        };
        let size = storage.size()?;
        let mut file_id = original.file_id();
        if layout.is_changed {
            let Some(replaced) = original.replace(Backup::None, &mut layout)? else { continue };
            file_id = replaced.file_id;
        }
        let MergeLayout { added, unstored, stored_bytes, renamed, is_changed: changed, .. } = layout;
        // A last line without its newline gets it with the next change.
        let stored_bytes = if changed { stored_bytes } else { stored_bytes.min(size) };
        let inode = file_id.inode.to_string();
        return Ok(Merged { changed, added, unstored, stored_bytes, inode, renamed, ..Merged::default() });
    }
    match since {
        Some(_) => Ok(Merged { needs_all: true, ..Merged::default() }),
        None => Err(Error::changed(path, "others keep writing to it while stored lines are added")),
    }
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

/// Makes the file of a session that is not here yet, at an absolute path where nothing is.
pub fn create(path: &str, session: &str, header: &[u8], stored: StoredLines<'_>) -> Result<Merged> {
    let read = Header::read(&line_text(header)?)?;
    if header.contains(&b'\n') || read.is_none_or(|read| read.id != session.as_bytes()) {
        return Err(Error::argument("`header` must be the header line of this session"));
    }
    let layout = MergeLayout::new_file(stored)?;
    let mut file = NewFile::create(path)?;
    file.line(header)?;
    for line in layout.new_lines() {
        file.line(line)?;
    }
    let inode = file.finish(Durability::Fsync)?.file_id().inode.to_string();
    let MergeLayout { added, stored_bytes, renamed, .. } = layout;
    let stored_bytes = stored_bytes + header.len() as u64 + 1;
    Ok(Merged { changed: true, added, stored_bytes, inode, renamed, ..Merged::default() })
}
