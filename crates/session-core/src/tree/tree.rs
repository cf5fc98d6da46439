//! The tree in memory: one index row for each entry, in file order, with ids, children, labels and the leaf. A path
//! here is the entries from the root to an entry.
//!
//! Ids are interned ([`IdNo`]). If several entries have one id, the id refers to the last of them.
//!
//! Invariants: rows are only added; `RowsOfId::last` is the newest row with that id; a walk to the root visits no
//! row twice.

use std::collections::HashSet;

use super::ancestors::{cycles, path_to};
use super::interned_ids::InternedIds;
use super::labels::Labels;
use super::row::{IdNo, ParentRef, Row, RowNo, NONE};
use crate::base::memory::{self, collect, insert_into, push, reserve, with_capacity, OutOfMemory};
use crate::format::agent_message::Role;
use crate::format::entry::{EntryHead, EntryKind, Parent};

/// How many ids an entry has at most: its own, its parent's, and the one to which it refers.
const IDS_OF_ROW: usize = 3;

/// The rows of an id: the last row with it, and the first and the last row whose parent it is. These children are
/// linked by `next_sibling`.
#[derive(Debug, Clone, Copy)]
struct RowsOfId {
    last: RowNo,
    first_child: RowNo,
    last_child: RowNo,
}

/// The parent whose children are requested.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ChildrenOf<'a> {
    /// Entries without `parentId`.
    Missing,
    /// Entries whose `parentId` is null.
    Null,
    /// Entries whose `parentId` is this id.
    Id(&'a [u8]),
    /// Entries whose `parentId` is this number.
    #[doc(hidden)]
    Number(f64),
}

/// The rows of a session's entries, with their ids, children, labels and the leaf.
#[derive(Debug, Default)]
pub struct Tree {
    rows: Vec<Row>,
    ids: InternedIds,
    /// By id number.
    rows_of_ids: Vec<RowsOfId>,
    labels: Labels,
    leaf: Option<RowNo>,
    last_info: Option<RowNo>,
}

impl Tree {
    /// Reserves memory for an entry, so that adding it next cannot fail.
    pub(crate) fn reserve(&mut self, head: &EntryHead<'_>) -> memory::Result<()> {
        let parent = match &head.parent {
            Parent::Id(parent) => parent.len(),
            _ => 0,
        };
        let target = head.target.as_ref().map_or(0, |id| id.len());
        self.ids.reserve(IDS_OF_ROW, head.id.len() + parent + target)?;
        reserve(&mut self.rows_of_ids, IDS_OF_ROW)?;
        reserve(&mut self.rows, 1)?;
        if head.kind == EntryKind::Label {
            self.labels.reserve()?;
        }
        Ok(())
    }

    /// Adds an entry. If `advance` is set, or the entry has the leaf's id, it becomes the leaf. Changes nothing if an
    /// allocation fails.
    #[doc(hidden)]
    pub fn push(&mut self, head: &EntryHead<'_>, advance: bool) -> Result<RowNo, OutOfMemory> {
        self.reserve(head)?;
        let no = self.rows.len() as RowNo;
        let id = self.intern(&head.id);
        let parent = match &head.parent {
            Parent::Missing => ParentRef::Missing,
            Parent::Null => ParentRef::Null,
            Parent::Id(parent) => ParentRef::Id(self.intern_parent(parent)),
            Parent::Number(number) => ParentRef::Number(*number),
            Parent::Other => ParentRef::Other,
        };
        let target = head.target.as_ref().map(|target| self.intern(target));
        self.rows.push(Row {
            kind: head.kind,
            message: head.message,
            sets_label: head.sets_label,
            has_summary: head.has_summary,
            id,
            parent,
            target,
            time: head.time,
            next_sibling: NONE,
        });
        self.link_child(parent, no);
        if let Some(rows) = self.rows_of_ids.get_mut(id.0 as usize) {
            rows.last = no;
        }
        if let (EntryKind::Label, Some(target)) = (head.kind, target) {
            self.labels.replay(target, no, head.sets_label);
        }
        if head.kind == EntryKind::SessionInfo {
            self.last_info = Some(no);
        }
        if advance || self.leaf.and_then(|leaf| self.row(leaf)).is_some_and(|leaf| leaf.id == id) {
            self.leaf = Some(no);
        }
        Ok(no)
    }

