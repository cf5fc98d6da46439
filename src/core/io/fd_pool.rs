//! The pool of open session files. A process may have more sessions than file descriptors: files are opened when they
//! are needed and kept open, and above a limit the one that is open longest is closed.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::fd_limit::is_exhausted;
use super::fs;

/// How many session files are kept open at once. Node raises its process's limit to what the system allows, mostly
/// thousands.
pub const MAX_OPEN: usize = 512;

/// A file that is open, for reading or for both.
#[derive(Clone)]
pub struct Handle {
    pub file: Arc<File>,
    pub appends: bool,
}

type Slot = Mutex<Option<Handle>>;

/// The open files, the longest open first.
static OPEN: Mutex<VecDeque<Weak<Slot>>> = Mutex::new(VecDeque::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A file's handle in the pool, as long as it is open.
pub struct PooledFile(Arc<Slot>);

impl PooledFile {
    /// Adds an open file.
    pub fn new(handle: Handle) -> Self {
        let file = Self(Arc::default());
        file.put(handle);
        file
    }

    /// The handle, if the file is open.
    pub fn get(&self) -> Option<Handle> {
        lock(&self.0).clone()
    }

    /// Whether the file is open.
    pub fn is_open(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// Sets the handle, as the newest of the pool; too many others are closed.
    pub fn put(&self, handle: Handle) {
        *lock(&self.0) = Some(handle);
        let mut open = lock(&OPEN);
        open.retain(|other| {
            other.upgrade().is_some_and(|other| !Arc::ptr_eq(&other, &self.0) && lock(&other).is_some())
        });
        open.push_back(Arc::downgrade(&self.0));
        while open.len() > MAX_OPEN {
            if let Some(oldest) = open.pop_front().and_then(|oldest| oldest.upgrade()) {
                lock(&oldest).take();
            }
        }
    }

    /// Closes the file.
    pub fn close(&self) {
        lock(&self.0).take();
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        self.close();
    }
}

/// Closes half of the open files, the longest open first; false if there was none to close. A deleted file stays open:
/// its handle may be the only way to its content.
fn close_half() -> bool {
    let mut open = lock(&OPEN);
    let half = open.len().div_ceil(2);
    let mut closed = 0;
    open.retain(|slot| {
        let Some(held) = slot.upgrade() else { return false };
        let mut handle = lock(&held);
        let deleted = || handle.as_ref().is_some_and(|handle| fs::stat(&handle.file).is_ok_and(|stat| stat.deleted));
        if closed == half || deleted() {
            return true;
        }
        closed += usize::from(handle.take().is_some());
        false
    });
    closed > 0
}

/// Opens something. If no file descriptor is left, pooled files are closed and it is tried once more.
pub fn retry_on_emfile<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match open() {
        Err(error) if is_exhausted(&error) => {
            // Others may have closed files meanwhile.
            let _ = close_half();
            open()
        }
        result => result,
    }
}

#[cfg(test)]
pub fn open_count() -> usize {
    lock(&OPEN).len()
}
