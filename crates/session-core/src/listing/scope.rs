//! The scope of a list, a search or a sum of usage: its sessions.

use std::io::{self, ErrorKind};

pub(crate) use super::candidates::Candidate;
use super::candidates::{dirs_in, names_in, read_fingerprints};
use crate::base::error::{Error, Result};
use crate::base::paths::{is_absolute, is_in, is_same_path, resolve, Process, MAX_PATH};
use crate::base::wtf8::to_string_lossy;
use crate::io::open::is_exhausted;

/// The sessions that are listed.
#[derive(Debug, Clone)]
pub struct ListScope {
    /// The directory.
    pub dir: String,
    filter: Option<CwdFilter>,
    /// Whether the directory contains directories of sessions.
    is_all: bool,
}

/// The working directories whose sessions are listed.
#[derive(Debug, Clone)]
enum CwdFilter {
    Same(String),
    /// The working directory is one of these folders, or in one. They are absolute.
    Folders(Vec<String>),
}

impl ListScope {
    /// The sessions in one directory. With `filter`, only sessions with that working directory.
    pub fn dir(dir: String, filter: Option<String>) -> Self {
        Self { dir, filter: filter.map(CwdFilter::Same), is_all: false }
    }

    /// The sessions in every directory under the sessions directory.
    pub fn all(sessions_dir: String) -> Self {
        Self { dir: sessions_dir, filter: None, is_all: true }
    }

    /// Limits the scope to sessions whose working directory is one of `folders`, or in one. They are absolute.
    pub fn in_folders(self, folders: Vec<String>) -> Self {
        Self { filter: Some(CwdFilter::Folders(folders)), ..self }
    }

    /// The files that may be sessions. The filter is not applied, because the working directory of a session is in its
    /// file. Directories that cannot be read are skipped. Fails if no file descriptor is left. `cwd` must be the
    /// process's working directory as an absolute path; only a relative scope uses it.
    pub fn find(&self, cwd: &str) -> Result<Vec<Candidate>> {
        Ok(self.find_or(cwd, |_| {})?.0)
    }

    /// As [`find`](Self::find), and also returns the directories that were read. Calls `unreadable` with the error of
    /// each existing directory that cannot be read.
    pub(crate) fn find_or(&self, cwd: &str, unreadable: impl FnMut(Error)) -> Result<(Vec<Candidate>, Vec<String>)> {
        let (mut files, dirs) = self.find_names(cwd, unreadable)?;
        read_fingerprints(&mut files);
        Ok((files, dirs))
    }

    /// As [`find_or`](Self::find_or), without the files' fingerprints.
    pub(crate) fn find_names(
        &self,
        cwd: &str,
        mut unreadable: impl FnMut(Error),
    ) -> Result<(Vec<Candidate>, Vec<String>)> {
        let mut skip = |dir: &str, error: io::Error| {
            let is_missing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            let is_exhausted = is_exhausted(&error);
            match Error::io("scandir", dir, error) {
                error if is_exhausted => return Err(error),
                error if !is_missing => unreadable(error),
                _ => {}
            }
            Ok(Vec::new())
        };
        let dirs = if self.is_all { dirs_in(&self.dir) } else { Ok(vec![self.dir.clone()]) };
        let dirs = dirs.or_else(|error| skip(&self.dir, error).map(|_| Vec::new()))?;
        let mut files = Vec::new();
        for dir in &dirs {
            files.append(&mut names_in(dir, cwd).or_else(|error| skip(dir, error))?);
        }
        Ok((files, dirs))
    }

    /// Whether the scope is limited by working directory.
    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether a session with this working directory is listed. `process` resolves paths in headers.
    pub fn includes(&self, cwd: &[u8], process: &dyn Process) -> bool {
        let Some(filter) = &self.filter else { return true };
        if cwd.is_empty() || cwd.len() > MAX_PATH {
            return false;
        }
        let is_included = resolve(&to_string_lossy(cwd), process).and_then(|cwd| match filter {
            CwdFilter::Same(filter) => is_same_path(&cwd, filter, process),
            CwdFilter::Folders(folders) => Ok(folders.iter().any(|folder| is_in(&cwd, folder))),
        });
        is_included.unwrap_or_else(|_| {
            process.discard_error();
            false
        })
    }

    /// The working directory, if the scope is relative. Empty if it is absolute, because then the working directory may
    /// not exist.
    pub(crate) fn start(&self, process: &dyn Process) -> Result<String> {
        if is_absolute(&self.dir) {
            Ok(String::new())
        } else {
            process.cwd()
        }
    }

    /// Whether the scope is all directories under the sessions directory.
    pub(crate) fn is_all(&self) -> bool {
        self.is_all
    }
}
