//! Opening files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use super::fs;

/// The purpose for which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Reading, and writing at the end.
    Append,
    /// Writing in place.
    Overwrite,
}

/// Opens an existing file.
pub(crate) fn existing(path: &Path, access: Access) -> io::Result<File> {
    let options = options(access);
    fs::open(path, &options)
}

/// Opens a file. Fails for pipes, sockets and devices, which may block or never end. A directory opens, and fails when
/// it is read.
pub(crate) fn regular(path: &Path, access: Access) -> io::Result<File> {
    let mut options = options(access);
    // We check the open file instead of the path, because another file may get the path's name at any time.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, fs::OPENS_DIRS);
    let not_regular = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    let file = match open_when_released(path, &options) {
        // A socket (on macOS the second code), or a pipe without a reader.
        #[cfg(unix)]
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::EOPNOTSUPP)) => return Err(not_regular()),
        file => file?,
    };
    match fs::stat(&file)? {
        // On Windows reading a directory does not fail, because its size is 0.
        stat if stat.is_dir && (cfg!(windows) || access != Access::Read) => Err(io::ErrorKind::IsADirectory.into()),
        stat if stat.is_file || stat.is_dir => Ok(file),
        _ => Err(not_regular()),
    }
}

/// Reads a whole regular file of at most `limit` bytes. The limit applies to the bytes read, not to the file's size: a
/// system's file may report a size of 0 and never end, and a sparse file may exhaust memory.
pub(crate) fn read_small(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    regular(path, Access::Read)?.take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"))),
        false => Ok(bytes),
    }
}

/// How often, and at which interval, we try to open a file on which another process has a lease.
const LEASE_TRIES: u32 = 400;
const LEASE_PAUSE: Duration = Duration::from_millis(5);

/// Opens a file without blocking. File servers take leases. Opening the file ends the lease, but not at once, and a
/// blocking open would wait.
fn open_when_released(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let mut tries = 0;
    loop {
        match fs::open(path, options) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries < LEASE_TRIES => {
                tries += 1;
                std::thread::sleep(LEASE_PAUSE);
            }
            result => return result,
        }
    }
}

fn options(access: Access) -> OpenOptions {
    let mut options = OpenOptions::new();
    match access {
        Access::Read => options.read(true),
        Access::Append => options.read(true).append(true),
        Access::Overwrite => options.write(true),
    };
    options
}

/// Opens an existing lock file for reading, or also for writing. Follows no link and does not block.
pub(crate) fn lock_file(path: &Path, writes: bool) -> io::Result<File> {
    unfollowed(path, OpenOptions::new().read(true).write(writes))
}

/// Opens a lock file that is never removed, or creates it for its owner only. Follows no link and does not block.
pub(crate) fn kept_lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = unfollowed(path, &mut options)?;
    if fs::stat(&file)?.is_file {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

fn unfollowed(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(options, fs::OPENS_DIRS | fs::OPENS_LINKS);
    open_when_released(path, options)
}

/// Whether an error means that no file descriptor is left, or no memory for one. This is no error of the file, which
/// therefore does not count as unreadable.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    #[cfg(unix)]
    return matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM));
    #[cfg(windows)]
    {
        use windows_sys::Win32::Foundation::{ERROR_NOT_ENOUGH_MEMORY, ERROR_OUTOFMEMORY, ERROR_TOO_MANY_OPEN_FILES};
        let code = error.raw_os_error().map(i32::cast_unsigned);
        matches!(code, Some(ERROR_TOO_MANY_OPEN_FILES | ERROR_NOT_ENOUGH_MEMORY | ERROR_OUTOFMEMORY))
    }
}

/// Creates a file for its owner only. Fails if the name exists.
pub(crate) fn new_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    fs::open(path, &options)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::io::fs::faults::{before_next, with, InjectedFault};
    use crate::io::fs::FsCall;

    fn make_pipe(path: &Path) {
        assert!(std::process::Command::new("mkfifo").arg(path).status().expect("run").success());
    }

    /// Regression: a file that a file server had a lease on could not be opened.
    #[test]
    fn a_file_that_a_file_server_has_a_lease_on_is_opened() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("leased");
        std::fs::write(&path, "x").expect("written");
        for access in [Access::Read, Access::Append, Access::Overwrite] {
            let (opened, made) = with(0, InjectedFault::Once(libc::EAGAIN), || regular(&path, access));
            assert!(opened.is_ok() && made.hit, "{access:?}: {opened:?}");
        }
        let (opened, _) = with(0, InjectedFault::Always(libc::EAGAIN), || regular(&path, Access::Read));
        assert_eq!(opened.expect_err("it is never released").kind(), io::ErrorKind::WouldBlock);
    }

    /// Regression: if a pipe replaced a file, opening it waited for a writer.
    #[test]
    fn a_pipe_that_took_the_place_of_a_file_is_not_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        for access in [Access::Read, Access::Append, Access::Overwrite] {
            let path = dir.path().join(format!("{access:?}"));
            std::fs::write(&path, "x").expect("written");
            regular(&path, access).expect("a file");
            let name = path.clone();
            before_next(FsCall::Open, move || {
                std::fs::remove_file(&name).expect("removed");
                make_pipe(&name);
            });
            let error = regular(&path, access).expect_err("a pipe");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{access:?}: {error}");
        }
        // macOS's error for a socket.
        let path = dir.path().join("socket for macOS");
        std::fs::write(&path, "x").expect("written");
        let (opened, _) = with(0, InjectedFault::Once(libc::EOPNOTSUPP), || regular(&path, Access::Read));
        assert_eq!(opened.expect_err("a socket").kind(), io::ErrorKind::InvalidInput);
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
        assert_eq!(regular(&socket, Access::Read).expect_err("a socket").kind(), io::ErrorKind::InvalidInput);
    }
}
