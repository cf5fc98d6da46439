//! The write lock: after our writers to one file have noticed each other, only one writes or truncates at a time. A
//! writer has it for one write; the session lock ([`crate::locks::lock_file`]) is kept while a session is open. In two
//! cases a writer continues without the write lock, as pi does: if files cannot be locked, and if another process has
//! it longer than a write takes, such as the replacement of a long file.

use std::fs::File;
use std::time::Duration;

use crate::io::fs;

/// How often a writer tries to take the lock, and how long it waits between two tries: 100 ms in all, three times as
/// long as writing a line of 10 MB took on a busy machine.
const LOCK_TRIES: u32 = 2000;
const LOCK_PAUSE: Duration = Duration::from_micros(50);

/// Locks a file. False if another process keeps the lock longer than a write takes, or if files cannot be locked.
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
