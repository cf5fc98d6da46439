//! The limit of file descriptors. An error of this kind says nothing about the file, which must not count as
//! unreadable.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a reader of one file at a time waits for a file descriptor.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Whether an error says that there is no file descriptor left, or no memory for one.
pub fn is_exhausted(error: &io::Error) -> bool {
    #[cfg(unix)]
    return matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM));
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Whether an error says that there is nothing to read: no file, none that may be read, or no regular one.
pub fn is_unreadable(error: &io::Error) -> bool {
    use ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | PermissionDenied | NotADirectory | IsADirectory | InvalidInput)
}

/// Does work that opens files; without file descriptors, again and again for a while.
pub fn patiently<T>(cancelled: &AtomicBool, mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let start = Instant::now();
    loop {
        match work() {
            Err(error) if is_exhausted(&error) && start.elapsed() < PATIENCE && !cancelled.load(Ordering::Relaxed) => {
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn none_left() -> io::Error {
        io::Error::from_raw_os_error(libc::EMFILE)
    }

    #[test]
    fn a_file_that_had_no_handle_counted_as_unreadable() {
        assert!(is_exhausted(&none_left()) && !is_unreadable(&none_left()));
        for code in [libc::ENOENT, libc::EACCES, libc::EISDIR, libc::ENOTDIR] {
            let error = io::Error::from_raw_os_error(code);
            assert!(is_unreadable(&error) && !is_exhausted(&error), "{error}");
        }
        let broken = io::Error::from_raw_os_error(libc::EIO);
        assert!(!is_unreadable(&broken) && !is_exhausted(&broken));
    }

    #[test]
    fn a_handle_that_others_give_back_is_waited_for() {
        let mut left = 3;
        let opened = patiently(&AtomicBool::new(false), || {
            left -= 1;
            if left > 0 {
                Err(none_left())
            } else {
                Ok(left)
            }
        });
        assert_eq!(opened.expect("opened"), 0);
        let mut asked = 0;
        let stopped = patiently::<()>(&AtomicBool::new(true), || {
            asked += 1;
            Err(none_left())
        });
        assert!(stopped.is_err_and(|error| is_exhausted(&error)));
        assert_eq!(asked, 1);
    }
}
