//! What happened to a session since it was opened.

use std::collections::BTreeMap;

use serde::Serialize;

/// How other processes changed a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ForeignChangeKind {
    /// It was appended to.
    Grown,
    /// It was deleted.
    Deleted,
    /// It was renamed.
    Renamed,
    /// Another file took its name.
    Replaced,
    /// Entries are missing, wherever they were.
    #[serde(rename = "truncated")]
    EntriesLost,
}

/// How often a file changed in one way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangeCount {
    /// How often.
    pub count: u64,
    /// How many entries came with it.
    pub entries: u64,
    /// How many bytes came with it.
    pub bytes: u64,
}

/// What happened to a session since it was opened.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(super) changes: BTreeMap<ForeignChangeKind, ChangeCount>,
    pub(super) repairs: BTreeMap<&'static str, u64>,
}

impl History {
    /// Counts a change other than growth.
    pub(crate) fn changed(&mut self, change: ForeignChangeKind) {
        self.changes.entry(change).or_default().count += 1;
    }

    /// Counts what other processes appended, if anything.
    pub(crate) fn grown(&mut self, bytes: u64, entries: usize) {
        if bytes > 0 || entries > 0 {
            let grown = self.changes.entry(ForeignChangeKind::Grown).or_default();
            grown.count += 1;
            grown.bytes += bytes;
            grown.entries += entries as u64;
        }
    }

    /// Counts a repair.
    pub(crate) fn repaired(&mut self, what: &'static str) {
        *self.repairs.entry(what).or_default() += 1;
    }
}
