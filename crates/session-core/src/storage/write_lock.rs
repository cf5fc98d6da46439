//! The write lock: once our writers to one file know of each other, one writes or truncates at a time. It is held for one
//! write; the session lock ([`crate::locks::lock_file`]) is held for as long as a session is open. Where files have no locks, and while a
//! holder keeps it for longer than a write takes, as the replacement of a long file does, a writer goes on without it, as pi does.

use std::fs::File;
use std::time::Duration;

use crate::io::fs;

/// How often a writer tries the lock, and how long it waits each time.
const LOCK_TRIES: u32 = 2000;
const LOCK_PAUSE: Duration = Duration::from_micros(50);

/// Locks a file; false if a holder keeps the lock for longer than a write takes, or files have no locks.
pub(crate) fn lock_briefly(file: &File) -> bool {
    if cfg!(not(unix)) {
        return false;
    }
    for _ in 0..LOCK_TRIES {
        match fs::try_lock(file) {
            Ok(true) => return true,
            Ok(false) => std::thread::sleep(LOCK_PAUSE),
            // Not every file system has locks.
            Err(_) => return false,
        }
    }
    false
}

pub(crate) fn unlock(file: &File) {
    // If this fails, closing the file ends the lock.
    let _ = fs::unlock(file);
}
