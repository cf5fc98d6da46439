//! The replay of label entries: which entries have a label, and which label entry set it. Label entries are replayed in
//! file order; one without a label removes the label.

use std::collections::HashMap;

use super::row::{IdNo, RowNo};
use crate::base::memory::{self, collect, OutOfMemory};

/// The label of one entry.
#[derive(Debug, Clone, Copy)]
struct Label {
    /// The rank of the label: when it was first set after it was last removed.
    order: u64,
    /// The label entry that last set the label.
    row: RowNo,
}

/// The labels of a tree's entries.
#[derive(Debug, Default)]
pub struct Labels {
    by_target: HashMap<IdNo, Label>,
    /// How many times a label was set.
    set: u64,
}

impl Labels {
    /// Reserves memory for one more label.
    pub(super) fn reserve(&mut self) -> memory::Result<()> {
        Ok(self.by_target.try_reserve(1)?)
    }

    /// Replays the label entry at `row`, which sets or removes the label of `target`.
    pub(super) fn replay(&mut self, target: IdNo, row: RowNo, sets: bool) {
        if !sets {
            self.by_target.remove(&target);
            return;
        }
        self.set += 1;
        let order = self.set;
        self.by_target.entry(target).or_insert(Label { order, row }).row = row;
    }

    /// The label entry that set the current label of an entry.
    pub fn row_of(&self, target: IdNo) -> Option<RowNo> {
        self.by_target.get(&target).map(|label| label.row)
    }

    /// Each labelled id with its label entry, in the order in which they were first labelled after their last removal.
    pub(crate) fn in_order(&self) -> Result<Vec<(IdNo, RowNo)>, OutOfMemory> {
        let mut all = collect(self.by_target.iter().map(|(&id_no, label)| (label.order, id_no, label.row)))?;
        all.sort_unstable();
        collect(all.into_iter().map(|(_, id_no, row)| (id_no, row)))
    }
}
