//! Removes what dead processes left in a directory: temporary files and lock files that nobody holds. A process does so once for each
//! directory that it writes in; a redaction does so each time, because what they left may hold what is to be taken out.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::lock_file;
use crate::base::threads::locked;
use crate::io::fs;
use crate::io::open::{self, Access};
use crate::io::temporary::{PREFIX, SUFFIX};

/// The directories that this process swept.
static SWEPT: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// Sweeps the directory of a file that is to be written, if this process did not do so before.
pub(crate) fn sweep_if_due(target: &Path) {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut swept = locked(&SWEPT);
    let is_due = swept.get_or_insert_default().insert(dir.to_owned());
    drop(swept);
    if is_due {
        sweep(dir);
    }
}

/// Removes temporary files and lock files that dead processes left. One that cannot be removed does no harm and stays,
/// as does any other file with such a name. Returns the temporary files that stay though no living process is known to write them.
pub(crate) fn sweep(dir: &Path) -> Vec<PathBuf> {
    let mut left = Vec::new();
    for entry in fs::list(dir).into_iter().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str() else { continue };
        if name.ends_with(".jsonl.lock") {
            let _ = lock_file::remove_stale(&path);
        }
        let is_temporary = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        if is_temporary && entry.file_type().is_ok_and(|kind| kind.is_file()) && !is_removed_or_in_use(&path) {
            left.push(path);
        }
    }
    left
}

fn is_removed_or_in_use(path: &Path) -> bool {
    // Opened for writing: some systems do not lock a file that is open only for reading.
    let removed = open::existing(path, Access::Overwrite).and_then(|file| match fs::try_lock(&file)? {
        true => fs::remove(path),
        false => Ok(()),
    });
    removed.is_ok() || !fs::exists(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_of_another_tool_stays_after_the_sweep() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("other.jsonl.lock"), "precious").expect("written");
        std::fs::write(dir.path().join("dead.jsonl.lock"), "pi-session-native 4711").expect("written");
        sweep(dir.path());
        let left: Vec<_> = std::fs::read_dir(dir.path()).expect("read").flatten().map(|one| one.file_name()).collect();
        assert_eq!(left, ["other.jsonl.lock"]);
    }
}
