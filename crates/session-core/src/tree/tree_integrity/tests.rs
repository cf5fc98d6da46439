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
