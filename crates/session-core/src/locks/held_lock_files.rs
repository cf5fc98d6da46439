//! The lock files that this process has locked. Its sessions share them. They are released when a thread ends without
//! dropping its locks. If the process ends, its files stay unlocked, and the next process that finds one removes it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use crate::base::error::{Result, WithCall};
use crate::base::threads::locked;
use crate::io::fs;

/// A locked lock file and its path. Dropping it removes the file and ends the lock.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    /// Whether other sessions of this process may share the lock.
    is_shared: bool,
    file: Mutex<Option<File>>,
}

impl Drop for LockFile {
    fn drop(&mut self) {
        self.release();
    }
}

impl LockFile {
    fn is_in_place(&self) -> io::Result<bool> {
        match &*locked(&self.file) {
            Some(file) => fs::is_at(&self.path, file),
            None => Ok(false),
        }
    }

    /// Removes the file and ends the lock.
    fn release(&self) {
        let file = locked(&self.file).take();
        if let Some(file) = file.filter(|file| fs::is_at(&self.path, file).unwrap_or(false)) {
            let _ = fs::remove(&self.path);
            // Not before the file is removed: others must lock a new file of that name.
            drop(file);
        }
    }
}

/// The locks of this process. A lock is listed once for each thread that has it, and for each time that the thread took
/// it.
static TAKEN: Mutex<Vec<(ThreadId, Arc<LockFile>)>> = Mutex::new(Vec::new());

/// A thread's share of the lock of one session. The lock ends when its last share is dropped.
#[derive(Debug)]
pub(crate) struct SessionLockGuard {
    lock: Arc<LockFile>,
    thread: ThreadId,
}

impl SessionLockGuard {
    /// The lock whose locked file is at `path`. `is_shared`: whether other sessions of this process may share it.
    pub(crate) fn new(path: PathBuf, file: File, is_shared: bool) -> Self {
        Self::of(Arc::new(LockFile { path, is_shared, file: Mutex::new(Some(file)) }))
    }

    fn of(lock: Arc<LockFile>) -> Self {
        let thread = thread::current().id();
        locked(&TAKEN).push((thread, lock.clone()));
        Self { lock, thread }
    }

    /// A share of the lock whose file is at `path`, if this process has that lock and shares it. None otherwise.
    pub(crate) fn shared(path: &Path) -> Option<Self> {
        let is_it = |lock: &&Arc<LockFile>| lock.is_shared && lock.path == path;
        let lock = locked(&TAKEN).iter().map(|(_, lock)| lock).find(is_it)?.clone();
        lock.is_in_place().unwrap_or(false).then(|| Self::of(lock))
    }

    /// Whether the lock file still has its name, so that other processes find it.
    pub(crate) fn is_in_place(&self) -> Result<bool> {
        self.lock.is_in_place().with_call("lock", &self.lock.path.to_string_lossy())
    }
}

impl Drop for SessionLockGuard {
    fn drop(&mut self) {
        let mut taken = locked(&TAKEN);
        let is_this = |(thread, lock): &(_, _)| *thread == self.thread && Arc::ptr_eq(lock, &self.lock);
        if let Some(at) = taken.iter().position(is_this) {
            taken.swap_remove(at);
        }
    }
}

/// Releases every lock that only this thread has, when its JavaScript environment ends.
pub fn release_all() {
    let me = thread::current().id();
    let mine: Vec<_> = locked(&TAKEN).extract_if(.., |(thread, _)| *thread == me).collect();
    for (_, lock) in mine {
        if !locked(&TAKEN).iter().any(|(_, other)| Arc::ptr_eq(other, &lock)) {
            lock.release();
        }
    }
}
