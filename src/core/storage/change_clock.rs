//! When a file was looked at and written to here, and what its times tell of others.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long after a look at everything a glance is enough.
pub const GLANCES: Duration = Duration::from_millis(10);

/// Times that are this close to each other say nothing of what came first: file systems take them from a clock that
/// ticks, ns.
const TICK: i64 = 20_000_000;

const NEVER: i64 = i64::MIN;

/// The times of one file, in ns since 1970.
pub struct Watch {
    /// When it was asked about last.
    asked: AtomicI64,
    /// When everything about it was looked at last.
    looked: AtomicI64,
    /// When it was written to here.
    written: AtomicI64,
    /// The inode's time when its content was known.
    known: AtomicI64,
    /// How often everything was looked at.
    looks: AtomicU64,
}

impl Watch {
    /// The watch over a file that is about to be read, whose inode was `changed` at that time.
    pub fn of_known(changed: i64) -> Self {
        let watch = Self::of_written();
        watch.written.store(NEVER, Relaxed);
        watch.settle(now(), changed);
        watch
    }

    /// The watch over a file that was just written here.
    pub fn of_written() -> Self {
        let never = || AtomicI64::new(NEVER);
        Self {
            asked: never(),
            looked: never(),
            written: AtomicI64::new(now()),
            known: never(),
            looks: AtomicU64::new(0),
        }
    }

    /// Notes a question, and tells whether a glance will do.
    pub fn ask(&self) -> bool {
        let now = now();
        self.asked.store(now, Relaxed);
        now.checked_sub(self.looked.load(Relaxed)).is_some_and(|since| (0..GLANCES.as_nanos() as i64).contains(&since))
    }

    /// Notes a look at everything, right behind the question; the inode was `changed` at that time. Tells whether
    /// others have written meanwhile, or may have.
    pub fn look(&self, changed: i64) -> bool {
        let asked = self.asked.load(Relaxed);
        self.looked.store(asked, Relaxed);
        self.looks.fetch_add(1, Relaxed);
        let is_known = changed == self.known.load(Relaxed);
        let is_ours = changed <= self.written.load(Relaxed).saturating_add(TICK);
        self.settle(asked, changed);
        !(is_known || is_ours)
    }

    /// How often everything was looked at.
    pub fn looks(&self) -> u64 {
        self.looks.load(Relaxed)
    }

    fn settle(&self, now: i64, changed: i64) {
        // What changed a moment ago may change once more without another time.
        let is_settled = now.checked_sub(changed).is_some_and(|age| age > TICK);
        self.known.store(if is_settled { changed } else { NEVER }, Relaxed);
    }

    /// Notes a write that followed a question.
    pub fn write(&self) {
        self.written.store(self.asked.load(Relaxed), Relaxed);
    }

    /// Notes a change of our own at any time.
    pub fn change(&self) {
        self.written.store(now(), Relaxed);
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_that_nobody_here_made_tell_of_others() {
        let old = now() - 1_000_000_000;
        let watch = Watch::of_known(old);
        watch.ask();
        assert!(!watch.look(old), "as it was when it was read");
        watch.ask();
        watch.write();
        watch.ask();
        assert!(!watch.look(now()), "a write of ours");
        watch.ask();
        assert!(watch.look(now() + 1_000_000_000), "nobody here wrote then");
        let racy = Watch::of_known(now());
        racy.ask();
        assert!(racy.look(now()), "too close to be sure of");
    }
}
