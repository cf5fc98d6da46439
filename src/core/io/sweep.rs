//! Removes what dead processes left in a directory: temporary files and lock files that nobody holds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::fs;
use super::lock_file;
use super::open::{self, Access};
use super::temporary::{PREFIX, SUFFIX};

/// The directories that were swept, and when. A process that lives long sweeps again, for others may die at any time.
static SWEPT: Mutex<Option<HashMap<PathBuf, Instant>>> = Mutex::new(None);
const AGAIN: Duration = Duration::from_secs(600);

/// Sweeps the directory of a file that is to be written, if that was not done for a while.
pub fn sweep_if_due(target: &Path) {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if is_due(dir, Instant::now()) {
        sweep(dir);
    }
}

/// Whether a directory is to be swept now; if so it counts as swept.
fn is_due(dir: &Path, now: Instant) -> bool {
    let mut swept = SWEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let swept = swept.get_or_insert_default();
    let due = swept.get(dir).is_none_or(|last| now.saturating_duration_since(*last) >= AGAIN);
    if due {
        // Older ones have no effect any more.
        swept.retain(|_, last| now.saturating_duration_since(*last) < AGAIN);
        swept.insert(dir.to_owned(), now);
    }
    due
}

/// Removes temporary files and lock files that dead processes left. One that cannot be removed does no harm and stays,
/// as does any other file with such a name.
pub fn sweep(dir: &Path) {
    for entry in open::list(dir).into_iter().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.ends_with(".jsonl.lock")) {
            let _ = lock_file::remove_stale(&entry.path());
        }
        let left = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !left || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Opened for writing: some systems do not lock a file that is open for reading alone.
        let file = open::existing(&entry.path(), Access::Overwrite);
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
