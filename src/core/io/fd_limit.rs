//! Errors of the limit of file descriptors. Such an error says nothing about the file, so the file must not count as
//! unreadable.

use std::io::{self, ErrorKind};

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

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn none_left() -> io::Error {
        io::Error::from_raw_os_error(libc::EMFILE)
    }

    #[test]
    fn a_file_for_which_no_descriptor_was_left_counted_as_unreadable() {
        assert!(is_exhausted(&none_left()) && !is_unreadable(&none_left()));
        for code in [libc::ENOENT, libc::EACCES, libc::EISDIR, libc::ENOTDIR] {
            let error = io::Error::from_raw_os_error(code);
            assert!(is_unreadable(&error) && !is_exhausted(&error), "{error}");
        }
        let broken = io::Error::from_raw_os_error(libc::EIO);
        assert!(!is_unreadable(&broken) && !is_exhausted(&broken));
    }
}
