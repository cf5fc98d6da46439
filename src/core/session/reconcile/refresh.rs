//! What happens when the file changes underneath: grown, deleted, renamed, replaced or cut by somebody else.

use std::collections::HashMap;

use crate::core::base::error::{Error, Result};
use crate::core::session::notes::Change;
use crate::core::storage::new_file::NewFile;
use crate::core::storage::storage::{FileStatus, Storage};
use crate::core::tree::tree::RowNo;

use super::whole_file::{copy, WRITTEN_AGAIN};
use crate::core::session::file_state::{CheckDepth, PreviousFile};
use crate::core::session::session::{Persistence, RowRemap, Session};
use crate::core::summary::header_scan::first_header;

/// Up to how many bytes a file is read whole to be sure that it says what it said.
const SMALL: u64 = 1 << 20;

/// How often it is looked at once more when another file took its name meanwhile.
const CHECKS: usize = 4;

impl Session {
    /// Takes in what others have written to the file since; the leaf stays. A file that was deleted is written again,
    /// one that was replaced or cut is adopted if it holds the same session.
    pub fn refresh(&mut self) -> Result<()> {
        self.check_file(CheckDepth::Quick)
    }

    /// The same, and notices what one look cannot: another file under the name, and another text of the same length. For
    /// that a file of up to 1 MiB is read whole, a larger one if its times told a look of somebody else.
    pub fn reload(&mut self) -> Result<()> {
        self.check_file(CheckDepth::Full)
    }

    /// Takes in what is there now after a line was not where it was, if that can be done without writing.
    pub fn recover(&mut self) -> Result<()> {
        self.check_file(CheckDepth::ForRead)
    }

    /// Looks at the file, its name included, but at no more of its text than the header and the last lines, and waits
    /// until the disk has it.
    pub fn flush(&mut self) -> Result<()> {
        self.check_file(CheckDepth::Ends)?;
        match self.storage.as_mut().filter(|_| self.persistence == Persistence::File) {
            Some(storage) => storage.flush(),
            None => Ok(()),
        }
    }

    /// Looks at the file once more while it is open, for it may be the only copy of what was written here, and closes it.
    /// After an error it stays open. Who wrote nothing has nothing to lose: a file that was deleted stays so.
    pub fn check_and_close(&mut self) -> Result<()> {
        if !self.appended_here.is_empty() && self.storage.as_ref().is_some_and(|storage| storage.is_open()) {
            self.check_file(CheckDepth::Ends)?;
        }
        self.close();
        Ok(())
    }

    /// Lets go of the file and of the lock. The session goes on: the next call that needs the file opens it again, the
    /// next append takes the lock again.
    pub fn close(&mut self) {
        if let Some(storage) = self.storage.as_mut() {
            storage.close();
        }
        self.release_lock();
    }

    /// The rows whose lines are wanted, after an error that [`Error::needs_lines`].
    pub fn missing_rows(&self) -> &[RowNo] {
        &self.missing_rows
    }

    /// Gives the lines of wanted rows, as far as they can be had, to the look that follows.
    pub fn supply_lines(&mut self, lines: HashMap<RowNo, Vec<u8>>) {
        self.supplied = Some(lines);
    }

    /// After the file was replaced rows have other numbers: what they were before, once.
    pub fn take_remap(&mut self) -> Option<RowRemap> {
        self.remap.take().map(|moved| *moved)
    }

    fn check_file(&mut self, depth: CheckDepth) -> Result<()> {
        let Some(storage) = self.storage.as_ref().filter(|_| self.persistence == Persistence::File) else {
            return Ok(());
        };
        let is_suspect = self.unsettled || self.is_suspect();
        let found = storage.status(depth != CheckDepth::Quick || is_suspect)?;
        let unchanged = FileStatus::Here { size: self.size, touched: false, reopened: false };
        if found == unchanged && depth == CheckDepth::Quick && !is_suspect {
            return Ok(());
        }
        // Until all that was found is taken in, the next look begins with a doubt.
        self.unsettled = true;
        let mut done = self.take(found, depth);
        for _ in 0..CHECKS {
            if !done.as_ref().is_err_and(Error::needs_file_check) {
                break;
            }
            // Another file has its name since it was looked at.
            done = match self.storage.as_ref().map(|storage| storage.status(true)) {
                Some(found) => found.and_then(|found| self.take(found, depth)),
                None => break,
            };
        }
        self.supplied = None;
        if done.is_ok() {
            self.trust();
        }
        done
    }

