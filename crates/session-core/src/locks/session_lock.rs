//! Who may write: an exclusive session holds the session lock, other sessions make sure that nobody holds it.
//!
//! They check before their first line, and again after every path check (`storage/path_check.rs`), which is made
//! every ten milliseconds at most, so that most appends cost nothing more. A session that takes the lock waits that long before
//! it reads the file. From then on no other session of this package writes. A write that takes longer from its check to its end is taken in
//! like that of another program.

use std::path::Path;
use std::time::Duration;

use crate::base::error::{Result, WithCall};
use crate::base::options::Lock;
use crate::io::fs;
use crate::locks::lock_file::{wait_until_free, SessionLockGuard};

/// How long a writer relies on its last check: of who has the lock, and of what the path of its file leads to.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// How long a write may take from its check to its end. One that takes longer is taken in like that of another program.
const MARGIN: Duration = Duration::from_millis(2);

/// The lock of one session's file, held here or checked for.
#[derive(Default)]
pub(crate) struct SessionLock {
    held: Option<SessionLockGuard>,
    /// Whether it was checked since the last path check of the storage.
    is_checked: bool,
}

impl SessionLock {
    /// Takes the lock that `lock` asks for, if it is not held.
    pub(crate) fn take(&mut self, file: &str, lock: Lock) -> Result<()> {
        if self.held.is_some() {
            return Ok(());
        }
        let (taken, is_new) = match lock {
            Lock::None => return Ok(()),
            Lock::Exclusive => (SessionLockGuard::take(file)?, true),
            Lock::ExclusiveProcess => SessionLockGuard::share(file)?,
        };
        if is_new && fs::stat_path(Path::new(file)).with_call("stat", file)?.is_some() {
            std::thread::sleep(CHECK_INTERVAL + MARGIN);
        }
        self.held = Some(taken);
        Ok(())
    }

    /// The next append checks again who has the lock.
    pub(crate) fn recheck(&mut self) {
        self.is_checked = false;
    }

    /// Makes sure that nobody else has the lock, unless that was done since the last path check of the storage. True if
    /// somebody had it meanwhile: the file may be another one.
    pub(crate) fn check(&mut self, file: &str, lock: Lock) -> Result<bool> {
        if self.is_checked {
            return Ok(false);
        }
        let waited = match &self.held {
            // Somebody removed the lock file: another session may hold the lock now.
            Some(held) if !held.is_in_place()? => {
                self.held = None;
                self.take(file, lock)?;
                true
            }
            Some(_) => false,
            None => wait_until_free(file)?,
        };
        self.is_checked = true;
        Ok(waited)
    }

    /// Waits until nobody else has the lock of `file`.
    pub(crate) fn wait(&self, file: &str) -> Result<()> {
        match self.held {
            Some(_) => Ok(()),
            None => wait_until_free(file).map(drop),
        }
    }
}
