//! A branch of a session as a session of its own: its plan, its entries, and its file. A path here is the entries from
//! the root to an entry.
//!
//! Label entries are removed from the path. Their children get the next ancestor that stays as their parent, and the
//! labels of entries on the path are written again at the end.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::session::Session;
use crate::base::error::{Error, Result};
use crate::base::memory::{self, collect, copy_of_bytes, extend, insert, insert_into, push, with_capacity};
use crate::base::time::Time;
use crate::format::body::Body;
use crate::format::entry::{bodies_of, EntryHead, EntryKind, Parent};
use crate::format::ids::short_entry_id;
use crate::json::{quoted, ObjectText};
use crate::lines::line_reader::line_text;
use crate::lines::line_span::LineSpan;
use crate::storage::new_file::{remove_as_made, NewFile};
use crate::tree::{IdNo, ParentRef, RowNo, Tree};

/// The plan of a branched session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchPlan {
    /// The entries of the path that stay, from the root on.
    pub steps: Vec<BranchStep>,
    /// The labels that are written after them.
    pub labels: Vec<BranchLabel>,
}

/// An entry of the path, with its changes in the new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchStep {
    /// The entry's row in the old session.
    pub row: RowNo,
    /// The id of the previous step, WTF-8; None for the root.
    pub parent: Option<Vec<u8>>,
    /// The next entry that stays, if a compaction's first kept entry is a label entry.
    pub first_kept: Option<Vec<u8>>,
    /// Whether the line can be copied unchanged.
    pub is_unchanged: bool,
}

/// A label that is written again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchLabel {
    /// The id of the new entry.
    pub id: String,
    /// The id of the previous entry, WTF-8.
    pub parent: Vec<u8>,
    /// The id of the labelled entry, WTF-8.
    pub target: Vec<u8>,
    /// The label entry that contains the label's text and time.
    pub from: RowNo,
}

/// Plans the session with the path to `to`.
pub fn plan(tree: &Tree, to: RowNo) -> memory::Result<BranchPlan> {
    let mut steps: Vec<BranchStep> = Vec::new();
    let mut pending: Vec<IdNo> = Vec::new();
    let mut replaced: HashMap<IdNo, RowNo> = HashMap::new();
    for no in tree.path(to)? {
        let Some(row) = tree.row(no) else { continue };
        if row.kind == EntryKind::Label {
            push(&mut pending, row.id)?;
            continue;
        }
        for label in pending.drain(..) {
            insert(&mut replaced, label, no)?;
        }
        let kept = row.target.filter(|&id_no| row.kind == EntryKind::Compaction && id_no != row.id);
        let parent = steps.last().map(|step| tree.id_of(step.row));
        let first_kept = kept.and_then(|id_no| replaced.get(&id_no)).map(|&row| copy_of_bytes(tree.id_of(row)));
        let first_kept = first_kept.transpose()?;
        let is_unchanged = first_kept.is_none()
            && match (row.parent, parent) {
                (ParentRef::Null, None) => true,
                (ParentRef::Id(id_no), Some(parent)) => tree.id_bytes(id_no) == parent,
                _ => false,
            };
        let parent = parent.map(copy_of_bytes).transpose()?;
        push(&mut steps, BranchStep { row: no, parent, first_kept, is_unchanged })?;
    }
    let mut ids: HashSet<Cow<'_, [u8]>> = HashSet::new();
    for step in &steps {
        insert_into(&mut ids, tree.id_of(step.row).into())?;
    }
    let mut on_path = tree.labels().in_order()?;
    on_path.retain(|(id_no, _)| ids.contains(tree.id_bytes(*id_no)));
    let mut parent = steps.last().map_or(Ok(Vec::new()), |step| copy_of_bytes(tree.id_of(step.row)))?;
    let mut labels = with_capacity(on_path.len())?;
    for (target, from) in on_path {
        let id = short_entry_id(|id| ids.contains(id));
        insert_into(&mut ids, copy_of_bytes(id.as_bytes())?.into())?;
        let before = std::mem::replace(&mut parent, copy_of_bytes(id.as_bytes())?);
        labels.push(BranchLabel { id, parent: before, target: copy_of_bytes(tree.id_bytes(target))?, from });
    }
    Ok(BranchPlan { steps, labels })
}

impl BranchStep {
    /// The entry's line in the new session. Only the changed fields are replaced. None if the line is not an object.
    pub fn line(&self, line: &str) -> memory::Result<Option<Vec<u8>>> {
        let Some(mut object) = ObjectText::read(line)? else { return Ok(None) };
        object.set("parentId", self.parent.as_deref().map_or_else(|| Ok("null".to_owned()), quoted)?)?;
        if let Some(first_kept) = &self.first_kept {
            object.set("firstKeptEntryId", quoted(first_kept)?)?;
        }
        object.text().map(Some)
    }

