//! Checks the file of an open session and reads the changes of other processes: they may have appended to it, or
//! deleted, renamed, replaced or truncated it.

use std::cmp::Ordering;
use std::io;

use crate::base::error::{Error, Result};
use crate::base::options::Durability;
use crate::io::file_fingerprint::Nanos;
use crate::storage::new_file::NewFile;
use crate::storage::storage::{copy_bytes, FileStatus, Storage};
use crate::tree::RowNo;

use super::{CheckDepth, PreviousFile};
use crate::session::{ForeignChangeKind, Persistence, RowRemap, Session};
use crate::summary::header_scan::first_header;

/// How often the check is repeated if another file takes the name in the meantime.
const CHECKS: usize = 8;

/// The lines of the file that are compared with the index.
#[derive(Debug, Clone, Copy)]
enum Compared {
    /// The header and the last line.
    Ends,
    /// Every line, unless the file's change time is the same as when all were last compared.
    AllIfChanged,
    All,
}

/// The result of reading the changes that a check found.
enum TakenIn {
    /// All changes were read.
    All,
    /// The session is in another file now. The next check shows whether that file has kept the name.
    Moved,
}

impl Session {
    /// Reads the changes of other processes to the file. This **creates the file again if it was deleted or renamed**,
    /// unless the session is read-only. A file that was replaced or rewritten is read if it contains the same session;
    /// then rows may have other numbers, see [`RowNo`]. The leaf stays if its entry still exists. Otherwise it becomes
    /// its nearest ancestor that exists, else the last entry. The leaf of a read-only session is always the last entry.
    ///
    /// This normally costs one system call. The path is checked at most every 10 ms, so another file there may be
    /// noticed that much later.
    ///
    /// # Errors
    ///
    /// - `SessionChanged`: the file contains another session now, or belongs to another user; for a read-only session
    ///   also if the file is gone.
    /// - `SessionDeleted`: the file is gone, and its content cannot be read any more.
    /// - `System`: the file could not be read or written.
    pub fn refresh(&mut self) -> Result<()> {
        self.check_file(CheckDepth::Quick)
    }

    /// As [`refresh`](Self::refresh), and also notices another file at the path at once, and changed content of the
    /// same length. For that it reads the whole file, unless the change time is the same as the last time. After it
    /// rows may have other numbers too.
    ///
    /// # Errors
    ///
    /// The errors of [`refresh`](Self::refresh).
    pub fn reload(&mut self) -> Result<()> {
        self.check_file(CheckDepth::Full)
    }

    /// Reads the current content of the file, after a read found that a line was not at its position. Writes nothing.
    #[doc(hidden)]
    pub fn refresh_for_read(&mut self) -> Result<()> {
        self.check_file(CheckDepth::ForRead)
    }

    /// Checks the file's name, header and last lines, and waits until the file is on disk. Does nothing if there is no
    /// file. Rows may have other numbers after it, as after [`refresh`](Self::refresh).
    ///
    /// # Errors
    ///
    /// The errors of [`refresh`](Self::refresh).
    pub fn flush(&mut self) -> Result<()> {
        self.check_file(CheckDepth::Ends)?;
        for _ in 0..CHECKS {
            let Some(storage) = self.storage.as_mut().filter(|_| self.persistence == Persistence::File) else {
                return Ok(());
            };
            storage.flush()?;
            // Another file may have got the name in the meantime.
            if matches!(storage.status(true)?, FileStatus::Here { .. } | FileStatus::Open { .. }) {
                return Ok(());
            }
            self.check_file(CheckDepth::Ends)?;
        }
        Err(Error::changed(self.file().unwrap_or_default(), "others keep replacing it; try again later"))
    }

