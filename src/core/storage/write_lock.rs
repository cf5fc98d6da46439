//! The lock of a moment: among our writers to one file, once they know of each other, one writes or cuts at a time.

use std::fs::File;
use std::time::Duration;

use crate::core::io::fs;

/// How long a writer waits for others who write to the same file, at most: this often, so long each time.
const LOCK_TRIES: u32 = 2000;
const LOCK_PAUSE: Duration = Duration::from_micros(50);

/// Locks a file, if that can be done within the time that others take to write. Whoever has it for longer, because it
/// was stopped, is not waited for.
pub fn lock_briefly(file: &File) -> bool {
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

pub fn unlock(file: &File) {
    // Closing the file would end the lock as well; that it cannot be ended here is of no account.
    let _ = fs::unlock(file);
}
