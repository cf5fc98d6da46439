//! What is wrong with a session, and what was repaired.

use serde::Serialize;

use super::history::{ChangeCount, ForeignChangeKind};
use super::session::Session;
use crate::base::error::{Error, Result};
use crate::index::damage_report::{Cycle, DuplicateId, Orphan, ReportedDamage, Totals, TreeErrorReport, REPORT_LIMIT};
use crate::tree::tree::RowNo;
use crate::tree::tree_integrity::check_integrity;

/// The diagnostics of a session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    /// The session's file, whether it exists yet or not.
    pub path: Option<String>,
    pub damaged: Vec<ReportedDamage>,
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
    pub kind: ForeignChangeKind,
    #[serde(flatten)]
    pub changed: ChangeCount,
}

impl Session {
    /// What is wrong with this session, and what happened to it since it was opened. Line numbers come from the index,
    /// which counts no blank lines.
    pub fn diagnostics(&self) -> Result<Diagnostics> {
        let tree = self.tree();
        let fail = |error| Error::io("read", self.file().unwrap_or_default(), error);
        let errors = check_integrity(tree).map_err(fail)?;
        let line = |no: RowNo| self.line_number(no);
        let TreeErrorReport { orphans, duplicate_ids, cycles } =
            TreeErrorReport::of(tree, &errors, &line).map_err(fail)?;
        let history = self.history();
        Ok(Diagnostics {
            path: self.file().map(str::to_owned),
            damaged: self.index.damaged().iter().take(REPORT_LIMIT).map(ReportedDamage::from).collect(),
            repairs: history.repairs.iter().map(|(&what, &count)| RepairMade { what, count }).collect(),
            foreign_changes: history
                .changes
                .iter()
                .map(|(&kind, changed)| ForeignChange { kind, changed: changed.clone() })
                .collect(),
            orphans,
            duplicate_ids,
            cycles,
            totals: Totals::of(&errors, self.index.damaged().len() as u64),
        })
    }

    /// The line number of a row: the header, the rows and the damaged lines before it, and one.
    fn line_number(&self, no: RowNo) -> u64 {
        let offset = self.index.line_span(no).map_or(0, |span| span.offset);
        // Damaged lines are in file order.
        let damaged = self.index.damaged().partition_point(|line| line.offset < offset);
        u64::from(no) + 2 + damaged as u64
    }
}