    /// Checks the file and closes it. It is checked while it is open, because it may be the only copy of the lines that
    /// were appended here. After an error it stays open. If nothing was appended here, a deleted file stays deleted.
    /// Rows may have other numbers after it.
    ///
    /// # Errors
    ///
    /// The errors of [`refresh`](Self::refresh).
    pub fn check_and_close(&mut self) -> Result<()> {
        if !self.appended.is_empty() && self.storage.as_ref().is_some_and(|storage| storage.is_open()) {
            self.check_file(CheckDepth::Ends)?;
        }
        self.close();
        Ok(())
    }

    /// Closes the file and releases the lock. The session stays usable: the next call that needs the file opens it
    /// again, and the next append takes the lock again.
    pub fn close(&mut self) {
        if let Some(storage) = self.storage.as_mut() {
            storage.close();
        }
        self.release_lock();
    }

    /// How rows changed since the last call of this function; None if they did not. A program that keeps row numbers
    /// calls it after every call with `&mut self`. Until then the previous state of the session is kept, with its index
    /// and its open file.
    pub fn take_remap(&mut self) -> Option<RowRemap> {
        self.remap.take().map(|moved| *moved)
    }

    /// Checks the file and reads the changes. The leaf of a read-only session is the last entry of the file.
    fn check_file(&mut self, depth: CheckDepth) -> Result<()> {
        let checked = self.check_and_take_in(depth).map_err(|error| error.with_path(self.file()));
        if self.persistence != Persistence::ReadOnly {
            return checked;
        }
        let last = (self.tree().len() as RowNo).checked_sub(1);
        self.index.tree.set_leaf(last);
        match checked {
            // `SessionChanged` instead, because a read-only session cannot write the file again.
            Err(error) if error.is_lost() => {
                Err(Error::changed(self.file().unwrap_or_default(), "it is empty or does not exist any more"))
            }
            checked => checked,
        }
    }

    fn check_and_take_in(&mut self, depth: CheckDepth) -> Result<()> {
        let Some(storage) = self.storage.as_ref().filter(|_| self.persistence != Persistence::Memory) else {
            return Ok(());
        };
        let is_quick = depth == CheckDepth::Quick && !self.is_suspect();
        let mut status = storage.status(!is_quick)?;
        if status == (FileStatus::Open { size: self.size }) {
            return Ok(());
        }
        if matches!(status, FileStatus::Open { .. }) {
            // The added bytes may be an end mark.
            status = storage.status(true)?;
        }
        self.lock.recheck();
        // The file is suspect until the check has succeeded.
        let was_suspect = std::mem::replace(self.is_suspect.get_mut(), true);
        let mut compared = match depth {
            _ if was_suspect => Compared::All,
            CheckDepth::Full | CheckDepth::ForRead => Compared::AllIfChanged,
            CheckDepth::Quick | CheckDepth::Ends => Compared::Ends,
        };
        for left in (0..CHECKS).rev() {
            match self.take_in(status, depth, compared) {
                Ok(TakenIn::All) => {
                    *self.is_suspect.get_mut() = false;
                    return Ok(());
                }
                // The new file has just been read.
                Ok(TakenIn::Moved) => compared = Compared::Ends,
                // Another file took the name after the check.
                Err(error) if (error.needs_file_check() || self.has_name_again(&error)) && left > 0 => {}
                Err(error) => return Err(error),
            }
            status = self.storage.as_ref().map_or(Ok(status), |storage| storage.status(true))?;
        }
        Err(Error::changed(self.file().unwrap_or_default(), "others keep replacing it; try again later"))
    }

    /// Whether another file took the name of a deleted file before it was written again.
    fn has_name_again(&self, error: &Error) -> bool {
        let is_taken = error.as_io().is_some_and(|(_, source)| source.kind() == io::ErrorKind::AlreadyExists);
        let status = self.storage.as_ref().filter(|_| is_taken).map(|storage| storage.status(true));
        matches!(status, Some(Ok(FileStatus::Here { .. } | FileStatus::Replaced { .. })))
    }

