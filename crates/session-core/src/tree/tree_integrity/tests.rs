use super::*;
use crate::format::entry::{read_line, Line};

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
