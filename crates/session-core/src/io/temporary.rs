//! Temporary files: a session file is written under another name first, and gets its own when it is complete.
//!
//! The name ends in `.tmp`, so no program takes it for a session. The file is locked while it is written; an unlocked
//! one was left by a dead process, and the next process that writes in the directory removes it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::fs;
use super::open;

/// How the name of every temporary file begins and ends.
pub(crate) const PREFIX: &str = ".pi-session-";
pub(crate) const SUFFIX: &str = ".tmp";

/// How often a temporary file is created that another process removes at once.
const TRIES: usize = 100;

/// A file beside a target that is removed unless it takes a name of its own.
pub(crate) struct Temporary {
    path: PathBuf,
    pub file: File,
    named: bool,
}

impl Temporary {
    /// Creates the file, for its owner only, in the directory of `target`.
    pub(crate) fn beside(target: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            let path = target.with_file_name(format!("{PREFIX}{}{SUFFIX}", uuid::Uuid::new_v4().simple()));
            let file = open::new_private(&path)?;
            let temporary = Self { path, file, named: false };
            // Where files have no locks none is swept.
            let is_ours = fs::try_lock(&temporary.file).unwrap_or(true);
            // Another process may have swept it away before it was locked.
            if is_ours && fs::is_at(&temporary.path, &temporary.file)? {
                return Ok(temporary);
            }
        }
        Err(io::Error::other("temporary files are removed as soon as they are made"))
    }

    /// Puts the file in the place of whatever is at `target`.
    pub(crate) fn replace(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.named = true;
        Ok(())
    }

    /// Gives the file the name `target`; an error if something has it already. Then it can be tried with another name.
    pub(crate) fn name(&mut self, target: &Path) -> io::Result<()> {
        match fs::link(&self.path, target) {
            // The second name is removed when this value goes.
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
            // Either the file has its own name by now, or a failure is being reported that made it useless.
            let _ = fs::remove(&self.path);
        }
    }
}

/// The error of a name that something has already.
pub(crate) fn taken() -> io::Error {
    #[cfg(unix)]
    return io::Error::from_raw_os_error(libc::EEXIST);
    #[cfg(not(unix))]
    return io::ErrorKind::AlreadyExists.into();
}

// Without hard links only Linux gives a name without replacing what has it.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::io::fs::faults::{before_next, with, InjectedFault};
    use crate::io::fs::FsCall;

    /// Regression: a file that was made while another was renamed without hard links was replaced.
    #[test]
    fn a_file_that_is_made_while_another_is_renamed_without_hard_links_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("s.jsonl");
        let mut temporary = Temporary::beside(&target).expect("made");
        let theirs = target.clone();
        let work = || {
            before_next(FsCall::Rename, move || fs::write(theirs, "theirs").expect("written"));
            temporary.name(&target)
        };
        // The first call is the hard link.
        let (result, made) = with(0, InjectedFault::Once(libc::EPERM), work);
        assert_eq!((made.calls.first(), made.hit), (Some(&FsCall::Link), true));
        assert_eq!(result.expect_err("the name is taken").kind(), io::ErrorKind::AlreadyExists);
        drop(temporary);
        assert_eq!(fs::read_to_string(&target).expect("read"), "theirs");
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1, "the temporary file is gone");
    }

    #[test]
    fn without_hard_links_a_file_gets_only_a_free_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("s.jsonl");
        let appear = || {
            let mut temporary = Temporary::beside(&target).expect("made");
            with(0, InjectedFault::Once(libc::EPERM), || temporary.name(&target)).0
        };
        appear().expect("the name is free");
        assert_eq!(appear().expect_err("the name is taken").kind(), io::ErrorKind::AlreadyExists);
    }
}
