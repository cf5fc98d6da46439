//! Turns at ingesting into one catalog, so that of searches which start together one ingests the sessions and the others find it
//! done. Turns come in the order in which they were asked for, and a search that is cancelled waits no longer.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The tickets of each catalog: the first has its turn, the others wait.
static QUEUES: LazyLock<Mutex<HashMap<PathBuf, VecDeque<u64>>>> = LazyLock::new(Mutex::default);
static ENDED: Condvar = Condvar::new();
static TICKETS: AtomicU64 = AtomicU64::new(0);

/// How often one that waits looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(20);

fn queues() -> MutexGuard<'static, HashMap<PathBuf, VecDeque<u64>>> {
    QUEUES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A turn, or a place in the queue for it. It ends with this value.
pub struct IngestLock {
    path: PathBuf,
    ticket: u64,
}

impl IngestLock {
    /// Waits for a turn at ingesting into the catalog at `path`. None if this was cancelled.
    pub fn wait(path: &Path, cancelled: &AtomicBool) -> Option<Self> {
        let turn = Self { path: path.to_owned(), ticket: TICKETS.fetch_add(1, Ordering::Relaxed) };
        let mut queues = queues();
        queues.entry(turn.path.clone()).or_default().push_back(turn.ticket);
        while !cancelled.load(Ordering::Relaxed) {
            if queues.get(path).and_then(VecDeque::front) == Some(&turn.ticket) {
                drop(queues);
                return Some(turn);
            }
            queues = ENDED.wait_timeout(queues, LOOK).unwrap_or_else(PoisonError::into_inner).0;
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
    fn a_search_that_began_later_had_its_turn_first() {
        let (path, never) = (Path::new("/none/in/turn"), AtomicBool::new(false));
        let first = IngestLock::wait(path, &never).expect("free");
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..8 {
                let (never, order) = (&never, &order);
                scope.spawn(move || {
                    for again in 0..2 {
                        let _turn = IngestLock::wait(path, never).expect("not cancelled");
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
    fn a_search_that_was_cancelled_waited_for_the_others_turn() {
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
