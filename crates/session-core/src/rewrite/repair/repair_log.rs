//! The list of repairs for the report.

use serde::Serialize;

use crate::base::memory::{self, push_str};
use crate::index::damage_report::REPORT_LIMIT;

/// A repair of one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The line in the original, counted from 1.
    pub line: u64,
    /// A description of the repair.
    pub what: String,
}

/// The repairs so far. Only the first lines are kept.
#[derive(Debug, Default)]
pub(super) struct RepairLog {
    pub kept: Vec<Repair>,
    pub count: u64,
}

impl RepairLog {
    /// Adds a repair of a line. `words` are joined to its description.
    pub(super) fn push(&mut self, line: u64, words: &[&str]) -> memory::Result<()> {
        let mut what = String::new();
        words.iter().try_for_each(|part| push_str(&mut what, part))?;
        self.add(line, what);
        Ok(())
    }

    fn add(&mut self, line: u64, what: String) {
        self.count += 1;
        self.kept.push(Repair { line, what });
        if self.kept.len() >= 2 * REPORT_LIMIT {
            self.shorten();
        }
    }

    pub(super) fn shorten(&mut self) {
        self.kept.sort_by_key(|repair| repair.line);
        self.kept.truncate(REPORT_LIMIT);
    }

    pub(super) fn append(&mut self, other: Self) {
        let count = self.count + other.count;
        other.kept.into_iter().for_each(|repair| self.add(repair.line, repair.what));
        self.count = count;
    }
}
