//! One search at a time ingests into a catalog: of searches that start together the others find it done.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::base::threads::locked;

/// Per catalog the searches that ingest into it or wait for that, in the order in which they came. The first has the lock.
/// A search that releases the lock and takes it again goes to the end.
static QUEUES: Mutex<BTreeMap<PathBuf, VecDeque<u64>>> = Mutex::new(BTreeMap::new());
static RELEASED: Condvar = Condvar::new();

/// How often one that waits checks whether it was cancelled.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The right to ingest into a catalog. It ends with this value.
pub struct IngestLock {
    path: PathBuf,
    number: u64,
}

impl IngestLock {
    /// Waits until no other search ingests into the catalog at `path`. None if this was cancelled.
    pub fn wait(path: &Path, cancelled: &AtomicBool) -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let lock = Self { path: path.to_owned(), number: NEXT.fetch_add(1, Ordering::Relaxed) };
        let mut queues = locked(&QUEUES);
        queues.entry(lock.path.clone()).or_default().push_back(lock.number);
        while !cancelled.load(Ordering::Relaxed) {
            if queues.get(path).and_then(VecDeque::front) == Some(&lock.number) {
                return Some(lock);
            }
            queues = RELEASED.wait_timeout(queues, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(queues);
        None
    }
}

impl Drop for IngestLock {
    fn drop(&mut self) {
        let mut queues = locked(&QUEUES);
        if let Some(queue) = queues.get_mut(&self.path) {
            queue.retain(|&number| number != self.number);
            if queue.is_empty() {
                queues.remove(&self.path);
            }
        }
        RELEASED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(path: &Path) -> usize {
        locked(&QUEUES).get(path).map_or(0, VecDeque::len)
    }

    /// Regression: a search that was cancelled waited for the lock.
    #[test]
    fn a_search_that_is_cancelled_does_not_wait_for_the_lock() {
        let (path, cancelled) = (Path::new("/none/cancelled"), AtomicBool::new(false));
        let held = IngestLock::wait(path, &cancelled).expect("free");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| IngestLock::wait(path, &cancelled).is_none());
            cancelled.store(true, Ordering::Relaxed);
            assert!(waiting.join().expect("no panic"));
        });
        assert_eq!(length(path), 1);
        drop(held);
        assert_eq!(length(path), 0);
        assert!(IngestLock::wait(path, &AtomicBool::new(false)).is_some());
    }

    /// Regression: a search of few sessions waited until another had ingested everything.
    #[test]
    fn a_search_of_few_sessions_does_not_wait_until_another_has_ingested_everything() {
        let (path, never) = (Path::new("/none/order"), AtomicBool::new(false));
        let held = IngestLock::wait(path, &never).expect("free");
        let order = Mutex::new(Vec::new());
        let ingest = |name| {
            let _lock = IngestLock::wait(path, &never).expect("not cancelled");
            locked(&order).push(name);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| ingest("other"));
            while length(path) < 2 {
                std::thread::yield_now();
            }
            drop(held);
            ingest("first again");
        });
        assert_eq!(*locked(&order), ["other", "first again"]);
    }
}
