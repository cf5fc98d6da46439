//! Opening files. Where a process has no file descriptor left, one is freed and the file is opened once more.

use std::fs::{DirEntry, File, OpenOptions};
use std::io;
use std::path::Path;

use super::fd_pool::retry_on_emfile;
use super::fs;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Reading, and writing at the end.
    Append,
    /// Writing in place.
    Overwrite,
}

/// Opens a file that must be there.
pub fn existing(path: &Path, access: Access) -> io::Result<File> {
    let mut options = OpenOptions::new();
    match access {
        Access::Read => options.read(true),
        Access::Append => options.read(true).append(true),
        Access::Overwrite => options.write(true),
    };
    retry_on_emfile(|| fs::open(path, &options))
}

/// Opens a file, but nothing that may have no end or block: no pipe, no device. Directories fail when they are read.
pub fn regular(path: &Path, access: Access) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    match kind.is_file() || kind.is_dir() {
        true => existing(path, access),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Opens a lock file that is there, for reading, or for writing as well. No link is followed, nothing blocks.
pub fn lock_file(path: &Path, writes: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(writes);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    retry_on_emfile(|| fs::open(path, &options))
}

/// Creates a file for its owner alone; an error if something is there already.
pub fn new_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    retry_on_emfile(|| fs::open(path, &options))
}

/// Another handle of the same open file.
pub fn duplicate(file: &File) -> io::Result<File> {
    retry_on_emfile(|| fs::duplicate(file))
}

/// The entries of a directory.
pub fn list(dir: &Path) -> io::Result<Vec<DirEntry>> {
    retry_on_emfile(|| fs::list(dir))
}
