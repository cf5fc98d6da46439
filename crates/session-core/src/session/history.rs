//! Counts the changes and repairs of a session since it was opened.

use std::collections::BTreeMap;

use serde::Serialize;

/// A kind of change of a file by other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ForeignChangeKind {
    /// Lines were appended.
    Grown,
    /// The file was deleted.
    Deleted,
    /// The file was renamed.
    Renamed,
    /// Another file took the name.
    Replaced,
    /// Entries are missing, at any place of the file.
    #[serde(rename = "truncated")]
    EntriesLost,
}

/// How often a kind of change happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangeCount {
    /// How often it happened.
    pub count: u64,
    /// How many entries it added.
    pub entries: u64,
    /// How many bytes it added.
    pub bytes: u64,
}

/// The changes and repairs of a session since it was opened.
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

    /// Counts the bytes and entries that other processes appended, if there are any.
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
