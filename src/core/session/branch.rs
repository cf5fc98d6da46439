//! A branch of a session as a session of its own: its entries, and its file.

use super::session::Session;
use crate::base::error::{Error, Result};
use crate::base::memory::{push, reserve, with_capacity};
use crate::base::wtf8::shown;
use crate::format::body::Body;
use crate::format::entry::bodies_of;
use crate::io::line_span::LineSpan;
use crate::session::branch_plan::{BranchPlan, BranchStep};
use crate::storage::new_file::NewFile;
use crate::tree::tree::RowNo;

/// The lines of a branch's file that the caller makes of its objects.
#[derive(Debug, Default)]
pub struct BranchLines {
    pub header: Vec<u8>,
    /// For each step its line; None if that of the old file is to be copied, with the new parent.
    pub steps: Vec<Option<Vec<u8>>>,
    pub labels: Vec<Vec<u8>>,
}

/// Where the lines of a branch are in its file, the header's first, and where copied lines have their bodies.
struct BranchSpans {
    lines: Vec<Option<LineSpan>>,
    bodies: Vec<(RowNo, Body)>,
}

impl Session {
    /// Adds the entries of a branch of `old` to this new session.
    pub fn add_branch(&mut self, old: &Session, plan: &BranchPlan) -> Result<()> {
        for step in &plan.steps {
            let head = step.head(old.tree()).ok_or_else(|| Error::internal("an entry of the branch is gone"))?;
            self.push_local(&head, None)?;
        }
        for label in &plan.labels {
            self.push_local(&label.head(old.tree()), None)?;
        }
        Ok(())
    }

    /// Makes the file of this session, whose entries are those of a branch of `old`.
    pub fn write_branch(&mut self, old: &Session, plan: &BranchPlan, lines: BranchLines) -> Result<()> {
        let Some(path) = self.file() else { return Ok(()) };
        let mut file = NewFile::create(path)?;
        let BranchSpans { lines, bodies } = old.note_mismatch(old.copy_branch(plan, lines, &mut file))?;
        self.move_to_file(file.finish(self.options().durability)?, lines, bodies);
        Ok(())
    }

    /// Copies the lines of a branch. Gives where they are, and where those of the old file have their bodies.
    fn copy_branch(&self, plan: &BranchPlan, lines: BranchLines, file: &mut NewFile) -> Result<BranchSpans> {
        let mut spans = with_capacity(plan.steps.len() + plan.labels.len() + 1)?;
        let mut bodies = Vec::new();
        spans.push(Some(file.line(&lines.header)?));
        // Lines that are copied together.
        let mut run = Vec::new();
        for ((row, step), own) in (0..).zip(&plan.steps).zip(lines.steps) {
            let line = if let Some(line) = own {
                line
            } else if step.is_unchanged {
                let found = self.index.bodies(step.row);
                reserve(&mut bodies, found.len())?;
                bodies.extend(found.iter().map(|(_, body)| (row, *body)));
                self.index.line_span(step.row).ok_or_else(|| self.line_is_gone(step.row))?;
                push(&mut run, step.row)?;
                continue;
            } else {
                let line = self.relinked_line(step)?;
                let found = bodies_of(&line)?;
                reserve(&mut bodies, found.len())?;
                bodies.extend(found.into_iter().map(|body| (row, body)));
                line
            };
            self.copy_lines(&mut run, file, &mut spans)?;
            spans.push(Some(file.line(&line)?));
        }
        self.copy_lines(&mut run, file, &mut spans)?;
        for line in lines.labels {
            spans.push(Some(file.line(&line)?));
        }
        Ok(BranchSpans { lines: spans, bodies })
    }

    /// Copies the lines of a run of rows, which is empty then.
    fn copy_lines(&self, run: &mut Vec<RowNo>, file: &mut NewFile, spans: &mut Vec<Option<LineSpan>>) -> Result<()> {
        let Some(storage) = self.storage.as_deref().filter(|_| !run.is_empty()) else {
            return Ok(());
        };
        self.index.lines_to_copy(storage, run, &mut |line| {
            spans.push(Some(file.line(line)?));
            Ok(())
        })?;
        run.clear();
        Ok(())
    }

    /// The line of a step with its new parent.
    fn relinked_line(&self, step: &BranchStep) -> Result<Vec<u8>> {
        let line = self.line_to_copy(step.row)?.ok_or_else(|| self.line_is_gone(step.row))?;
        let path = self.file().unwrap_or_default();
        let new = step.line(&line)?;
        new.ok_or_else(|| {
            let id = shown(self.tree().id_of(step.row));
            Error::changed(path, format!("entry {id} is no longer JSON"))
        })
    }

    fn line_is_gone(&self, row: RowNo) -> Error {
        let id = shown(self.tree().id_of(row));
        Error::changed(self.file().unwrap_or_default(), format!("the line of entry {id} is no longer there"))
    }
}
