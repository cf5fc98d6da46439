use crate::format::entry::{read_line, Line};
use crate::tree::sibling_order::unordered_parents;
use crate::tree::Tree;

#[test]
fn only_children_whose_times_go_back_or_are_not_known_are_sorted() {
    let mut tree = Tree::default();
    let at = |second: u32| format!("2025-01-01T00:00:0{second}.000Z");
    let mut push = |id: &str, parent: &str, time: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        let line = format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\"}}");
        read_line(&line, |line| match line {
            Line::Entry(head) => drop(tree.push(&head, true).expect("memory")),
            other => panic!("{other:?}"),
        })
        .expect("memory");
    };
    // Roots stay in file order, whatever their times.
    push("a", "", &at(9));
    push("b", "", &at(0));
    for (id, parent, time) in [("c", "a", &at(1)), ("d", "a", &at(1)), ("e", "a", &at(2))] {
        push(id, parent, time);
    }
    for (id, parent, time) in [("f", "b", &at(3)), ("g", "b", &at(2)), ("h", "b", &at(1)), ("i", "b", &at(5))] {
        push(id, parent, time);
    }
    push("j", "c", "yesterday");
    let parents = tree.parents().expect("memory");
    assert_eq!(unordered_parents(tree.rows(), &parents).expect("memory"), [1, 2]);
}
