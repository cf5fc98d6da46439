//! The lock files that this process holds: shared by its sessions, and released when a thread ends without dropping its locks. A process
//! that ends leaves its files, locked by nobody, to the next that looks.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, ThreadId};

use super::fs;
use crate::base::threads::locked;

/// A locked lock file and its name. The lock ends, and the file goes, when this value does.
#[derive(Debug)]
pub(crate) struct LockFile {
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
        let file = locked(&self.file).take();
        if let Some(file) = file.filter(|file| fs::is_at(&self.path, file).unwrap_or(false)) {
            let _ = fs::remove(&self.path);
            // Only now may others lock a file of that name: it is another one.
            drop(file);
        }
    }
}

/// The locks that are held, and the threads that have them.
static TAKEN: Mutex<Taken> = Mutex::new(Vec::new());

type Taken = Vec<(ThreadId, Weak<LockFile>)>;

/// Notes that this thread has a lock; several may share one.
pub(crate) fn remember(held: &Arc<LockFile>) {
    let me = (thread::current().id(), Arc::downgrade(held));
    let mut taken = locked(&TAKEN);
    taken.retain(|(_, other)| other.strong_count() > 0);
    if !taken.iter().any(|(thread, other)| *thread == me.0 && other.ptr_eq(&me.1)) {
        taken.push(me);
    }
}

/// The lock at `path`, if this process holds it as a shared one. This thread then holds it, too.
pub(crate) fn shared(path: &Path) -> Option<Arc<LockFile>> {
    let held = {
        let taken = locked(&TAKEN);
        taken.iter().filter_map(|(_, held)| held.upgrade()).find(|held| held.is_shared && held.path() == path)
    };
    held.filter(|held| held.is_in_place().unwrap_or(false)).inspect(remember)
}

/// Releases every lock that only this thread has, because its environment ends.
pub fn release_all() {
    let me = thread::current().id();
    let mut taken = locked(&TAKEN);
    let (mut mine, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut *taken).into_iter().partition(|(thread, _)| *thread == me);
    mine.retain(|(_, held)| !others.iter().any(|(_, other)| other.ptr_eq(held)));
    *taken = others;
    drop(taken);
    mine.iter().filter_map(|(_, held)| held.upgrade()).for_each(|held| held.release());
}
