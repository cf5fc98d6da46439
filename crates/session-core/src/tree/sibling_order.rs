//! The order of siblings in the tree: by time; siblings with one time are in file order.

use super::row::Row;
use crate::base::memory::{self, filled, push};
use crate::base::time::Time;
use crate::tree::RowNo;

/// The rows whose children may not be ordered by time if they are in file order: a child has an earlier time than the
/// one before it, or an unknown time. `parents` contains the parent of each of `rows`.
pub fn unordered_parents(rows: &[Row], parents: &[Option<RowNo>]) -> memory::Result<Vec<RowNo>> {
    let mut newest = filled(f64::NEG_INFINITY, rows.len())?;
    let mut unordered = Vec::new();
    for (row, parent) in rows.iter().zip(parents) {
        let Some((parent, newest)) = parent.and_then(|parent| Some((parent, newest.get_mut(parent as usize)?))) else {
            continue;
        };
        match row.time {
            Time::At(time) if time >= *newest => *newest = time,
            // Infinity marks the parent as found: no time is later.
            _ => {
                if *newest < f64::INFINITY {
                    push(&mut unordered, parent)?;
                }
                *newest = f64::INFINITY;
            }
        }
    }
    Ok(unordered)
}

#[cfg(test)]
mod tests {
    use crate::format::entry::{read_line, Line};
    use crate::tree::sibling_order::unordered_parents;
    use crate::tree::Tree;

    #[test]
    fn only_children_whose_times_go_back_or_are_not_known_are_sorted() {
        let mut tree = Tree::default();
        let at = |second: u32| format!("2025-01-01T00:00:0{second}.000Z");
        let mut push = |id: &str, parent: &str, time: &str| {
            let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
            let line =
                format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\"}}");
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
}
