//! What happens when the file changes underneath: grown, deleted, renamed, replaced or cut by somebody else.

use std::collections::HashMap;

use crate::core::base::error::{Error, Result};
use crate::core::session::notes::Change;
use crate::core::storage::new_file::NewFile;
use crate::core::storage::storage::{FileStatus, Storage};
use crate::core::tree::tree::RowNo;

use super::whole_file::{copy, WRITTEN_AGAIN};
use crate::core::session::file_state::{Care, Old};
use crate::core::session::session::{Moved, Persistence, Session};
use crate::core::summary::header_scan::first_header;

/// Up to how many bytes a file is read whole to be sure that it says what it said.
const SMALL: u64 = 1 << 20;

/// How often it is looked at once more when another file took its name meanwhile.
const LOOKS: usize = 4;

impl Session {
    /// Takes in what others have written to the file since; the leaf stays. A file that was deleted is written again,
    /// one that was replaced or cut is adopted if it holds the same session.
    pub fn take_in_foreign(&mut self) -> Result<()> {
        self.look(Care::Usual)
    }

    /// The same, and notices what one look cannot: another file under the name, and another text of the same length. For
    /// that a file of up to 1 MiB is read whole, a larger one if its times told a look of somebody else.
    pub fn reload(&mut self) -> Result<()> {
        self.look(Care::Whole)
    }

    /// Takes in what is there now after a line was not where it was, if that can be done without writing.
    pub fn recover(&mut self) -> Result<()> {
        self.look(Care::Reading)
    }

    /// Looks at the file, its name included, but at no more of its text than the header and the last lines, and waits
    /// until the disk has it.
    pub fn flush(&mut self) -> Result<()> {
        self.look(Care::Thorough)?;
        match self.storage.as_mut().filter(|_| self.persistence == Persistence::File) {
            Some(storage) => storage.flush(),
            None => Ok(()),
        }
    }

    /// Looks at the file once more while it is open, for it may be the only copy of what was written here, and closes it.
    /// After an error it stays open. Who wrote nothing has nothing to lose: a file that was deleted stays so.
    pub fn look_and_close(&mut self) -> Result<()> {
        if !self.own.is_empty() && self.storage.as_ref().is_some_and(|storage| storage.is_open()) {
            self.look(Care::Thorough)?;
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

    /// The rows whose lines are wanted, after an error that [`Error::is_wanting`].
    pub fn wanted(&self) -> &[RowNo] {
        &self.wanted
    }

    /// Gives the lines of wanted rows, as far as they can be had, to the look that follows.
    pub fn lend(&mut self, lines: HashMap<RowNo, Vec<u8>>) {
        self.lent = Some(lines);
    }

    /// After the file was replaced rows have other numbers: what they were before, once.
    pub fn take_moved(&mut self) -> Option<Moved> {
        self.moved.take().map(|moved| *moved)
    }

    fn look(&mut self, care: Care) -> Result<()> {
        let Some(storage) = self.storage.as_ref().filter(|_| self.persistence == Persistence::File) else {
            return Ok(());
        };
        let is_doubted = self.unsettled || self.is_doubted();
        let found = storage.look(care != Care::Usual || is_doubted)?;
        let unchanged = FileStatus::Here { size: self.size, touched: false, reopened: false };
        if found == unchanged && care == Care::Usual && !is_doubted {
            return Ok(());
        }
        // Until all that was found is taken in, the next look begins with a doubt.
        self.unsettled = true;
        let mut done = self.take(found, care);
        for _ in 0..LOOKS {
            if !done.as_ref().is_err_and(Error::needs_a_look) {
                break;
            }
            // Another file has its name since it was looked at.
            done = match self.storage.as_ref().map(|storage| storage.look(true)) {
                Some(found) => found.and_then(|found| self.take(found, care)),
                None => break,
            };
        }
        self.lent = None;
        if done.is_ok() {
            self.trust();
        }
        done
    }

    fn take(&mut self, found: FileStatus, care: Care) -> Result<()> {
        let name = self.storage.as_ref().map(|storage| storage.name().to_owned()).unwrap_or_default();
        match found {
            FileStatus::Here { size, touched, reopened } => {
                // Growth is why a file was touched, as a rule; where it did not grow, a line may say something else.
                self.touched |= touched && size == self.size;
                let closely = match care {
                    Care::Usual | Care::Thorough => false,
                    Care::Whole | Care::Reading => size <= SMALL || self.touched,
                };
                let stands = match closely || self.is_doubted() {
                    true => self.agrees()?,
                    false => self.stands()?,
                };
                if closely && stands {
                    self.touched = false;
                }
                match (stands, reopened) {
                    (true, _) if size == self.size => Ok(()),
                    (true, _) if size > self.size => self.take_in(size),
                    // Somebody took half a line back.
                    (true, _) if size >= self.index.read_to() => {
                        let unended = size > self.index.read_to() || self.index.is_inside();
                        if let Some(storage) = self.storage.as_mut() {
                            storage.set_unended(unended);
                        }
                        self.size = size;
                        Ok(())
                    }
                    (_, false) => self.adopt(Old::Rewritten, care),
                    (_, true) => self.adopt(Old::Gone, care),
                }
            }
            FileStatus::Gone { readable: false, .. } => Err(Error::lost(&name)),
            FileStatus::Gone { .. } if care == Care::Reading => Err(Error::changed(&name, "it is not there any more")),
            FileStatus::Gone { deleted, .. } => {
                self.restore(care)?;
                self.notes.changed(if deleted { Change::Deleted } else { Change::Renamed });
                Ok(())
            }
            // It may have been written anew before another took its name: then nothing is where it was.
            FileStatus::Replaced { readable } => match readable && self.stands()? {
                true => self.adopt(Old::Open, care),
                false => self.adopt(Old::Gone, care),
            },
        }
    }

    /// Writes a file that is gone again, byte by byte what it was: entries keep their places.
    fn restore(&mut self, care: Care) -> Result<()> {
        // It may have been written anew before it went.
        let stands = self.stands()?;
        let Some(storage) = self.storage.as_ref() else {
            return Ok(());
        };
        if !stands && first_header(&**storage)?.is_none_or(|header| header.id != self.id) {
            return Err(Error::lost(storage.name()));
        }
        let mut file = NewFile::again(storage.name())?;
        file.set_like(&**storage)?;
        let unended = copy(&**storage, &mut |bytes| file.bytes(bytes))?;
        let mut restored = file.finish_safely(self.options.durability)?;
        restored.set_unended(unended);
        self.size = restored.size()?;
        self.storage = Some(Box::new(restored));
        self.forget_lock();
        if !stands {
            self.notes.repaired(WRITTEN_AGAIN);
            return self.adopt(Old::Gone, care);
        }
        // Others may have written to the old file until the end.
        let size = self.size;
        if size > self.index.read_to() {
            self.take_in(size)?;
        }
        self.notes.repaired(WRITTEN_AGAIN);
        Ok(())
    }
}
