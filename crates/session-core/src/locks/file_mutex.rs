//! A mutex between processes: a lock on a file that is never removed, so that one process at a time does something. The
//! session lock, whose file is removed with it, is in `lock_file`.

use std::fs::File;
use std::path::Path;

use crate::base::error::{Result, WithCall};
use crate::io::{fs, open};

/// A locked mutex. The operating system ends the lock when this value is dropped, or when the process ends in any way.
#[derive(Debug)]
pub struct FileMutex(File);

impl FileMutex {
    /// Locks the file at `path` without waiting. Creates it, for its owner only, if it does not exist. None if another
    /// process, or this one, has locked it.
    ///
    /// Nobody may remove or replace the file while a process may have the lock, because the next process would lock
    /// another file.
    ///
    /// ```
    /// use pi_session_core::addon::FileMutex;
    ///
    /// let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("lock").to_string_lossy().into_owned();
    /// let lock = FileMutex::try_lock(&path)?.expect("nobody has it");
    /// assert!(FileMutex::try_lock(&path)?.is_none());
    /// drop(lock);
    /// assert!(FileMutex::try_lock(&path)?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_lock(path: &str) -> Result<Option<Self>> {
        loop {
            let file = open::kept_lock_file(Path::new(path)).with_call("lock", path)?;
            if !fs::try_lock(&file).with_call("lock", path)? {
                return Ok(None);
            }
            let lock = Self(file);
            // Somebody may have removed the file between the two calls. Then the lock on it excludes nobody.
            if fs::is_at(Path::new(path), &lock.0).with_call("lock", path)? {
                return Ok(Some(lock));
            }
        }
    }
}

impl Drop for FileMutex {
    fn drop(&mut self) {
        // Closing the file is not enough, because a child process that is being started has a duplicate of the handle
        // until it runs its program.
        let _ = fs::unlock(&self.0);
    }
}

#[cfg(test)]
mod tests;
