//! Who may write: an exclusive session has a lock, others make sure that nobody has.
//!
//! They do so before their first line, and again whenever the storage was looked at as a whole, which happens every
//! ten milliseconds at most: in between an append costs nothing more. So whoever takes the lock waits that long before
//! it reads the file, and from then on nobody writes who asks for locks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::core::base::error::{Error, Result};
use crate::core::base::options::Lock;
use crate::core::io::fs;
use crate::core::io::lock_file::{self, FileLock, LockStatus};
use crate::core::storage::change_clock::FULL_CHECK_INTERVAL;

use super::session::{Persistence, Session};

/// How long after the last look of a writer its write is surely done.
const MARGIN: Duration = Duration::from_millis(2);

impl Session {
    /// Takes the lock that the session is to have, if it does not have it.
    pub(super) fn take_lock(&mut self) -> Result<()> {
        let wants = self.options.lock != Lock::None && self.persistence == Persistence::File;
        if let (true, None, Some(file)) = (wants, &self.lock, &self.file) {
            let (taken, is_new) = match self.options.lock {
                Lock::ExclusiveProcess => FileLock::share(file)?,
                Lock::Exclusive | Lock::None => (FileLock::take(file)?, true),
            };
            if is_new && fs::stat_path(Path::new(file)).map_err(|error| Error::io("stat", file, error))?.is_some() {
                std::thread::sleep(FULL_CHECK_INTERVAL + MARGIN);
            }
            self.lock = Some(taken);
        }
        Ok(())
    }

    /// Lets go of the lock; the next append takes it again.
    pub fn release_lock(&mut self) {
        self.lock = None;
        self.forget_lock();
    }

    /// Makes sure that nobody else has the lock, if that was not done since the storage was looked at last. True if a
    /// repair had it and is done: the file may be another one.
    pub(super) fn check_lock(&mut self) -> Result<bool> {
        let looks = self.storage.as_ref().map_or(0, |storage| storage.full_checks());
        if self.lock_checked == Some(looks) {
            return Ok(false);
        }
        let waited = match &self.lock {
            // Somebody removed the lock file: whoever came since has the session.
            Some(lock) if !lock.is_in_place()? => {
                self.lock = None;
                self.take_lock()?;
                true
            }
            Some(_) => false,
            None => self.wait_for_lock()?,
        };
        self.lock_checked = Some(looks);
        Ok(waited)
    }

    /// Waits while a repair has the lock.
    pub(super) fn wait_for_repair(&mut self) -> Result<()> {
        if let (None, Some(file)) = (&self.lock, &self.file) {
            lock_file::probe(&lock_file::path_of(file))?;
        }
        Ok(())
    }

    fn wait_for_lock(&mut self) -> Result<bool> {
        let Some(file) = &self.file else {
            return Ok(false);
        };
        let path: &PathBuf = self.lock_path.get_or_insert_with(|| lock_file::path_of(file));
        match lock_file::probe(path)? {
            LockStatus::Free => Ok(false),
            LockStatus::Waited => Ok(true),
            LockStatus::Held(holder) => Err(Error::locked(file, holder.pid)),
        }
    }
}
