//! Fingerprints of files: they identify a file and its state, so that a later change is noticed.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A time in ns since 1970.
pub(crate) type Nanos = i64;

/// The identity of a file: its device and inode, on Windows its volume and file index.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileId {
    pub device: u64,
    pub inode: u64,
}

/// Distinguishes the states of a file without reading it.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileFingerprint {
    pub file_id: FileId,
    pub size: u64,
    /// When the file's content changed. Programs can set this time.
    pub modified: Nanos,
    /// When the file's content or attributes changed; no program can set this time. Equal to `modified` where the
    /// system does not record it.
    pub changed: Nanos,
}

/// In ns, how far apart two changes with the same time may be: file systems take times from a clock that ticks.
pub(crate) const TICK: Nanos = 20_000_000;
/// As [`TICK`], for file systems whose times are in steps of 1 or 2 s.
const COARSE_TICK: Nanos = 2_000_000_000;
pub(super) const SECOND: Nanos = 1_000_000_000;

pub(crate) fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Whether a change after `at` would change the file's change time, which is now `changed`. It may not if the two are
/// close together, because file systems take times from a clock that ticks.
pub(crate) fn would_show_change(changed: Nanos, at: Nanos) -> bool {
    let tick = if changed % SECOND == 0 { COARSE_TICK } else { TICK };
    changed < at.saturating_sub(tick)
}

impl FileFingerprint {
    /// Whether a change of the file after `at` would change this fingerprint.
    pub(crate) fn would_show_change(&self, at: Nanos) -> bool {
        would_show_change(self.changed, at)
    }

    /// The modification time in ms since 1970, as precise as JavaScript shows it.
    pub(crate) fn modified_ms(&self) -> f64 {
        (self.modified / SECOND) as f64 * 1e3 + (self.modified % SECOND) as f64 / 1e6
    }
}
