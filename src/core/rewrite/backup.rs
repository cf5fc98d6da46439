//! The backup of a file that is replaced. It gets its name when it is complete.
//!
//! If the backup's name is a link to the very file that is being replaced, a process that was killed left it, and it is the backup.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::io::fs;
use crate::io::sidecar_names;
use crate::io::temporary::Temporary;

/// The suffix of the backup. A number follows it if that name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// `.v1.bak`: the file is of an older version of the format.
    OldVersion,
    /// `.bak`: the file was repaired.
    Repaired,
    /// None is kept: the new version has every line of the old one.
    None,
}

/// A backup, which is removed on drop unless the rename succeeded.
pub(super) struct KeptBackup {
    path: Option<PathBuf>,
    /// Whether it is the old file itself, by another name.
    is_link: bool,
    /// Whether it was made here. One that existed may belong to another process.
    is_ours: bool,
}

impl KeptBackup {
    /// Makes the backup of the first `end` bytes of the file at `target`.
    pub fn make(backup: Backup, target: &Path, file: &File, end: u64) -> io::Result<Self> {
        let suffix = match backup {
            Backup::OldVersion => ".v1.bak",
            Backup::Repaired => ".bak",
            Backup::None => return Ok(Self { path: None, is_link: false, is_ours: false }),
        };
        let mut copy = None;
        let mut number = 0u32;
        loop {
            let numbered = if number == 0 { suffix.to_owned() } else { format!("{suffix}.{number}") };
            let path = sidecar_names::beside(target, &numbered);
            // A session that has the old file open learns from a link count of zero that it was replaced, so a repair
            // copies instead of linking.
            if let (Backup::OldVersion, None) = (backup, &copy) {
                match fs::link(target, &path) {
                    Ok(()) => return Ok(Self { path: Some(path), is_link: true, is_ours: true }),
                    Err(error) if is_taken(&error) && is_same_file(&path, file)? => {
                        // It was made by a process that died before its rename, or that is about to see ours.
                        return Ok(Self { path: Some(path), is_link: true, is_ours: false });
                    }
                    Err(error) if is_taken(&error) => {
                        number += 1;
                        continue;
                    }
                    // File systems without hard links get a copy, too.
                    Err(_) => {}
                }
            }
            let copied = match &mut copy {
                Some(copied) => copied,
                None => {
                    let made = Temporary::beside(target)?;
                    fs::copy(file, end, &made.file)?;
                    copy.insert(made)
                }
            };
            match copied.name(&path) {
                Ok(()) => return Ok(Self { path: Some(path), is_link: false, is_ours: true }),
                Err(error) if is_taken(&error) => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Its path, if it is a link to the old file.
    pub fn link(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.is_link)
    }

    /// Keeps it: the rename succeeded. Gives its path, empty without a backup.
    pub fn keep(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }
}

impl Drop for KeptBackup {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|_| self.is_ours) {
            let _ = fs::remove(path);
        }
    }
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
}

/// Whether a path is that of a file itself, not of a link to it.
fn is_same_file(path: &Path, file: &File) -> io::Result<bool> {
    Ok(fs::entry_at(path)?.is_some_and(|found| found.is_file()) && fs::is_at(path, file)?)
}
