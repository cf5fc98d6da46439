//! The lock files that this process holds: shared by its sessions, and released when a thread ends without dropping its locks. A process
//! that ends leaves its files, locked by nobody, to the next that looks.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use crate::base::error::{Result, WithCall};
use crate::base::threads::locked;
use crate::io::fs;

/// A locked lock file and its name. The lock ends, and the file goes, when this value does.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    /// Whether others in this process may have it, too.
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
            // Only now may others lock a file of that name: it is another one.
            drop(file);
        }
    }
}

/// The locks that are held, each as often as a thread has it.
static TAKEN: Mutex<Vec<(ThreadId, Arc<LockFile>)>> = Mutex::new(Vec::new());

/// The lock of one session, which a thread has. It ends when this value goes, or the last that shares it.
#[derive(Debug)]
pub(crate) struct SessionLockGuard {
    lock: Arc<LockFile>,
    thread: ThreadId,
}

impl SessionLockGuard {
    /// The lock whose file is at `path`, and locked. `is_shared`: others in this process may have it, too.
    pub(crate) fn new(path: PathBuf, file: File, is_shared: bool) -> Self {
        Self::of(Arc::new(LockFile { path, is_shared, file: Mutex::new(Some(file)) }))
    }

    fn of(lock: Arc<LockFile>) -> Self {
        let thread = thread::current().id();
        locked(&TAKEN).push((thread, lock.clone()));
        Self { lock, thread }
    }

    /// The lock whose file is at `path`, if this process has it as a shared one. This thread then has it, too.
    pub(crate) fn shared(path: &Path) -> Option<Self> {
        let is_it = |lock: &&Arc<LockFile>| lock.is_shared && lock.path == path;
        let lock = locked(&TAKEN).iter().map(|(_, lock)| lock).find(is_it)?.clone();
        lock.is_in_place().unwrap_or(false).then(|| Self::of(lock))
    }

    /// Whether the lock file still has its name: other processes find it.
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

/// Releases every lock that only this thread has, because its environment ends.
pub fn release_all() {
    let me = thread::current().id();
    let mine: Vec<_> = locked(&TAKEN).extract_if(.., |(thread, _)| *thread == me).collect();
    for (_, lock) in mine {
        if !locked(&TAKEN).iter().any(|(_, other)| Arc::ptr_eq(other, &lock)) {
            lock.release();
        }
    }
}
