//! What is wrong with a session, and what was repaired.

use std::collections::BTreeMap;

use serde::Serialize;

use super::notes::{Change, Changed};
use super::session::Session;
use crate::core::base::error::{Error, Result};
use crate::core::io::line_reader::{LineReader, WHOLE};
use crate::core::rewrite::report::{Cycle, Damaged, DuplicateId, Orphan, Totals, TreeFaults, REPORT_LIMIT};
use crate::core::storage::storage::Storage;
use crate::core::tree::tree::RowNo;
use crate::core::tree::tree_integrity::check_integrity;

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
    pub totals: Totals,
}

/// A repair, and how often it was made.
#[derive(Debug, Serialize)]
pub struct RepairMade {
    pub what: &'static str,
    pub count: u64,
}

/// How often other processes changed the file in one way.
#[derive(Debug, Serialize)]
pub struct ForeignChange {
    pub kind: Change,
    #[serde(flatten)]
    pub changed: Changed,
}

impl Session {
    /// What is wrong with this session, and what happened to it since it was opened. If the file cannot be read, line
    /// numbers come from the index, which does not count blank lines.
    pub fn diagnostics(&self) -> Diagnostics {
        let tree = self.tree();
        let findings = check_integrity(tree);
        let repeated = findings.duplicates.iter().take(REPORT_LIMIT).flat_map(|rows| rows.iter().take(REPORT_LIMIT));
        let rows = findings.orphans.iter().take(REPORT_LIMIT).chain(repeated);
        // The file may be gone or replaced: the index tells the rest.
        let lines = self.line_numbers(rows.copied().collect()).unwrap_or_default();
        let line = |no: RowNo| lines.get(&no).copied().unwrap_or_else(|| self.line_by_rows(no));
        let TreeFaults { orphans, duplicate_ids, cycles } = TreeFaults::of(tree, &findings, &line);
        let notes = self.notes();
        Diagnostics {
            path: self.file().map(str::to_owned),
            damaged: self.damaged().iter().take(REPORT_LIMIT).map(Damaged::from).collect(),
            repairs: notes.repairs.iter().map(|(&what, &count)| RepairMade { what, count }).collect(),
            foreign_changes: notes
                .changes
                .iter()
                .map(|(&kind, changed)| ForeignChange { kind, changed: changed.clone() })
                .collect(),
            orphans,
            duplicate_ids,
            cycles,
            totals: Totals::of(&findings, self.damaged().len() as u64),
        }
    }

    /// The line number of a row without the file: the header, the rows and the damaged lines before it.
    fn line_by_rows(&self, no: RowNo) -> u64 {
        let offset = self.place(no).map_or(0, |place| place.offset);
        // They stand in file order.
        let damaged = self.damaged().partition_point(|line| line.offset < offset);
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
        let end = line.offset + line.length();
        while offsets.get(numbers.len()).is_some_and(|&offset| offset <= end) {
            numbers.push(number);
        }
    }
    numbers.resize(offsets.len(), number);
    Ok(numbers)
}