    /// The number of a parent's id. It is mostly the id of the last row, so that needs no search.
    fn intern_parent(&mut self, id: &[u8]) -> IdNo {
        let last = self.rows.last().map(|row| row.id);
        last.filter(|&last| self.id_bytes(last) == id).unwrap_or_else(|| self.intern(id))
    }

    fn intern(&mut self, id: &[u8]) -> IdNo {
        let id_no = self.ids.intern(id);
        if self.rows_of_ids.len() <= id_no.0 as usize {
            self.rows_of_ids.push(RowsOfId { last: NONE, first_child: NONE, last_child: NONE });
        }
        id_no
    }

    fn link_child(&mut self, parent: ParentRef, row: RowNo) {
        let ParentRef::Id(id_no) = parent else { return };
        let Some(parent) = self.rows_of_ids.get_mut(id_no.0 as usize) else { return };
        let before = std::mem::replace(&mut parent.last_child, row);
        if before == NONE {
            parent.first_child = row;
        } else if let Some(sibling) = self.rows.get_mut(before as usize) {
            sibling.next_sibling = row;
        }
    }

    /// The number of entries. Entries with a repeated id are counted too.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the tree has no entries.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of different ids of entries.
    pub fn distinct_ids(&self) -> usize {
        self.rows_of_ids.iter().filter(|rows| rows.last != NONE).count()
    }

    /// The row with a number; None if there is none.
    pub fn row(&self, no: RowNo) -> Option<&Row> {
        self.rows.get(no as usize)
    }

    /// Every row in file order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The number of a known id.
    pub fn id_no(&self, id: &[u8]) -> Option<IdNo> {
        self.ids.find(id)
    }

    /// The row with an id: the last one that has it.
    pub fn find(&self, id: &[u8]) -> Option<RowNo> {
        self.row_of(self.id_no(id)?)
    }

    /// The row with an id: the last one that has it.
    pub fn row_of(&self, id_no: IdNo) -> Option<RowNo> {
        self.rows_of_ids.get(id_no.0 as usize).map(|rows| rows.last).filter(|&row| row != NONE)
    }

    /// The bytes of an id, WTF-8; empty for a number that only another tree has. The key of a label whose target is not
    /// a string begins with the byte 0xFF, which WTF-8 never contains.
    pub fn id_bytes(&self, id_no: IdNo) -> &[u8] {
        self.ids.bytes_of(id_no)
    }

    /// The id of a row, WTF-8; empty if there is no such row.
    pub fn id_of(&self, no: RowNo) -> &[u8] {
        self.row(no).map_or(&[], |row| self.id_bytes(row.id))
    }

    /// Whether a row is the last one with its id; false if there is no such row.
    pub(crate) fn is_current(&self, no: RowNo) -> bool {
        self.row(no).is_some_and(|row| self.row_of(row.id) == Some(no))
    }

    /// Whether a head has the same kind, id, parent, message and target as the row.
    pub(crate) fn matches_head(&self, no: RowNo, head: &EntryHead<'_>) -> bool {
        let Some(row) = self.row(no) else { return false };
        row.kind == head.kind
            && row.message == head.message
            && self.has_parent(row, &head.parent)
            && self.id_bytes(row.id) == &*head.id
            && row.target.map(|id_no| self.id_bytes(id_no)) == head.target.as_deref()
    }

    /// Whether a row's parent equals the parent in a line.
    pub(crate) fn has_parent(&self, row: &Row, parent: &Parent<'_>) -> bool {
        match (row.parent, parent) {
            (ParentRef::Missing, Parent::Missing) | (ParentRef::Null, Parent::Null) => true,
            (ParentRef::Other, Parent::Other) => true,
            (ParentRef::Id(id_no), Parent::Id(id)) => self.id_bytes(id_no) == &**id,
            (ParentRef::Number(one), Parent::Number(other)) => one == *other,
            _ => false,
        }
    }

    /// The leaf: the row that becomes the parent of the next entry.
    pub fn leaf(&self) -> Option<RowNo> {
        self.leaf
    }

    /// The leaf; None if its id is empty, because in JavaScript an empty text counts as no id.
    #[doc(hidden)]
    pub fn named_leaf(&self) -> Option<RowNo> {
        self.leaf.filter(|&leaf| !self.id_of(leaf).is_empty())
    }