    /// The head of the entry in the new session, from its row in the old tree.
    pub fn head<'a>(&'a self, tree: &'a Tree) -> Option<EntryHead<'a>> {
        let row = tree.row(self.row)?;
        let target = self.first_kept.as_deref().or_else(|| row.target.map(|id_no| tree.id_bytes(id_no)));
        Some(EntryHead {
            kind: row.kind,
            id: tree.id_bytes(row.id).into(),
            parent: self.parent.as_deref().map_or(Parent::Null, |id| Parent::Id(id.into())),
            time: row.time,
            message: row.message,
            target: target.map(Into::into),
            sets_label: row.sets_label,
            has_summary: row.has_summary,
        })
    }
}

impl BranchLabel {
    /// The head of the label entry. It has the time of the entry that it repeats.
    pub fn head(&self, tree: &Tree) -> EntryHead<'_> {
        EntryHead {
            kind: EntryKind::Label,
            id: self.id.as_bytes().into(),
            parent: Parent::Id(self.parent.as_slice().into()),
            time: tree.row(self.from).map_or(Time::Unparsed, |row| row.time),
            message: None,
            target: Some(self.target.as_slice().into()),
            sets_label: true,
            has_summary: false,
        }
    }
}

/// The lines of a branch's file that the caller makes from its objects.
#[derive(Debug, Default)]
pub struct BranchLines {
    /// The line of the header.
    pub header: Vec<u8>,
    /// The line of each step; None to copy the line of the old file, with the new parent.
    pub steps: Vec<Option<Vec<u8>>>,
    /// The lines of the labels.
    pub labels: Vec<Vec<u8>>,
}

/// The spans of the lines in a branch's file, the header's first, and the bodies in copied lines.
struct BranchSpans {
    lines: Vec<Option<LineSpan>>,
    bodies: Vec<(RowNo, Body)>,
}

#[doc(hidden)]
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

    /// Creates the file of this session, whose entries are a branch of `old`.
    pub fn write_branch(&mut self, old: &Session, plan: &BranchPlan, lines: BranchLines) -> Result<()> {
        let Some(path) = self.file().map(str::to_owned) else { return Ok(()) };
        let mut file = NewFile::create(&path)?;
        let BranchSpans { lines, bodies } = old.note_mismatch(old.copy_branch(plan, lines, &mut file))?;
        let size = file.size();
        let storage = file.finish(self.options().durability)?;
        // Another file may have the old name by now, and may no longer contain something that was copied (a redaction).
        // A redaction that starts later finds this file.
        old.check_has_name().inspect_err(|_| remove_as_made(Path::new(&path), storage.file_id(), size))?;
        self.move_to_file(storage, lines, bodies);
        Ok(())
    }

    /// Copies the lines of a branch. Returns their spans, and the bodies of the lines that were copied from the old
    /// file.
    fn copy_branch(&self, plan: &BranchPlan, lines: BranchLines, file: &mut NewFile) -> Result<BranchSpans> {
        let spans = with_capacity(plan.steps.len() + plan.labels.len() + 1)?;
        let mut copied = BranchSpans { lines: spans, bodies: Vec::new() };
        copied.lines.push(Some(file.line(&lines.header)?));
        // Consecutive steps whose lines are copied together.
        let mut run = Vec::new();
        for (step, own) in plan.steps.iter().zip(lines.steps) {
            let Some(line) = own else {
                push(&mut run, step)?;
                continue;
            };
            self.copy_steps(&mut run, file, &mut copied)?;
            copied.lines.push(Some(file.line(&line)?));
        }
        self.copy_steps(&mut run, file, &mut copied)?;
        for line in lines.labels {
            copied.lines.push(Some(file.line(&line)?));
        }
        Ok(copied)
    }

    /// Copies the lines of consecutive steps with their new parents, and empties `run`.
    fn copy_steps(&self, run: &mut Vec<&BranchStep>, file: &mut NewFile, copied: &mut BranchSpans) -> Result<()> {
        let rows = collect(run.iter().map(|step| step.row))?;
        let mut steps = run.drain(..);
        if let Some(storage) = self.storage.as_deref().filter(|_| !rows.is_empty()) {
            self.index.lines_to_copy(storage, &rows, &mut |line| {
                let Some(step) = steps.next() else { return Ok(()) };
                let row = copied.lines.len() as RowNo - 1;
                if step.is_unchanged {
                    extend(&mut copied.bodies, self.index.bodies(step.row).map(|body| (row, *body)))?;
                    copied.lines.push(Some(file.line(line)?));
                    return Ok(());
                }
                let line = step.line(&line_text(line)?)?;
                let line = line.ok_or_else(|| self.entry_changed(step.row, "is no longer JSON"))?;
                extend(&mut copied.bodies, bodies_of(&line)?.into_iter().map(|body| (row, body)))?;
                copied.lines.push(Some(file.line(&line)?));
                Ok(())
            })?;
        }
        steps.next().map_or(Ok(()), |step| Err(self.entry_changed(step.row, "has no line any more")))
    }
}
