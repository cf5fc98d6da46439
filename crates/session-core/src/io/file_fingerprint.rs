//! Fingerprints of files: which state of which file something was read from.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A time in ns since 1970.
pub(crate) type Nanos = i64;

/// Which file a path or handle leads to: its device and inode, on Windows volume and file index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileId {
    pub device: u64,
    pub inode: u64,
}

/// Distinguishes the states of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileFingerprint {
    pub file_id: FileId,
    pub size: u64,
    /// When its content changed. Programs can set this time.
    pub modified: Nanos,
    /// When its content or attributes changed, which no program can set; where that is not known, the same as `modified`.
    pub changed: Nanos,
}

/// File systems take times from a clock that ticks: how far apart two changes with the same time may be, ns.
pub(crate) const TICK: Nanos = 20_000_000;
/// How far apart two changes with one time may be on file systems whose times are in steps of 1 or 2 s.
const COARSE_TICK: Nanos = 2_000_000_000;
pub(super) const SECOND: Nanos = 1_000_000_000;

/// The time now.
pub(crate) fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Whether a file that was seen with the change time `changed` gets another one if it changes after `at`. If the two are too
/// close, it may get the same: file systems take their times from a clock that ticks.
pub(crate) fn would_show_change(changed: Nanos, at: Nanos) -> bool {
    let tick = if changed % SECOND == 0 { COARSE_TICK } else { TICK };
    changed < at.saturating_sub(tick)
}

impl FileFingerprint {
    /// Whether a file that was seen with this fingerprint gets another one if it changes after `at`.
    pub(crate) fn would_show_change(&self, at: Nanos) -> bool {
        would_show_change(self.changed, at)
    }

    /// The modification time in ms since 1970, in the precision that JavaScript sees.
    pub(crate) fn modified_ms(&self) -> f64 {
        (self.modified / SECOND) as f64 * 1e3 + (self.modified % SECOND) as f64 / 1e6
    }
}
