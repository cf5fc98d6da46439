//! The list of single repairs.

use serde::Serialize;

use crate::rewrite::report::REPORT_LIMIT;

/// What was repaired in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The line in the original, counted from 1.
    pub line: u64,
    pub what: String,
}

/// The repairs so far, of which the first by line are kept.
#[derive(Debug, Default)]
pub struct RepairLog {
    pub kept: Vec<Repair>,
    pub count: u64,
}

impl RepairLog {
    pub fn push(&mut self, line: u64, what: impl Into<String>) {
        self.count += 1;
        self.kept.push(Repair { line, what: what.into() });
        if self.kept.len() >= 2 * REPORT_LIMIT {
            self.shorten();
        }
    }

    pub fn shorten(&mut self) {
        self.kept.sort_by_key(|repair| repair.line);
        self.kept.truncate(REPORT_LIMIT);
    }

    pub fn append(&mut self, other: Self) {
        let count = self.count + other.count;
        other.kept.into_iter().for_each(|repair| self.push(repair.line, repair.what));
        self.count = count;
    }
}
