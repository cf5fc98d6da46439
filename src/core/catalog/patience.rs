//! Waiting for other processes that write: for a while, and not a moment longer than anybody wants the answer.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Catalog, Outcome};

/// How long is slept between two tries.
const NAP: Duration = Duration::from_millis(10);

struct Waiting {
    most: Duration,
    cancelled: Arc<AtomicBool>,
    since: Instant,
}

thread_local! {
    static WAITING: RefCell<Option<Waiting>> = const { RefCell::new(None) };
}

/// Has work on a catalog, all of it on this thread, wait at most so long at once, and end waiting when it is cancelled.
pub fn wait(catalog: &Catalog, most: Duration, cancelled: &Arc<AtomicBool>) -> Outcome<()> {
    WAITING.set(Some(Waiting { most, cancelled: cancelled.clone(), since: Instant::now() }));
    catalog.db().busy_handler(Some(is_worth_it))
}

/// Whether to try again; asked by SQLite, on the thread that works.
fn is_worth_it(tries: i32) -> bool {
    WAITING.with_borrow_mut(|waiting| {
        let Some(waiting) = waiting else { return false };
        if tries == 0 {
            waiting.since = Instant::now();
        }
        if waiting.cancelled.load(Ordering::Relaxed) || waiting.since.elapsed() >= waiting.most {
            return false;
        }
        std::thread::sleep(NAP);
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::catalog::Location;

    #[test]
    fn whoever_is_cancelled_waits_no_longer() {
        let dir = tempfile::tempdir().expect("a directory");
        let location = Location { path: dir.path().join("catalog"), makes_dir: false };
        let mut catalog = Catalog::make(&location).expect("made");
        let other = rusqlite::Connection::open(&location.path).expect("opened");
        other.execute_batch("BEGIN IMMEDIATE").expect("locked");
        let cancelled = Arc::new(AtomicBool::new(false));
        let cancels = cancelled.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(NAP);
            cancels.store(true, Ordering::Relaxed);
        });
        // For a year: it comes back, because it is cancelled.
        wait(&catalog, Duration::from_secs(31_536_000), &cancelled).expect("set");
        assert!(catalog.write(|_| Ok(())).is_err());
        thread.join().expect("ended");
        other.execute_batch("COMMIT").expect("unlocked");
        assert!(catalog.write(|_| Ok(())).is_ok());
    }
}
