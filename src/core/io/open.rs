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
    let options = options(access);
    retry_on_emfile(|| fs::open(path, &options))
}

/// Opens a file, but nothing that may have no end or block: no pipe, no device. Directories fail when they are read. The path
/// may lead to another file between two calls, so the open file itself is looked at.
pub fn regular(path: &Path, access: Access) -> io::Result<File> {
    let mut options = options(access);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = retry_on_emfile(|| fs::open(path, &options))?;
    let kind = fs::metadata_of(&file)?.file_type();
    match kind.is_file() || kind.is_dir() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
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

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_named_as_a_session_kept_its_reader_waiting_for_ever() {
        let dir = tempfile::tempdir().expect("a directory");
        let pipe = dir.path().join("x.jsonl");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("run").success());
        for access in [Access::Read, Access::Append] {
            let error = regular(&pipe, access).expect_err("no regular file");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{access:?}");
        }
        assert!(regular(Path::new("/dev/null"), Access::Read).is_err());
        assert!(regular(dir.path(), Access::Read).is_ok());
    }
}
