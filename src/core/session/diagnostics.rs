//! What is wrong with a session, and what was repaired.

use serde::Serialize;

use super::history::{ChangeCount, ForeignChangeKind};
use super::session::Session;
use crate::base::error::Result;
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
    /// What is wrong with this session, and what happened to it since it was opened. Lines are numbered as in the
    /// file, as [`verify`](crate::index::verify::verify) numbers them.
    pub fn diagnostics(&self) -> Result<Diagnostics> {
        let tree = self.tree();
        let errors = check_integrity(tree)?;
        let line = |no: RowNo| self.index.line_number(no);
        let TreeErrorReport { orphans, duplicate_ids, cycles } = TreeErrorReport::of(tree, &errors, &line)?;
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
}

#[cfg(test)]
mod tests {
    use crate::base::options::SessionFileOptions;
    use crate::index::verify::verify;
    use crate::session::{OpenResult, Persistence, Session};

    /// Regression: the lines of entries were numbered without the blank lines before them.
    #[test]
    fn lines_are_numbered_as_in_the_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s.jsonl");
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
        let entry = |id: &str, parent: &str| {
            format!(
                r#"{{"type":"custom","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:00.000Z","customType":"n"}}"#
            )
        };
        let lines = [
            header.into(),
            String::new(),
            " ".into(),
            entry("a", "gone"),
            "damaged".into(),
            entry("b", "gone"),
            entry("c", "b"),
        ];
        let text = lines.join("\n") + "\n\n" + &entry("a", "gone") + "\n";
        std::fs::write(&path, text).expect("written");
        let OpenResult::Session(session) =
            Session::open(&path, Persistence::File, SessionFileOptions::default()).expect("opened")
        else {
            panic!("it is there")
        };
        let (told, verified) = (session.diagnostics().expect("memory"), verify(&path.to_string_lossy()).expect("read"));
        assert_eq!(told.orphans.iter().map(|orphan| orphan.line).collect::<Vec<_>>(), [4, 6, 9]);
        assert_eq!(told.damaged.iter().map(|damage| damage.line).collect::<Vec<_>>(), [5]);
        assert_eq!(told.duplicate_ids.iter().map(|id| id.lines.clone()).collect::<Vec<_>>(), [[4, 9]]);
        assert_eq!((told.orphans, told.damaged), (verified.orphans, verified.damaged));
    }
}
