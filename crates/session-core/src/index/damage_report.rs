//! The report on damage: lines that are not entries, and entries that do not form one tree.

use serde::Serialize;

use crate::base::memory::{self, OutOfMemory};
use crate::base::wtf8::copy_lossy;
use crate::index::DamagedLine;
use crate::tree::tree_integrity::check_integrity;
use crate::tree::{ParentRef, RowNo, Tree};

/// An entry whose parent is not in the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Orphan {
    /// The line of the entry, counted from 1.
    pub line: u64,
    /// The entry's id.
    pub id: String,
    /// The id of the missing parent.
    pub parent_id: String,
}

/// An id that several entries have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DuplicateId {
    /// The id.
    pub id: String,
    /// The lines of the entries, at most the first 1,000.
    pub lines: Vec<u64>,
    /// How many entries have the id.
    pub count: u64,
}

/// Entries that are each other's ancestors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cycle {
    /// Each entry is the child of the one before it, and the first is the child of the last. Starts with the entry that
    /// is first in file order. At most 1,000.
    pub ids: Vec<String>,
    /// How many entries the cycle has.
    pub count: u64,
}

/// How many errors of each kind a report lists at most, because a file may have millions.
pub(crate) const REPORT_LIMIT: usize = 1_000;

/// The number of errors of each kind, including those that are not listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Lines that are not entries.
    pub damaged: u64,
    /// Entries whose parent is not in the session.
    pub orphans: u64,
    /// Ids that several entries have.
    pub duplicate_ids: u64,
    /// Cycles of parents.
    pub cycles: u64,
}

/// The damage of a session's lines and tree: the first 1,000 errors of each kind, and the number of errors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FaultReport {
    /// Lines that are not entries.
    pub damaged: Vec<DamagedLine>,
    /// Entries whose parent is not in the session.
    pub orphans: Vec<Orphan>,
    /// Ids that several entries have.
    pub duplicate_ids: Vec<DuplicateId>,
    /// Cycles of parents.
    pub cycles: Vec<Cycle>,
    /// The number of errors of each kind.
    pub totals: Totals,
}

impl FaultReport {
    /// The errors of a tree and of lines. `line` returns the line number of a row.
    pub(crate) fn of(
        tree: &Tree,
        line: &dyn Fn(RowNo) -> u64,
        damaged: impl Iterator<Item = DamagedLine> + Clone,
    ) -> Result<Self, OutOfMemory> {
        let errors = check_integrity(tree)?;
        let id = |no: RowNo| copy_lossy(tree.id_of(no));
        let parent = |no: RowNo| match tree.row(no).map(|row| row.parent) {
            Some(ParentRef::Id(id_no)) => copy_lossy(tree.id_bytes(id_no)),
            Some(ParentRef::Number(number)) => Ok(number.to_string()),
            _ => Ok("[object]".to_owned()),
        };
        let orphan = |&no: &RowNo| Ok(Orphan { line: line(no), id: id(no)?, parent_id: parent(no)? });
        let duplicate = |rows: &Vec<RowNo>| {
            Ok(DuplicateId {
                id: rows.first().map_or_else(|| Ok(String::new()), |&no| id(no))?,
                lines: rows.iter().take(REPORT_LIMIT).map(|&no| line(no)).collect(),
                count: rows.len() as u64,
            })
        };
        let cycle = |rows: &Vec<RowNo>| Ok(Cycle { ids: first(rows, |&no| id(no))?, count: rows.len() as u64 });
        Ok(Self {
            damaged: damaged.clone().take(REPORT_LIMIT).collect(),
            orphans: first(&errors.orphans, orphan)?,
            duplicate_ids: first(&errors.duplicates, duplicate)?,
            cycles: first(&errors.cycles, cycle)?,
            totals: Totals {
                damaged: damaged.count() as u64,
                orphans: errors.orphans.len() as u64,
                duplicate_ids: errors.duplicates.len() as u64,
                cycles: errors.cycles.len() as u64,
            },
        })
    }
}

/// Converts the first elements of a list, at most as many as a report lists.
fn first<T, U>(list: &[T], make: impl Fn(&T) -> memory::Result<U>) -> memory::Result<Vec<U>> {
    list.iter().take(REPORT_LIMIT).map(make).collect()
}
