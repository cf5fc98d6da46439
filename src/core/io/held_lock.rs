//! A lock file that this process holds.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::fs;
use crate::base::threads::locked;

/// A locked lock file and its name. The lock ends, and the file goes, when this value does.
#[derive(Debug)]
pub struct HeldLock {
    path: PathBuf,
    /// Whether others in this process may have it, too.
    pub(super) is_shared: bool,
    file: Mutex<Option<File>>,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        self.release();
    }
}

impl HeldLock {
    /// The lock file at `path`, which is locked.
    pub fn new(path: PathBuf, file: File, is_shared: bool) -> Self {
        Self { path, is_shared, file: Mutex::new(Some(file)) }
    }

    /// The lock file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file still has its name.
    pub fn is_in_place(&self) -> io::Result<bool> {
        match &*locked(&self.file) {
            Some(file) => fs::is_at(&self.path, file),
            None => Ok(false),
        }
    }

    /// Removes the file and ends the lock.
    pub fn release(&self) {
        self.remove_file(locked(&self.file).take());
    }

    /// The same at the end of the process, which must not wait: not if another thread is looking at the file.
    #[cfg(unix)]
    pub(super) fn try_release(&self) {
        if let Ok(mut file) = self.file.try_lock() {
            self.remove_file(file.take());
        }
    }

    fn remove_file(&self, file: Option<File>) {
        if let Some(file) = file.filter(|file| fs::is_at(&self.path, file).unwrap_or(false)) {
            let _ = fs::remove(&self.path);
            // Only now may others lock a file of that name: it is another one.
            drop(file);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_process_waits_for_no_thread_that_looks_at_a_lock() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("session.lock");
        let held = HeldLock::new(path.clone(), File::create(&path).expect("made"), false);
        let looking = held.file.lock().expect("free");
        held.try_release();
        assert!(path.exists());
        drop(looking);
        held.try_release();
        assert!(!path.exists());
    }
}
