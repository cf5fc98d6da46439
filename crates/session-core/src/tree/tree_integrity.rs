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
mod tests {
    use super::*;
    use crate::format::entry::{read_line, Line};
    use crate::index::damage_report::{FaultReport, Orphan};

    fn tree(entries: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (id, parent) in entries {
            read_line(&format!("{{\"id\":\"{id}\",\"parentId\":{parent}}}"), |line| {
                if let Line::Entry(head) = line {
                    tree.push(&head, true).expect("memory");
                }
            })
            .expect("memory");
        }
        tree
    }

    #[test]
    fn orphans_repeated_ids_and_cycles_are_found() {
        let tree = tree(&[
            ("a", "null"),
            ("b", "\"gone\""),
            ("c", "\"e\""),
            ("d", "\"c\""),
            ("e", "\"d\""),
            ("a", "\"a\""),
            ("f", "\"e\""),
            ("g", "7"),
        ]);
        let found = check_integrity(&tree).expect("memory");
        assert_eq!(found.orphans, [1, 7]);
        assert_eq!(found.duplicates, [vec![0, 5]]);
        assert_eq!(found.cycles, [vec![2, 3, 4], vec![5]]);
        let faults = FaultReport::of(&tree, &|no| u64::from(no) + 10, std::iter::empty()).expect("memory");
        assert_eq!(faults.orphans[1], Orphan { line: 17, id: "g".into(), parent_id: "7".into() });
    }

    #[test]
    fn a_long_chain_and_a_long_cycle_end() {
        let ids: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        let parents: Vec<String> = (0..100_000).map(|n| format!("\"{}\"", (n + 99_999) % 100_000)).collect();
        let entries: Vec<_> = ids.iter().zip(&parents).map(|(id, parent)| (id.as_str(), parent.as_str())).collect();
        let found = check_integrity(&tree(&entries)).expect("memory");
        assert_eq!(found.cycles.len(), 1);
        assert_eq!(found.cycles[0].len(), 100_000);
        assert_eq!(found.cycles[0][..3], [0, 1, 2]);
        assert_eq!(check_integrity(&tree(&entries[1..])).expect("memory").cycles.len(), 0);
    }
}
