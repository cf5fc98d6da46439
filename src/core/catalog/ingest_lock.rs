//! The ingest lock of a catalog, within this process: of searches that start together one ingests the sessions, and the others
//! find it done. It is given in the order in which it was asked for. A search that is cancelled stops waiting.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The tickets of each catalog: the first holds the lock, the others wait.
static QUEUES: LazyLock<Mutex<HashMap<PathBuf, VecDeque<u64>>>> = LazyLock::new(Mutex::default);
static ENDED: Condvar = Condvar::new();
static TICKETS: AtomicU64 = AtomicU64::new(0);

/// The interval at which a wait checks whether it was cancelled.
const PAUSE: Duration = Duration::from_millis(20);

fn queues() -> MutexGuard<'static, HashMap<PathBuf, VecDeque<u64>>> {
    QUEUES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock, or a place in the queue for it. It ends with this value.
pub struct IngestLock {
    path: PathBuf,
    ticket: u64,
}

impl IngestLock {
    /// Waits for the ingest lock of the catalog at `path`. None if this was cancelled.
    pub fn wait(path: &Path, cancelled: &AtomicBool) -> Option<Self> {
        let lock = Self { path: path.to_owned(), ticket: TICKETS.fetch_add(1, Ordering::Relaxed) };
        let mut queues = queues();
        queues.entry(lock.path.clone()).or_default().push_back(lock.ticket);
        while !cancelled.load(Ordering::Relaxed) {
            if queues.get(path).and_then(VecDeque::front) == Some(&lock.ticket) {
                drop(queues);
                return Some(lock);
            }
            queues = ENDED.wait_timeout(queues, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(queues);
        None
    }
}

impl Drop for IngestLock {
    fn drop(&mut self) {
        let mut queues = queues();
        if let Some(queue) = queues.get_mut(&self.path) {
            queue.retain(|ticket| *ticket != self.ticket);
            if queue.is_empty() {
                queues.remove(&self.path);
            }
        }
        ENDED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn wait_for_queue_of(path: &Path, length: usize) {
        while queues().get(path).map_or(0, VecDeque::len) < length {
            thread::yield_now();
        }
    }

    #[test]
    fn a_search_that_began_later_had_the_lock_first() {
        let (path, never) = (Path::new("/none/in/order"), AtomicBool::new(false));
        let first = IngestLock::wait(path, &never).expect("free");
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..8 {
                let (never, order) = (&never, &order);
                scope.spawn(move || {
                    for again in 0..2 {
                        let _lock = IngestLock::wait(path, never).expect("not cancelled");
                        order.lock().expect("whole").push((again, number));
                    }
                });
                wait_for_queue_of(path, 2 + number);
            }
            drop(first);
        });
        let order = order.into_inner().expect("whole");
        // Those who ask again come after all who waited already.
        assert_eq!(order[..8], (0..8).map(|number| (0, number)).collect::<Vec<_>>());
        assert_eq!(order.len(), 16);
        assert!(!queues().contains_key(path));
    }

    #[test]
    fn a_search_that_was_cancelled_waited_for_the_lock() {
        let (path, cancelled) = (Path::new("/none/cancelled"), AtomicBool::new(false));
        let held = IngestLock::wait(path, &cancelled).expect("free");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| IngestLock::wait(path, &cancelled).is_none());
            wait_for_queue_of(path, 2);
            cancelled.store(true, Ordering::Relaxed);
            assert!(waiting.join().expect("no panic"));
        });
        assert_eq!(queues().get(path).map(VecDeque::len), Some(1));
        drop(held);
        assert!(IngestLock::wait(path, &AtomicBool::new(false)).is_some());
    }
}
