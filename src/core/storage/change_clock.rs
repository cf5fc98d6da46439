//! Which changes of a file were made by others: its times, compared with those of our own checks and writes. The caller
//! gives the time, in ns since 1970.
//!
//! A path check asks what the path leads to and reads the times of that file. A quick check is one `statx` of the open file (`fstat`
//! where there is none).

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::io::file_fingerprint::TICK;

/// For how long after a path check a quick one is enough.
pub const PATH_CHECK_INTERVAL: Duration = Duration::from_millis(10);

const NEVER: i64 = i64::MIN;

/// Which check is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    QuickCheck,
    PathCheck,
}

/// Who may have changed a file since the last path check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedBy {
    NobodyElse,
    MaybeOthers,
}

/// The times of one file.
pub struct ChangeClock {
    /// When the last check began.
    check_begun: AtomicI64,
    /// When the last path check began.
    path_check: AtomicI64,
    /// When it was written to here.
    written: AtomicI64,
    /// The change time that the file had when its content was last read, or [`NEVER`] if that was too recent to rely on.
    known: AtomicI64,
    /// How many path checks there were.
    path_checks: AtomicU64,
}

impl ChangeClock {
    /// The clock of a file that is about to be read, whose inode changed at `changed`.
    pub fn of_known(now: i64, changed: i64) -> Self {
        let clock = Self::of_written(NEVER);
        clock.set_known(now, changed);
        clock
    }

    /// The clock of a file that was just written here.
    pub fn of_written(now: i64) -> Self {
        let never = || AtomicI64::new(NEVER);
        Self {
            check_begun: never(),
            path_check: never(),
            written: AtomicI64::new(now),
            known: never(),
            path_checks: AtomicU64::new(0),
        }
    }

    /// Begins a check, and tells which one is due.
    pub fn begin_check(&self, now: i64) -> Due {
        self.check_begun.store(now, Relaxed);
        let interval = 0..PATH_CHECK_INTERVAL.as_nanos() as i64;
        if now.checked_sub(self.path_check.load(Relaxed)).is_some_and(|since| interval.contains(&since)) {
            Due::QuickCheck
        } else {
            Due::PathCheck
        }
    }

    /// Ends a path check, which found that the inode changed at `changed`.
    pub fn end_path_check(&self, changed: i64) -> ChangedBy {
        let begun = self.check_begun.load(Relaxed);
        self.path_check.store(begun, Relaxed);
        self.path_checks.fetch_add(1, Relaxed);
        let is_known = changed == self.known.load(Relaxed);
        let is_ours = changed <= self.written.load(Relaxed).saturating_add(TICK);
        self.set_known(begun, changed);
        if is_known || is_ours {
            ChangedBy::NobodyElse
        } else {
            ChangedBy::MaybeOthers
        }
    }

    /// How many path checks there were.
    pub fn path_checks(&self) -> u64 {
        self.path_checks.load(Relaxed)
    }

    fn set_known(&self, now: i64, changed: i64) {
        // What changed a moment ago may change once more without another time.
        let is_settled = now.checked_sub(changed).is_some_and(|age| age > TICK);
        self.known.store(if is_settled { changed } else { NEVER }, Relaxed);
    }

    /// Notes a write of ours that followed a check; it reads no clock.
    pub fn note_write(&self) {
        self.written.store(self.check_begun.load(Relaxed), Relaxed);
    }

    /// Notes a change of ours.
    pub fn note_change(&self, now: i64) {
        self.written.store(now, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const NOW: i64 = 1_000 * SECOND;

    #[test]
    fn only_times_that_no_write_of_ours_made_show_a_change_by_others() {
        let clock = ChangeClock::of_known(NOW, NOW - SECOND);
        clock.begin_check(NOW);
        assert_eq!(clock.end_path_check(NOW - SECOND), ChangedBy::NobodyElse, "as it was when it was read");
        clock.begin_check(NOW);
        clock.note_write();
        clock.begin_check(NOW + 1);
        assert_eq!(clock.end_path_check(NOW + TICK), ChangedBy::NobodyElse, "a write of ours");
        clock.begin_check(NOW + SECOND);
        assert_eq!(clock.end_path_check(NOW + SECOND), ChangedBy::MaybeOthers, "nobody here wrote then");
        let racy = ChangeClock::of_known(NOW, NOW);
        racy.begin_check(NOW);
        assert_eq!(racy.end_path_check(NOW), ChangedBy::MaybeOthers, "too close to be sure of");
    }

    #[test]
    fn a_path_check_is_due_after_the_interval_and_when_the_clock_was_set_back() {
        let clock = ChangeClock::of_written(NOW);
        assert_eq!(clock.begin_check(NOW), Due::PathCheck, "there was none yet");
        clock.end_path_check(NOW);
        let interval = PATH_CHECK_INTERVAL.as_nanos() as i64;
        assert_eq!(clock.begin_check(NOW + interval - 1), Due::QuickCheck);
        assert_eq!(clock.begin_check(NOW + interval), Due::PathCheck);
        assert_eq!(clock.begin_check(NOW - 1), Due::PathCheck);
        assert_eq!(clock.path_checks(), 1);
    }
}
