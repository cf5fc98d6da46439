//! Writes a session file for the first time.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::file::FileStorage;
use crate::base::error::{Error, Result, WithCall};
use crate::base::options::Durability;
use crate::io::fs::FileId;
use crate::io::temporary::{taken, Temporary};
use crate::io::{dirs, fs};
use crate::lines::line_span::LineSpan;
use crate::locks::sweep::sweep_if_due;
use crate::storage::storage::Storage;

/// How many bytes are collected before they are written.
const CHUNK: usize = 1 << 16;

/// A new session file, under a temporary name. [`NewFile::finish`] renames it.
pub(crate) struct NewFile {
    path: String,
    /// The path that the file will have, links followed.
    target: PathBuf,
    out: BufWriter<Temporary>,
    size: u64,
}

impl NewFile {
    /// Creates the file, for its owner only. Fails if the path exists.
    pub(crate) fn create(path: &str) -> Result<Self> {
        Self::at(path, PathBuf::from(path))
    }

    /// Creates the file of a storage again, at the path where it was, with its directory. Fails if the path exists. We
    /// do not follow the link again, because somebody may have planted another one: the file is created where the link
    /// led when the storage was opened, or under the link's own name if the link was deleted.
    pub(crate) fn again(old: &dyn Storage) -> Result<Self> {
        let path = old.name();
        let target = match fs::entry_at(Path::new(path)).with_call("open", path)? {
            Some(_) => old.target().map_or_else(|| PathBuf::from(path), Path::to_owned),
            None => PathBuf::from(path),
        };
        if let Some(dir) = target.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            dirs::make_dirs(dir, true).with_call("mkdir", path)?;
        }
        Self::at(path, target)
    }

    fn at(path: &str, target: PathBuf) -> Result<Self> {
        if fs::entry_at(&target).with_call("open", path)?.is_some() {
            return Err(Error::io("open", path, taken()));
        }
        sweep_if_due(&target);
        let temporary = Temporary::beside(&target).with_call("open", path)?;
        Ok(Self { path: path.to_owned(), target, out: BufWriter::with_capacity(CHUNK, temporary), size: 0 })
    }

    /// Adds a line, passed without its newline. Returns its position.
    pub(crate) fn line(&mut self, line: &[u8]) -> Result<LineSpan> {
        let span = LineSpan::of(self.size, line.len());
        self.bytes(line)?;
        self.bytes(b"\n")?;
        Ok(span)
    }

    /// Adds bytes unchanged.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).with_call("write", &self.path)
    }

    /// The size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Sets the mode of the file that it replaces, and the owner if that is allowed.
    pub(crate) fn set_like(&self, old: &dyn Storage) -> Result<()> {
        match old.metadata()? {
            Some(meta) => fs::set_like(&self.out.get_ref().file, &meta).with_call("fchmod", &self.path),
            None => Ok(()),
        }
    }

    /// Writes the remaining bytes, syncs if `durability` requires it, and renames the file to its name.
    pub(crate) fn finish(self, durability: Durability) -> Result<FileStorage> {
        let Self { path: name, target, out, size } = self;
        let mut temporary = out.into_inner().map_err(|error| error.into_error()).with_call("write", &name)?;
        let syncs = durability == Durability::Fsync;
        if syncs {
            fs::sync(&temporary.file).with_call("fsync", &name)?;
        }
        let storage = FileStorage::of_new(&name, &target, &temporary.file, durability)?;
        let path = target.as_path();
        temporary.name(path).with_call("link", &name)?;
        drop(temporary);
        // The lock protected the temporary name, which is gone.
        storage.unlock();
        if syncs {
            let synced = dirs::sync_dir_of(path).with_call("fsync", &name);
            // The name may not be on disk, so we remove the file: a retry must find its name free. A file that others
            // have put there stays.
            synced.inspect_err(|_| remove_as_made(path, storage.file_id(), size))?;
        }
        Ok(storage)
    }
}

/// Removes a file that was just created, unless others have replaced it or written to it.
pub(crate) fn remove_as_made(path: &Path, file_id: FileId, size: u64) {
    let found = fs::stat_path(path).ok().flatten();
    if found.is_some_and(|found| found.file_id == file_id && found.size == size) {
        let _ = fs::remove(path);
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = self.out.write(bytes)?;
        self.size += size as u64;
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
