//! What is wrong with a session, and what was done about it: told, never passed over in silence.

use std::collections::BTreeMap;

use serde::Serialize;

use super::error::{Error, Result};
use super::lines::{LineReader, WHOLE};
use super::load::DamagedLine;
use super::session::Session;
use super::storage::Storage;
use super::text::shown;
use super::tree::{ParentRef, RowNo, Tree};

/// How a file changed underneath.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// Others added to it.
    Grown,
    Deleted,
    Renamed,
    Replaced,
    Truncated,
}

/// How often a file changed in one way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub count: u64,
    /// Entries that came in with it.
    pub entries: u64,
    /// Bytes that came in with it.
    pub bytes: u64,
}

/// What happened to a session since it was opened.
#[derive(Debug, Default)]
pub struct Notes {
    changes: BTreeMap<Change, Changed>,
    repairs: BTreeMap<&'static str, u64>,
}

impl Notes {
    /// Notes a change that is no growth.
    pub fn changed(&mut self, change: Change) {
        self.changes.entry(change).or_default().count += 1;
    }

    /// Notes what others added; nothing is no change.
    pub fn grown(&mut self, bytes: u64, entries: usize) {
        if bytes > 0 || entries > 0 {
            let grown = self.changes.entry(Change::Grown).or_default();
            grown.count += 1;
            grown.bytes += bytes;
            grown.entries += entries as u64;
        }
    }

    /// Notes something that was put right.
    pub fn repaired(&mut self, what: &'static str) {
        *self.repairs.entry(what).or_default() += 1;
    }
}

/// A line that is no entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damaged {
    /// Counted from 1.
    pub line: u64,
    /// Its bytes are `start..end` of the file, the newline not among them.
    pub start: u64,
    pub end: u64,
    pub reason: &'static str,
}

impl From<&DamagedLine> for Damaged {
    fn from(line: &DamagedLine) -> Self {
        let (start, end) = (line.place.offset, line.place.end());
        Self { line: line.number, start, end, reason: line.damage.reason() }
    }
}

/// An entry whose parent is not in the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Orphan {
    pub line: u64,
    pub id: String,
    pub parent_id: String,
}

/// An id that several entries carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DuplicateId {
    pub id: String,
    pub lines: Vec<u64>,
}

/// Entries that are each other's ancestors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cycle {
    /// Each the child of the one before it, the first of the last; the first in file order stands first.
    pub ids: Vec<String>,
}

/// What is wrong with a tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub orphans: Vec<RowNo>,
    /// Rows with one id, in file order.
    pub duplicates: Vec<Vec<RowNo>>,
    pub cycles: Vec<Vec<RowNo>>,
}

/// Looks for what is wrong with a tree, in time that grows with its size alone.
pub fn findings(tree: &Tree) -> Findings {
    let rows = 0..tree.len() as RowNo;
    let mut same: BTreeMap<RowNo, Vec<RowNo>> = BTreeMap::new();
    let mut repeated: std::collections::HashSet<_> = Default::default();
    let superseded = rows.clone().filter(|&no| !tree.is_current(no)).filter_map(|no| tree.row(no));
    repeated.extend(superseded.map(|row| row.id));
    if !repeated.is_empty() {
        for no in rows.clone() {
            let id = tree.row(no).map(|row| row.id).filter(|id| repeated.contains(id));
            if let Some(last) = id.and_then(|id| tree.row_of(id)) {
                same.entry(last).or_default().push(no);
            }
        }
    }
    let mut duplicates: Vec<Vec<RowNo>> = same.into_values().collect();
    duplicates.sort_unstable();
    Findings { orphans: rows.filter(|&no| is_orphan(tree, no)).collect(), duplicates, cycles: cycles(tree) }
}

fn is_orphan(tree: &Tree, no: RowNo) -> bool {
    match tree.row(no).map(|row| row.parent) {
        Some(ParentRef::Id(sym)) => tree.row_of(sym).is_none(),
        Some(ParentRef::Number(_) | ParentRef::Other) => true,
        Some(ParentRef::Null | ParentRef::Missing) | None => false,
    }
}

