//! Decides when the next path check is due. For a few milliseconds after a path check, a check of the open file is
//! enough; that is one call, `statx` or `fstat`. The caller passes the current time, in ns since 1970.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::locks::session_lock::CHECK_INTERVAL;

/// When the last path check of a file began.
#[derive(Debug)]
pub(crate) struct LastPathCheck(AtomicI64);

impl Default for LastPathCheck {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }
}

impl LastPathCheck {
    /// Whether a path check is due at `now`. It is also due if the clock was set back.
    pub(crate) fn is_due(&self, now: i64) -> bool {
        let interval = 0..CHECK_INTERVAL.as_nanos() as i64;
        !now.checked_sub(self.0.load(Relaxed)).is_some_and(|since| interval.contains(&since))
    }

    /// Records a path check that began at `now`.
    pub(crate) fn note(&self, now: i64) {
        self.0.store(now, Relaxed);
    }
}

#[cfg(test)]
mod tests;
