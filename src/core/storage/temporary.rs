//! Temporary files: a session file is written under another name first, and gets its own when it is whole.
//!
//! The name ends in `.tmp`, so nothing takes it for a session. While it is being written the file is locked; one that
//! nobody holds was left by a process that died, and is removed by whoever writes in the same directory next.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::disk;

const PREFIX: &str = ".pi-session-";
const SUFFIX: &str = ".tmp";

/// The directories that were looked through for files left behind: once per process is enough.
static SWEPT: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// A file beside a target that is removed unless it takes a name of its own.
pub struct Temporary {
    path: PathBuf,
    pub file: File,
    named: bool,
}

impl Temporary {
    /// Creates the file, for its owner alone, in the directory of `target`.
    pub fn beside(target: &Path) -> io::Result<Self> {
        sweep_once(target);
        loop {
            let path = target.with_file_name(format!("{PREFIX}{}{SUFFIX}", uuid::Uuid::new_v4().simple()));
            let file = disk::create(&path)?;
            let temporary = Self { path, file, named: false };
            // Where files cannot be locked, none is ever taken for one left behind.
            let locked = temporary.file.try_lock();
            let taken = matches!(locked, Err(TryLockError::WouldBlock));
            // Another process may have swept it away before it was locked.
            if !taken && !disk::stat(&temporary.file)?.deleted {
                return Ok(temporary);
            }
        }
    }

    /// Puts the file in the place of whatever is at `target`.
    pub fn replace(mut self, target: &Path) -> io::Result<()> {
        disk::rename(&self.path, target)?;
        self.named = true;
        Ok(())
    }

    /// Gives the file the name `target`; an error if something has it already.
    pub fn appear_as(self, target: &Path) -> io::Result<()> {
        match disk::link(&self.path, target) {
            // The second name is removed when this value goes.
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Not every file system has hard links.
            Err(error) => match disk::stat_path(target)? {
                Some(_) => Err(error),
                None => self.replace(target),
            },
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.named {
            // Either the file has its own name by now, or a failure is being reported that made it useless.
            let _ = disk::remove(&self.path);
        }
    }
}

fn sweep_once(target: &Path) {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut swept = SWEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if swept.get_or_insert_default().insert(dir.to_owned()) {
        sweep(dir);
    }
}

/// Removes temporary files, and lock files, that their processes left behind. What cannot be removed hurts nobody and stays.
pub fn sweep(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.ends_with(".jsonl.lock")) {
            crate::core::lock::remove_stale(&entry.path());
        }
        let left = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !left || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Opened for writing: some systems lock no file that is open for reading alone.
        let nobody_has_it =
            disk::open(&entry.path(), disk::Access::Overwrite).is_ok_and(|file| file.try_lock().is_ok());
        if nobody_has_it {
            let _ = disk::remove(&entry.path());
        }
    }
}