fn cycles(tree: &Tree) -> Vec<Vec<RowNo>> {
    let mut state = vec![0u32; tree.len()];
    let mut found = Vec::new();
    for start in 0..tree.len() as RowNo {
        let mark = start + 1;
        let mut at = Some(start);
        while let Some(no) = at {
            match state.get_mut(no as usize) {
                Some(slot) if *slot == 0 => *slot = mark,
                Some(slot) if *slot == mark => {
                    found.push(cycle_through(tree, no));
                    break;
                }
                _ => break,
            }
            at = tree.parent_row(no);
        }
    }
    found.sort_unstable();
    found
}

fn cycle_through(tree: &Tree, no: RowNo) -> Vec<RowNo> {
    let next = |at: &RowNo| tree.parent_row(*at).filter(|&at| at != no);
    let mut rows: Vec<RowNo> = std::iter::successors(Some(no), next).take(tree.len()).collect();
    rows.reverse();
    let first = rows.iter().enumerate().min_by_key(|(_, row)| **row).map_or(0, |(at, _)| at);
    rows.rotate_left(first);
    rows
}

/// A tree's findings as reports show them. `line` gives a row's line.
pub fn described(tree: &Tree, line: &dyn Fn(RowNo) -> u64) -> (Vec<Orphan>, Vec<DuplicateId>, Vec<Cycle>) {
    let findings = findings(tree);
    let id = |no: RowNo| shown(tree.id_of(no)).into_owned();
    let parent = |no: RowNo| match tree.row(no).map(|row| row.parent) {
        Some(ParentRef::Id(sym)) => shown(tree.id_bytes(sym)).into_owned(),
        Some(ParentRef::Number(number)) => number.to_string(),
        _ => "[object]".to_owned(),
    };
    let orphan = |&no: &RowNo| Orphan { line: line(no), id: id(no), parent_id: parent(no) };
    let duplicate = |rows: &Vec<RowNo>| DuplicateId {
        id: rows.first().map(|&no| id(no)).unwrap_or_default(),
        lines: rows.iter().map(|&no| line(no)).collect(),
    };
    (
        findings.orphans.iter().map(orphan).collect(),
        findings.duplicates.iter().map(duplicate).collect(),
        findings.cycles.iter().map(|rows| Cycle { ids: rows.iter().map(|&no| id(no)).collect() }).collect(),
    )
}

/// What a session knows of itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    /// The session's file, whether it exists yet or not.
    pub path: Option<String>,
    pub damaged: Vec<Damaged>,
    pub repairs: Vec<RepairMade>,
    pub foreign_changes: Vec<ForeignChange>,
    pub orphans: Vec<Orphan>,
    pub duplicate_ids: Vec<DuplicateId>,
    pub cycles: Vec<Cycle>,
}

/// Something that was put right, and how often.
#[derive(Debug, Serialize)]
pub struct RepairMade {
    pub what: &'static str,
    pub count: u64,
}

/// How often the file changed underneath in one way.
#[derive(Debug, Serialize)]
pub struct ForeignChange {
    pub kind: Change,
    #[serde(flatten)]
    pub changed: Changed,
}

impl Session {
    /// What is wrong with this session, and what happened to it since it was opened. Where the file cannot be read now,
    /// lines are counted by what is known of it, blank ones not.
    pub fn diagnostics(&self) -> Diagnostics {
        let tree = self.tree();
        let findings = findings(tree);
        let rows = findings.orphans.iter().chain(findings.duplicates.iter().flatten());
        // A file that is gone, or another by now, is what they are asked for: they tell what is known without it.
        let lines = self.line_numbers(rows.copied().collect()).unwrap_or_default();
        let line = |no: RowNo| lines.get(&no).copied().unwrap_or_else(|| self.line_by_rows(no));
        let (orphans, duplicate_ids, cycles) = described(tree, &line);
        let notes = self.notes();
        Diagnostics {
            path: self.file().map(str::to_owned),
            damaged: self.damaged().iter().map(Damaged::from).collect(),
            repairs: notes.repairs.iter().map(|(&what, &count)| RepairMade { what, count }).collect(),
            foreign_changes: notes
                .changes
                .iter()
                .map(|(&kind, changed)| ForeignChange { kind, changed: changed.clone() })
                .collect(),
            orphans,
            duplicate_ids,
            cycles,
        }
    }

