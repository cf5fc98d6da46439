//! One search at a time ingests into a catalog: of searches that start together the others find it done.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::core::base::threads::locked;

/// The catalogs that a search ingests into.
static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static RELEASED: Condvar = Condvar::new();

/// How often one that waits checks whether it was cancelled.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The right to ingest into a catalog. It ends with this value.
pub struct IngestLock(PathBuf);

impl IngestLock {
    /// Waits until no other search ingests into the catalog at `path`. None if this was cancelled.
    pub fn wait(path: &Path, cancelled: &AtomicBool) -> Option<Self> {
        let mut held = locked(&HELD);
        while !cancelled.load(Ordering::Relaxed) {
            if held.insert(path.to_owned()) {
                return Some(Self(path.to_owned()));
            }
            held = RELEASED.wait_timeout(held, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}

impl Drop for IngestLock {
    fn drop(&mut self) {
        locked(&HELD).remove(&self.0);
        RELEASED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_was_cancelled_waited_for_the_lock() {
        let (path, cancelled) = (Path::new("/none/cancelled"), AtomicBool::new(false));
        let held = IngestLock::wait(path, &cancelled).expect("free");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| IngestLock::wait(path, &cancelled).is_none());
            cancelled.store(true, Ordering::Relaxed);
            assert!(waiting.join().expect("no panic"));
        });
        drop(held);
        assert!(IngestLock::wait(path, &AtomicBool::new(false)).is_some());
    }
}