    /// The end of the context: the leaf. If the leaf's id is empty, the last entry, as in pi.
    #[doc(hidden)]
    pub fn context_end(&self) -> Option<RowNo> {
        self.leaf?;
        self.named_leaf().or_else(|| (self.rows.len() as RowNo).checked_sub(1))
    }

    /// Sets the leaf. None, or a row that does not exist, means before the first entry.
    pub(crate) fn set_leaf(&mut self, leaf: Option<RowNo>) {
        self.leaf = leaf.filter(|&no| (no as usize) < self.rows.len());
    }

    /// The newest session_info entry on any branch.
    pub fn last_info(&self) -> Option<RowNo> {
        self.last_info
    }

    /// Whether any entry is a message of a user or assistant.
    pub fn has_conversation(&self) -> bool {
        self.rows.iter().any(|row| row.role().is_some_and(Role::is_conversation))
    }

    /// The next row of a walk towards the root. An empty id has no row, as in JavaScript.
    pub fn parent_row(&self, no: RowNo) -> Option<RowNo> {
        match self.row(no)?.parent {
            ParentRef::Id(id_no) if !self.id_bytes(id_no).is_empty() => self.row_of(id_no),
            _ => None,
        }
    }

    /// The rows from the root to `to`, including `to`; empty if there is no such row. In a cycle the path ends before a
    /// row would repeat.
    pub fn path(&self, to: RowNo) -> Result<Vec<RowNo>, OutOfMemory> {
        let mut path = Vec::new();
        let mut at = self.row(to).map(|_| to);
        while let Some(no) = at {
            // The path has as many steps as there are rows, so the walk is in a cycle, whose rows are at the end of the
            // path.
            if path.len() == self.rows.len() {
                let mut visited = HashSet::new();
                let is_new = |no: &RowNo| insert_into(&mut visited, *no);
                return path_to(Some(to), |refused| refused, is_new, |no| Ok(self.parent_row(*no)));
            }
            push(&mut path, no)?;
            at = self.parent_row(no);
        }
        path.reverse();
        Ok(path)
    }

    /// The entries whose parent is `of`, in file order. If several entries have one id, only the last is returned.
    pub fn children(&self, of: ChildrenOf<'_>) -> Result<Vec<RowNo>, OutOfMemory> {
        let parent = match of {
            ChildrenOf::Missing => ParentRef::Missing,
            ChildrenOf::Null => ParentRef::Null,
            ChildrenOf::Number(number) => ParentRef::Number(number),
            ChildrenOf::Id(id) => {
                let rows = self.id_no(id).and_then(|id_no| self.rows_of_ids.get(id_no.0 as usize));
                let some = |no: RowNo| (no != NONE).then_some(no);
                let first = rows.and_then(|rows| some(rows.first_child));
                let linked = std::iter::successors(first, |&no| some(self.row(no)?.next_sibling));
                return collect(linked.filter(|&no| self.is_current(no)));
            }
        };
        let rows = (0..).zip(&self.rows).filter(|(_, row)| row.parent == parent).map(|(no, _)| no);
        collect(rows.filter(|&no| self.is_current(no)))
    }

    /// The labels of entries.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The parent row of each row in the displayed tree, or None for a root. Roots are orphans, entries that are their
    /// own parent, and the first entry of each cycle in file order.
    pub fn parents(&self) -> Result<Vec<Option<RowNo>>, OutOfMemory> {
        let mut parents = with_capacity(self.rows.len())?;
        parents.extend((0..self.rows.len() as RowNo).map(|no| self.tree_parent(no)));
        // A row that replaced another row with its id may be its own ancestor. Each cycle is broken at its first row.
        let next = |no: RowNo| parents.get(no as usize).copied().flatten();
        let first = |met: RowNo| {
            let others = std::iter::successors(next(met), |&no| next(no)).take_while(|&no| no != met);
            others.min().map_or(met, |other| other.min(met))
        };
        let firsts = collect(cycles(parents.len(), next)?.into_iter().map(first))?;
        for first in firsts {
            if let Some(parent) = parents.get_mut(first as usize) {
                *parent = None;
            }
        }
        Ok(parents)
    }

    fn tree_parent(&self, no: RowNo) -> Option<RowNo> {
        let row = self.row(no)?;
        match row.parent {
            ParentRef::Id(id_no) if id_no != row.id => self.row_of(id_no),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
