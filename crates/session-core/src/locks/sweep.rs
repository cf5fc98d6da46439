//! Removes the temporary files and lock files of dead processes from a directory. A process does so once for each
//! directory in which it writes. A redaction does so each time, because these files may contain the text that it
//! removes.

use std::collections::HashSet;
use std::fs::{DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::lock_file;
use crate::base::threads::locked;
use crate::io::fs;
use crate::io::open::{self, Access};
use crate::io::temporary;

/// The directories that this process has swept.
static SWEPT: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// Sweeps the directory of a file that will be written, unless this process has swept it before.
pub(crate) fn sweep_if_due(target: &Path) {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut swept = locked(&SWEPT);
    let is_due = swept.get_or_insert_default().insert(dir.to_owned());
    drop(swept);
    if is_due {
        sweep(dir);
    }
}

/// Removes temporary files and lock files of dead processes. A file that cannot be removed does no harm and stays.
/// Other files with such a name stay too.
pub(crate) fn sweep(dir: &Path) {
    for entry in fs::list(dir).into_iter().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.ends_with(".jsonl.lock")) {
            let _ = lock_file::remove_stale(&entry.path());
        } else if is_temporary(&entry) {
            let _ = remove_abandoned(&entry.path());
        }
    }
}

/// The temporary files in a directory, except those that a living process is known to write. None if the directory
/// does not exist. Fails if it cannot be listed.
pub(crate) fn abandoned(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        entries => entries?,
    };
    let files = entries.into_iter().filter(is_temporary).map(|entry| dir.join(entry.file_name()));
    Ok(files.filter(|path| !matches!(hold(path), Ok(None)) && fs::exists(path)).collect())
}

fn is_temporary(entry: &DirEntry) -> bool {
    entry.file_name().to_str().is_some_and(temporary::is_name) && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// Removes a temporary file. False if a living process writes it. Fails also where files cannot be locked.
pub(crate) fn remove_abandoned(path: &Path) -> io::Result<bool> {
    match hold(path)? {
        Some(_locked) => fs::remove(path).map(|()| true),
        None => Ok(false),
    }
}

/// Opens and locks a temporary file. None if a living process has locked it.
fn hold(path: &Path) -> io::Result<Option<File>> {
    // Opened for writing, because some systems cannot lock a file that is open only for reading.
    let file = open::existing(path, Access::Overwrite)?;
    Ok(fs::try_lock(&file)?.then_some(file))
}

#[cfg(test)]
mod tests;