    /// Reads the changes that a check found.
    fn take_in(&mut self, found: FileStatus, depth: CheckDepth, compared: Compared) -> Result<TakenIn> {
        let name = self.storage.as_ref().map(|storage| storage.name().to_owned()).unwrap_or_default();
        let (is_same, previous) = match found {
            FileStatus::Open { size } => (self.compare(size, None, compared)?, PreviousFile::SameFile),
            FileStatus::Here { size, changed, reopened } => {
                let previous = if reopened { PreviousFile::Gone } else { PreviousFile::SameFile };
                (self.compare(size, changed, compared)?, previous)
            }
            FileStatus::Gone { readable: false, .. } => return Err(Error::lost(&name)),
            FileStatus::Gone { .. } if depth == CheckDepth::ForRead || !self.is_persisted() => {
                return Err(Error::changed(&name, "it does not exist any more"));
            }
            FileStatus::Gone { deleted, .. } => {
                self.copy_back_deleted_file()?;
                self.history.changed(if deleted { ForeignChangeKind::Deleted } else { ForeignChangeKind::Renamed });
                return Ok(TakenIn::Moved);
            }
            FileStatus::Replaced { readable } => {
                (false, if readable { PreviousFile::Open } else { PreviousFile::Gone })
            }
        };
        if is_same {
            return Ok(TakenIn::All);
        }
        self.rebase(previous, depth)?;
        Ok(TakenIn::Moved)
    }

    /// Compares the file, which has its name and `size` bytes, with the index. `changed` is as in [`FileStatus::Here`].
    /// Returns false if known lines are missing; otherwise reads the appended lines.
    fn compare(&mut self, size: u64, changed: Option<Nanos>, compared: Compared) -> Result<bool> {
        let reads_all = match compared {
            Compared::Ends => false,
            Compared::AllIfChanged => changed.is_none() || changed != self.content_changed,
            Compared::All => true,
        };
        let is_same = if reads_all { self.has_same_content()? } else { self.has_same_ends()? };
        if !is_same || size < self.index.indexed_end() {
            return Ok(false);
        }
        match size.cmp(&self.size) {
            Ordering::Equal => {}
            Ordering::Greater => self.read_appended(size)?,
            Ordering::Less => self.forget_unterminated_line(size),
        }
        if reads_all {
            self.content_changed = changed;
        }
        Ok(true)
    }

    /// Another writer rolled back its unterminated line. The storage now ends at `size`.
    fn forget_unterminated_line(&mut self, size: u64) {
        let is_unterminated = size > self.index.indexed_end() || self.index.is_after_unterminated_line();
        if let Some(storage) = self.storage.as_mut() {
            storage.set_unterminated(is_unterminated);
        }
        self.size = size;
    }

    /// Writes a deleted or renamed file again from its open handle, byte by byte, so that lines keep their positions.
    fn copy_back_deleted_file(&mut self) -> Result<()> {
        // The file may have been rewritten before it was deleted.
        let has_same_ends = self.has_same_ends()?;
        let Some(storage) = self.storage.as_ref() else {
            return Ok(());
        };
        if !has_same_ends && first_header(&**storage)?.is_none_or(|header| header.id != self.id) {
            return Err(Error::lost(storage.name()));
        }
        let mut file = NewFile::again(&**storage)?;
        file.set_like(&**storage)?;
        copy_bytes(&**storage, 0, u64::MAX, &mut |bytes| file.bytes(bytes))?;
        let mut restored = file.finish(Durability::Fsync)?.with_durability(self.options.durability);
        let size = restored.size()?;
        let mut last = *b"\n";
        if let Some(at) = size.checked_sub(1) {
            restored.read_at(at, &mut last)?;
        }
        restored.set_unterminated(last != *b"\n");
        self.storage = Some(Box::new(restored));
        self.lock.recheck();
        self.history.repaired("the deleted or renamed file was written again, whole");
        Ok(())
    }
}