    fn take(&mut self, found: FileStatus, depth: CheckDepth) -> Result<()> {
        let name = self.storage.as_ref().map(|storage| storage.name().to_owned()).unwrap_or_default();
        match found {
            FileStatus::Here { size, touched, reopened } => {
                // Growth is why a file was touched, as a rule; where it did not grow, a line may say something else.
                self.touched |= touched && size == self.size;
                let closely = match depth {
                    CheckDepth::Quick | CheckDepth::Ends => false,
                    CheckDepth::Full | CheckDepth::ForRead => size <= SMALL || self.touched,
                };
                let has_same_prefix = match closely || self.is_suspect() {
                    true => self.has_same_content()?,
                    false => self.has_same_prefix()?,
                };
                if closely && has_same_prefix {
                    self.touched = false;
                }
                match (has_same_prefix, reopened) {
                    (true, _) if size == self.size => Ok(()),
                    (true, _) if size > self.size => self.read_appended(size),
                    // Somebody took half a line back.
                    (true, _) if size >= self.index.read_to() => {
                        let lacks_final_newline = size > self.index.read_to() || self.index.is_mid_line();
                        if let Some(storage) = self.storage.as_mut() {
                            storage.set_lacks_final_newline(lacks_final_newline);
                        }
                        self.size = size;
                        Ok(())
                    }
                    (_, false) => self.rebase(PreviousFile::Rewritten, depth),
                    (_, true) => self.rebase(PreviousFile::Gone, depth),
                }
            }
            FileStatus::Gone { readable: false, .. } => Err(Error::lost(&name)),
            FileStatus::Gone { .. } if depth == CheckDepth::ForRead => {
                Err(Error::changed(&name, "it is not there any more"))
            }
            FileStatus::Gone { deleted, .. } => {
                self.restore(depth)?;
                self.notes.changed(if deleted { Change::Deleted } else { Change::Renamed });
                Ok(())
            }
            // It may have been written anew before another took its name: then nothing is where it was.
            FileStatus::Replaced { readable } => match readable && self.has_same_prefix()? {
                true => self.rebase(PreviousFile::Open, depth),
                false => self.rebase(PreviousFile::Gone, depth),
            },
        }
    }

    /// Writes a file that is gone again, byte by byte what it was: entries keep their places.
    fn restore(&mut self, depth: CheckDepth) -> Result<()> {
        // It may have been written anew before it went.
        let has_same_prefix = self.has_same_prefix()?;
        let Some(storage) = self.storage.as_ref() else {
            return Ok(());
        };
        if !has_same_prefix && first_header(&**storage)?.is_none_or(|header| header.id != self.id) {
            return Err(Error::lost(storage.name()));
        }
        let mut file = NewFile::again(storage.name())?;
        file.set_like(&**storage)?;
        let lacks_final_newline = copy(&**storage, &mut |bytes| file.bytes(bytes))?;
        let mut restored = file.finish_safely(self.options.durability)?;
        restored.set_lacks_final_newline(lacks_final_newline);
        self.size = restored.size()?;
        self.storage = Some(Box::new(restored));
        self.forget_lock();
        if !has_same_prefix {
            self.notes.repaired(WRITTEN_AGAIN);
            return self.rebase(PreviousFile::Gone, depth);
        }
        // Others may have written to the old file until the end.
        let size = self.size;
        if size > self.index.read_to() {
            self.read_appended(size)?;
        }
        self.notes.repaired(WRITTEN_AGAIN);
        Ok(())
    }
}
