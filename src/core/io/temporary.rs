//! Temporary files: a session file is written under another name first, and gets its own when it is whole.
//!
//! The name ends in `.tmp`, so nothing takes it for a session. While it is being written the file is locked; one that
//! nobody holds was left by a process that died, and is removed by whoever writes in the same directory next.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::fs;

const PREFIX: &str = ".pi-session-";
const SUFFIX: &str = ".tmp";

/// The directories that were looked through for files left behind, and when. Others may die there at any time: a
/// process that lives long looks again.
static SWEPT: Mutex<Option<HashMap<PathBuf, Instant>>> = Mutex::new(None);
const AGAIN: Duration = Duration::from_secs(600);

/// A file beside a target that is removed unless it takes a name of its own.
pub struct Temporary {
    path: PathBuf,
    pub file: File,
    /// Why it could not be locked, where files cannot be.
    pub unlockable: Option<io::Error>,
    named: bool,
}

impl Temporary {
    /// Creates the file, for its owner alone, in the directory of `target`.
    pub fn beside(target: &Path) -> io::Result<Self> {
        sweep_at_times(target);
        loop {
            let path = target.with_file_name(format!("{PREFIX}{}{SUFFIX}", uuid::Uuid::new_v4().simple()));
            let file = fs::create(&path)?;
            let mut temporary = Self { path, file, unlockable: None, named: false };
            let taken = match fs::try_lock(&temporary.file) {
                Ok(locked) => !locked,
                // Where files cannot be locked, none is ever taken for one left behind.
                Err(error) => {
                    temporary.unlockable = Some(error);
                    false
                }
            };
            // Another process may have swept it away before it was locked.
            if !taken && !fs::stat(&temporary.file)?.deleted {
                return Ok(temporary);
            }
        }
    }

    /// Puts the file in the place of whatever is at `target`.
    pub fn replace(mut self, target: &Path) -> io::Result<()> {
        self.rename(target)
    }

    /// Gives the file the name `target`; an error if something has it already.
    pub fn appear_as(mut self, target: &Path) -> io::Result<()> {
        self.name(target)
    }

    /// The same; after an error it can be tried with another name.
    pub fn name(&mut self, target: &Path) -> io::Result<()> {
        match fs::link(&self.path, target) {
            // The second name is removed when this value goes.
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Not every file system has hard links.
            Err(_) => match fs::entry_at(target)? {
                Some(_) => Err(taken()),
                None => self.rename(target),
            },
        }
    }

    fn rename(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.named = true;
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

fn sweep_at_times(target: &Path) {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if is_due(dir, Instant::now()) {
        sweep(dir);
    }
}

/// Whether a directory is to be looked through now; if so it counts as looked through.
fn is_due(dir: &Path, now: Instant) -> bool {
    let mut swept = SWEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let swept = swept.get_or_insert_default();
    let due = swept.get(dir).is_none_or(|last| now.saturating_duration_since(*last) >= AGAIN);
    if due {
        // Only what keeps a directory from being looked through is worth remembering.
        swept.retain(|_, last| now.saturating_duration_since(*last) < AGAIN);
        swept.insert(dir.to_owned(), now);
    }
    due
}

/// Removes temporary files, and lock files, that their processes left behind. What cannot be removed hurts nobody and
/// stays, and so does what only has such a name.
pub fn sweep(dir: &Path) {
    for entry in fs::list(dir).into_iter().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.ends_with(".jsonl.lock")) {
            super::lock_file::remove_stale(&entry.path());
        }
        let left = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !left || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Opened for writing: some systems lock no file that is open for reading alone.
        let file = fs::open(&entry.path(), fs::Access::Overwrite);
        if file.is_ok_and(|file| fs::try_lock(&file).is_ok_and(|free| free)) {
            let _ = fs::remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_lives_long_looks_again_for_what_others_left() {
        let (dir, now) = (Path::new("/none/such"), Instant::now());
        assert!(is_due(dir, now));
        assert!(!is_due(dir, now + AGAIN / 2), "looked through a moment ago");
        assert!(is_due(dir, now + AGAIN));
        assert!(!is_due(dir, now + AGAIN + AGAIN / 2));
    }

    #[test]
    fn a_lock_file_of_another_tool_outlived_the_sweep() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("other.jsonl.lock"), "precious").expect("written");
        std::fs::write(dir.path().join("dead.jsonl.lock"), "pi-session-native 4711").expect("written");
        sweep(dir.path());
        let left: Vec<_> = std::fs::read_dir(dir.path()).expect("read").flatten().map(|one| one.file_name()).collect();
        assert_eq!(left, ["other.jsonl.lock"]);
    }
}
