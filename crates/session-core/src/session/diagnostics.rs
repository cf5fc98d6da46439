//! The damage of a session, and the repairs since it was opened.

use serde::Serialize;

use super::history::{ChangeCount, ForeignChangeKind};
use super::session::Session;
use crate::base::error::Result;
use crate::index::damage_report::FaultReport;
use crate::tree::RowNo;

/// The diagnostics of a session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Diagnostics {
    /// The path of the session's file, even if the file does not exist yet.
    pub path: Option<String>,
    /// The damage of its lines and its tree.
    #[serde(flatten)]
    pub faults: FaultReport,
    /// The repairs since the session was opened.
    pub repairs: Vec<RepairMade>,
    /// The changes of the file by other processes since the session was opened.
    pub foreign_changes: Vec<ForeignChange>,
}

/// A kind of repair, and how often it happened.
#[derive(Debug, Serialize)]
pub struct RepairMade {
    /// A description of the repair.
    pub what: &'static str,
    /// How often it happened.
    pub count: u64,
}

/// A kind of change by other processes, and how often it happened.
#[derive(Debug, Serialize)]
pub struct ForeignChange {
    /// The kind of change.
    pub kind: ForeignChangeKind,
    /// How often it happened, and how much changed.
    #[serde(flatten)]
    pub changed: ChangeCount,
}

impl Session {
    /// The damage of this session, and the repairs and changes since it was opened. Line numbers are those of the file,
    /// as in [`verify`](crate::index::verify::verify).
    ///
    /// # Errors
    ///
    /// `System`: an allocation fails. No file is read.
    pub fn diagnostics(&self) -> Result<Diagnostics> {
        let line = |no: RowNo| self.index.line_number(no);
        let faults = FaultReport::of(self.tree(), &line, self.index.damaged().iter().cloned())?;
        let history = &self.history;
        Ok(Diagnostics {
            path: self.file().map(str::to_owned),
            faults,
            repairs: history.repairs.iter().map(|(&what, &count)| RepairMade { what, count }).collect(),
            foreign_changes: history
                .changes
                .iter()
                .map(|(&kind, changed)| ForeignChange { kind, changed: changed.clone() })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests;
