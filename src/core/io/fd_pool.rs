//! The pool of open session files. A process may have more sessions than file descriptors: files are opened when they
//! are needed and kept open, and above a limit the one that is open longest is closed.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use super::fs;
use crate::base::threads::locked;

/// How many session files are kept open at once. Node raises its process's limit to what the system allows, mostly
/// thousands.
pub const MAX_OPEN: usize = 512;

/// A file that is open, for reading or for both.
#[derive(Clone)]
pub struct OpenFile {
    pub file: Arc<File>,
    pub appends: bool,
}

/// A file of the pool and its path.
struct PoolSlot {
    path: PathBuf,
    handle: Mutex<Option<OpenFile>>,
}

impl PoolSlot {
    /// Closes the file; false if it was not open. A deleted file stays open: its handle may be the only way to its content. Where
    /// live files have a link count of 0, the path tells whether it was deleted.
    fn close_if_named(&self) -> bool {
        let mut handle = locked(&self.handle);
        let is_deleted = |file: &File| {
            fs::stat(file).is_ok_and(|stat| stat.deleted) && !fs::is_at(&self.path, file).unwrap_or(false)
        };
        match &*handle {
            Some(open) if is_deleted(&open.file) => false,
            _ => handle.take().is_some(),
        }
    }
}

/// The open files, the longest open first.
static OPEN: Mutex<VecDeque<Weak<PoolSlot>>> = Mutex::new(VecDeque::new());

/// A file's handle in the pool, as long as it is open.
pub struct PooledFile(Arc<PoolSlot>);

impl PooledFile {
    /// Adds an open file, to which `path` leads.
    pub fn new(path: &Path, handle: OpenFile) -> Self {
        let file = Self(Arc::new(PoolSlot { path: path.to_owned(), handle: Mutex::default() }));
        file.put(handle);
        file
    }

    /// The handle, if the file is open.
    pub fn get(&self) -> Option<OpenFile> {
        locked(&self.0.handle).clone()
    }

    /// Whether the file is open.
    pub fn is_open(&self) -> bool {
        locked(&self.0.handle).is_some()
    }

    /// Sets the handle, as the newest of the pool; too many others are closed.
    pub fn put(&self, handle: OpenFile) {
        *locked(&self.0.handle) = Some(handle);
        let mut open = locked(&OPEN);
        open.retain(|other| {
            other.upgrade().is_some_and(|other| !Arc::ptr_eq(&other, &self.0) && locked(&other.handle).is_some())
        });
        let surplus = (open.len() + 1).saturating_sub(MAX_OPEN);
        close_some(&mut open, surplus);
        open.push_back(Arc::downgrade(&self.0));
    }

    /// Closes the file.
    pub fn close(&self) {
        locked(&self.0.handle).take();
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        self.close();
    }
}

/// Takes so many files out of the pool, the longest open first, and closes them. Deleted ones stay open outside of it: they
/// would else fill it, and every other file would be closed at once. Gives how many were closed.
fn close_some(open: &mut VecDeque<Weak<PoolSlot>>, count: usize) -> usize {
    let count = count.min(open.len());
    open.drain(..count).filter(|slot| slot.upgrade().is_some_and(|slot| slot.close_if_named())).count()
}

/// Whether an error says that there is no file descriptor left, or no memory for one. It says nothing of the file, which must
/// not count as unreadable.
pub fn is_exhausted(error: &io::Error) -> bool {
    #[cfg(unix)]
    return matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM));
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Opens something. If no file descriptor is left, pooled files are closed and it is tried once more.
pub fn retry_on_emfile<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match open() {
        Err(error) if is_exhausted(&error) => {
            // Others may have closed files meanwhile.
            let mut pooled = locked(&OPEN);
            let half = pooled.len().div_ceil(2);
            while close_some(&mut pooled, half) == 0 && !pooled.is_empty() {}
            drop(pooled);
            open()
        }
        result => result,
    }
}

#[cfg(test)]
pub fn open_count() -> usize {
    locked(&OPEN).len()
}
