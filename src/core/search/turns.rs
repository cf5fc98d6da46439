//! Turns at what searches take into a catalog: those of a process that begin together would all read and index the same.
//! They go one after the other, for a while each, and whoever comes second finds it done.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How often it is looked whether the turn is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(20);

static QUEUES: Queues = Queues { waiting: Mutex::new(None), moved: Condvar::new() };

struct Queues {
    waiting: Mutex<Option<Waiting>>,
    moved: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// Who wants a turn at each catalog; the first has it.
    queues: HashMap<PathBuf, VecDeque<u64>>,
    last: u64,
}

impl Queues {
    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A turn at a catalog, for as long as it is kept.
pub struct Turn {
    path: PathBuf,
    number: u64,
}

impl Turn {
    /// Waits for a turn at the catalog of a path; None if it was cancelled meanwhile.
    pub fn wait_for(path: &Path, cancelled: &AtomicBool) -> Option<Self> {
        let mut waiting = QUEUES.lock();
        let known = waiting.get_or_insert_default();
        known.last += 1;
        let turn = Self { path: path.to_owned(), number: known.last };
        known.queues.entry(turn.path.clone()).or_default().push_back(turn.number);
        loop {
            if cancelled.load(Ordering::Relaxed) {
                drop(waiting);
                // It leaves the queue as it goes.
                return None;
            }
            let queue = waiting.as_ref().and_then(|known| known.queues.get(path));
            if queue.and_then(VecDeque::front) == Some(&turn.number) {
                return Some(turn);
            }
            let waited = QUEUES.moved.wait_timeout(waiting, LOOK_EVERY);
            waiting = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(known) = QUEUES.lock().as_mut() {
            if let Some(queue) = known.queues.get_mut(&self.path) {
                queue.retain(|number| *number != self.number);
                if queue.is_empty() {
                    known.queues.remove(&self.path);
                }
            }
        }
        QUEUES.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_a_turn_and_who_is_cancelled_keeps_nobody() {
        let never = AtomicBool::new(false);
        let (here, there) = (Path::new("/turns/here"), Path::new("/turns/there"));
        let first = Turn::wait_for(here, &never).expect("not cancelled");
        assert!(Turn::wait_for(there, &never).is_some(), "another catalog is another queue");
        assert!(Turn::wait_for(here, &AtomicBool::new(true)).is_none());
        let inside = std::sync::atomic::AtomicUsize::new(1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let turn = Turn::wait_for(here, &never);
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(turn);
                });
            }
            inside.store(0, Ordering::SeqCst);
            drop(first);
        });
        assert!(!QUEUES.lock().as_ref().is_some_and(|known| known.queues.contains_key(here)));
    }
}
