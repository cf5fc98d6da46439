//! Finds orphans, repeated ids and cycles of a tree.

use std::collections::HashSet;

use super::ancestors::cycles;
use super::{IdNo, ParentRef, RowNo, Tree};
use crate::base::memory::{self, collect, insert_into, push};

/// The integrity errors of a tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeErrors {
    pub orphans: Vec<RowNo>,
    /// The rows of each repeated id, in file order.
    pub duplicates: Vec<Vec<RowNo>>,
    pub cycles: Vec<Vec<RowNo>>,
}

/// Finds the orphans, repeated ids and cycles of a tree, in linear time except for sorting the repeated ids.
pub(crate) fn check_integrity(tree: &Tree) -> memory::Result<TreeErrors> {
    let mut found = TreeErrors { duplicates: duplicates(tree)?, ..TreeErrors::default() };
    for no in (0..tree.len() as RowNo).filter(|&no| is_orphan(tree, no)) {
        push(&mut found.orphans, no)?;
    }
    for no in cycles(tree.len(), |no| tree.parent_row(no))? {
        push(&mut found.cycles, cycle_through(tree, no)?)?;
    }
    found.cycles.sort_unstable();
    Ok(found)
}

/// The rows of each id that several rows have.
fn duplicates(tree: &Tree) -> memory::Result<Vec<Vec<RowNo>>> {
    let rows = 0..tree.len() as RowNo;
    let mut repeated: HashSet<IdNo> = HashSet::new();
    for row in rows.clone().filter(|&no| !tree.is_current(no)).filter_map(|no| tree.row(no)) {
        insert_into(&mut repeated, row.id)?;
    }
    // Pairs: the last row with an id, and each row with that id.
    let mut same: Vec<(RowNo, RowNo)> = Vec::new();
    if !repeated.is_empty() {
        for no in rows {
            let id = tree.row(no).map(|row| row.id).filter(|id| repeated.contains(id));
            if let Some(last) = id.and_then(|id| tree.row_of(id)) {
                push(&mut same, (last, no))?;
            }
        }
    }
    same.sort_unstable();
    let mut duplicates = Vec::new();
    for group in same.chunk_by(|(one, _), (other, _)| one == other) {
        push(&mut duplicates, collect(group.iter().map(|(_, no)| *no))?)?;
    }
    duplicates.sort_unstable();
    Ok(duplicates)
}

fn is_orphan(tree: &Tree, no: RowNo) -> bool {
    match tree.row(no).map(|row| row.parent) {
        Some(ParentRef::Id(id_no)) => tree.row_of(id_no).is_none(),
        Some(ParentRef::Number(_) | ParentRef::Other) => true,
        Some(ParentRef::Null | ParentRef::Missing) | None => false,
    }
}

fn cycle_through(tree: &Tree, no: RowNo) -> memory::Result<Vec<RowNo>> {
    let next = |at: &RowNo| tree.parent_row(*at).filter(|&at| at != no);
    let mut rows: Vec<RowNo> = Vec::new();
    for row in std::iter::successors(Some(no), next).take(tree.len()) {
        push(&mut rows, row)?;
    }
    rows.reverse();
    let first = rows.iter().enumerate().min_by_key(|(_, row)| **row).map_or(0, |(at, _)| at);
    rows.rotate_left(first);
    Ok(rows)
}

#[cfg(test)]
mod tests;