    /// The line of a row as far as it is known without the file: behind the header, the rows and the damaged lines.
    fn line_by_rows(&self, no: RowNo) -> u64 {
        let offset = self.place(no).map_or(0, |place| place.offset);
        let damaged = self.damaged().iter().filter(|line| line.place.offset < offset).count();
        u64::from(no) + 2 + damaged as u64
    }

    /// The lines that rows stand in, counted from 1; none for a session that has no file.
    fn line_numbers(&self, mut rows: Vec<RowNo>) -> Result<BTreeMap<RowNo, u64>> {
        let Some(storage) = self.storage().filter(|_| !rows.is_empty()) else {
            return Ok(BTreeMap::new());
        };
        rows.sort_unstable_by_key(|&row| self.place(row).map(|place| place.offset));
        rows.dedup();
        let places = rows.iter().map(|&row| self.place(row).map_or(0, |place| place.offset));
        let numbers = numbers_of(storage, &places.collect::<Vec<_>>())?;
        Ok(rows.into_iter().zip(numbers).collect())
    }
}

/// The numbers of the lines that start at these offsets, which ascend.
fn numbers_of(storage: &dyn Storage, offsets: &[u64]) -> Result<Vec<u64>> {
    let mut lines = LineReader::new(storage.reader(0)?, 0, WHOLE);
    let mut numbers = Vec::with_capacity(offsets.len());
    let mut number = 0;
    while numbers.len() < offsets.len() {
        let line = lines.next_line().map_err(|error| Error::io("read", storage.name(), error))?;
        let Some(line) = line else { break };
        number += 1;
        let end = line.offset + line.bytes.len() as u64;
        while offsets.get(numbers.len()).is_some_and(|&offset| offset <= end) {
            numbers.push(number);
        }
    }
    numbers.resize(offsets.len(), number);
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::entry::{read_line, Line};

    fn tree(entries: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (id, parent) in entries {
            read_line(&format!("{{\"id\":\"{id}\",\"parentId\":{parent}}}"), |line| {
                if let Line::Entry(head) = line {
                    tree.push(&head, true);
                }
            });
        }
        tree
    }

    #[test]
    fn orphans_repeated_ids_and_cycles_are_found() {
        let tree = tree(&[
            ("a", "null"),
            ("b", "\"gone\""),
            ("c", "\"e\""),
            ("d", "\"c\""),
            ("e", "\"d\""),
            ("a", "\"a\""),
            ("f", "\"e\""),
            ("g", "7"),
        ]);
        let found = findings(&tree);
        assert_eq!(found.orphans, [1, 7]);
        assert_eq!(found.duplicates, [vec![0, 5]]);
        assert_eq!(found.cycles, [vec![2, 3, 4], vec![5]]);
        let (orphans, ..) = described(&tree, &|no| u64::from(no) + 10);
        assert_eq!(orphans[1], Orphan { line: 17, id: "g".into(), parent_id: "7".into() });
    }

    #[test]
    fn a_long_chain_and_a_long_cycle_end() {
        let ids: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        let parents: Vec<String> = (0..100_000).map(|n| format!("\"{}\"", (n + 99_999) % 100_000)).collect();
        let entries: Vec<_> = ids.iter().zip(&parents).map(|(id, parent)| (id.as_str(), parent.as_str())).collect();
        let found = findings(&tree(&entries));
        assert_eq!(found.cycles.len(), 1);
        assert_eq!(found.cycles[0].len(), 100_000);
        assert_eq!(found.cycles[0][..3], [0, 1, 2]);
        assert_eq!(findings(&tree(&entries[1..])).cycles.len(), 0);
    }
}
