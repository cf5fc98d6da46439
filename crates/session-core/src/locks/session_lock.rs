//! Who may write: an exclusive session has the session lock, other sessions check that nobody has it.
//!
//! They check before their first line, and again after each path check (`storage/path_check.rs`). That is at most every
//! ten milliseconds, so most appends cost nothing more. A session that takes the lock waits that long before it reads
//! the file. From then on no other session of this package writes. If a write takes longer than [`MARGIN`] after its
//! check, its lines are read as changes of another program.

use std::path::Path;
use std::time::Duration;

use crate::base::error::{Result, WithCall};
use crate::base::options::Lock;
use crate::io::fs;
use crate::locks::lock_file::{wait_until_free, SessionLockGuard};

/// How long a writer relies on its last check of the lock and of the file that its path leads to.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// How long a write may take after its check. The lines of a slower write are read as changes of another program.
const MARGIN: Duration = Duration::from_millis(2);

/// The lock of one session's file: its guard, or the time of its last check.
#[derive(Default)]
pub(crate) struct SessionLock {
    held: Option<SessionLockGuard>,
    /// Whether the lock was checked since the last path check of the storage.
    is_checked: bool,
}

impl SessionLock {
    /// Takes the lock by the option `lock`, unless this session has it.
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

    /// Makes the next append check the lock again.
    pub(crate) fn recheck(&mut self) {
        self.is_checked = false;
    }

    /// Checks that nobody else has the lock, unless that was done since the last path check of the storage. True if
    /// somebody had it in the meantime, so that the path may lead to another file.
    pub(crate) fn check(&mut self, file: &str, lock: Lock) -> Result<bool> {
        if self.is_checked {
            return Ok(false);
        }
        let waited = match &self.held {
            // Somebody removed the lock file, so another session may have the lock now.
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
