//! Which sessions a list, a search or a sum of usage is about.

use std::io::{self, ErrorKind};

pub use super::candidates::Candidate;
use super::candidates::{dirs_in, in_all_dirs, in_dir};
use super::find_session::CwdFilter;
use crate::base::error::{Error, Result};
use crate::base::paths::Process;
use crate::io::open::is_exhausted;
use crate::io::session_files::session_files;

/// Which sessions are listed.
#[derive(Debug, Clone)]
pub struct ListScope {
    dir: String,
    /// Only sessions of this working directory.
    filter: Option<String>,
    /// The directory holds directories of sessions.
    is_all: bool,
}

impl ListScope {
    /// The sessions in one directory; only those of the working directory `filter`, if it is given.
    pub fn dir(dir: String, filter: Option<String>) -> Self {
        Self { dir, filter, is_all: false }
    }

    /// The sessions in every directory under the sessions directory.
    pub fn all(sessions_dir: String) -> Self {
        Self { dir: sessions_dir, filter: None, is_all: true }
    }

    /// The files that may be sessions, of every working directory: which one a session has is in its file. None if the directory
    /// cannot be read. An error if no file descriptor is left. `cwd` is what a relative path starts from.
    pub fn find(&self, cwd: &str) -> Result<Vec<Candidate>> {
        let found = if self.is_all { in_all_dirs(&self.dir, cwd) } else { in_dir(&self.dir, cwd) };
        match found {
            Err(error) if is_exhausted(&error) => Err(Error::io("scandir", &self.dir, error)),
            found => Ok(found.unwrap_or_default()),
        }
    }

    /// The directories that are there and cannot be read, and why. [`ListScope::find`] skips them.
    pub fn unreadable_dirs(&self) -> Vec<(String, io::Error)> {
        let dirs = if self.is_all { dirs_in(&self.dir) } else { Ok(vec![self.dir.clone()]) };
        let mut unreadable = match dirs {
            Ok(dirs) => {
                dirs.into_iter().filter_map(|dir| session_files(&dir).err().map(|error| (dir, error))).collect()
            }
            Err(error) => vec![(self.dir.clone(), error)],
        };
        unreadable.retain(|(_, error)| !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory));
        unreadable
    }

    /// Whether only sessions of one working directory are listed.
    pub fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether a session with this working directory is listed.
    pub fn includes(&self, cwd: &[u8], process: &dyn Process) -> bool {
        self.filter.as_deref().is_none_or(|filter| CwdFilter { cwd: filter, process }.includes(Some(cwd)))
    }

    /// Whether it is of all directories under the sessions directory.
    pub fn is_all(&self) -> bool {
        self.is_all
    }
}
