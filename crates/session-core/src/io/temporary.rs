//! Temporary files: a session file is first written under another name, and gets its own name when it is complete.
//!
//! The name ends in `.tmp`, so that no program reads it as a session. The file is locked while it is written. An
//! unlocked one was left by a dead process; the next process that writes in the directory removes it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::fs;
use super::open;

/// The start and the end of each temporary file's name. Between them are the digits of a random UUID.
const PREFIX: &str = ".pi-session-";
const SUFFIX: &str = ".tmp";

/// Whether a file has a name that [`Temporary`] creates. Other names with this start and end may belong to the user.
pub(crate) fn is_name(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    digits
        .is_some_and(|digits| digits.len() == 32 && digits.bytes().all(|one| matches!(one, b'0'..=b'9' | b'a'..=b'f')))
}

/// How often we create a temporary file that another process removes at once.
const TRIES: usize = 100;

/// A temporary file beside a target. It is removed on drop, unless it was renamed.
pub(crate) struct Temporary {
    path: PathBuf,
    pub file: File,
    named: bool,
}

impl Temporary {
    /// Creates the file in the directory of `target`, for its owner only.
    pub(crate) fn beside(target: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            let path = target.with_file_name(format!("{PREFIX}{}{SUFFIX}", uuid::Uuid::new_v4().simple()));
            let file = open::new_private(&path)?;
            let temporary = Self { path, file, named: false };
            // Where files cannot be locked, temporary files are never swept.
            let is_ours = fs::try_lock(&temporary.file).unwrap_or(true);
            // Another process may have swept the file before we locked it.
            if is_ours && fs::is_at(&temporary.path, &temporary.file)? {
                return Ok(temporary);
            }
        }
        Err(io::Error::other("another process removes temporary files as soon as they are created"))
    }

    /// Renames the file to `target`, and replaces a file there.
    pub(crate) fn replace(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.named = true;
        Ok(())
    }

    /// Names the file `target`. Fails if that name exists; then the caller may try another name.
    pub(crate) fn name(&mut self, target: &Path) -> io::Result<()> {
        match fs::link(&self.path, target) {
            // The temporary name is removed when this value is dropped.
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Not every file system has hard links.
            Err(_) => {
                fs::rename_new(&self.path, target)?;
                self.named = true;
                Ok(())
            }
        }
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fs::write(&self.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.named {
            // Either the file has its own name now, or it is useless after a failure that is being reported.
            let _ = fs::remove(&self.path);
        }
    }
}

/// The error for a name that exists already.
pub(crate) fn taken() -> io::Error {
    #[cfg(unix)]
    return io::Error::from_raw_os_error(libc::EEXIST);
    #[cfg(not(unix))]
    return io::ErrorKind::AlreadyExists.into();
}

// Without hard links only Linux can rename a file without replacing another.
#[cfg(all(test, target_os = "linux"))]
mod tests;
