use super::*;
use crate::format::entry::{read_line, Line};

fn tree_of(lines: &[&str]) -> Tree {
    let mut tree = Tree::default();
    for line in lines {
        read_line(line, |line| match line {
            Line::Entry(head) => {
                tree.push(&head, true).expect("memory");
            }
            other => panic!("no entry: {other:?}"),
        })
        .expect("memory");
    }
    tree
}

fn rows_of_leaf(lines: &[&str]) -> Vec<RowNo> {
    let tree = tree_of(lines);
    let path = tree.leaf().map(|leaf| tree.path(leaf).expect("memory")).unwrap_or_default();
    context_rows(&tree, &path).expect("memory")
}

#[test]
fn the_newest_compaction_comes_first_and_keeps_no_system_message() {
    let lines = [
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}"#,
        r#"{"type":"message","id":"b","parentId":"a","message":{"role":"system","content":"x"}}"#,
        r#"{"type":"custom","id":"c","parentId":"b"}"#,
        r#"{"type":"compaction","id":"d","parentId":"c","firstKeptEntryId":"b"}"#,
        r#"{"type":"message","id":"e","parentId":"d","message":{"role":"system","content":"x"}}"#,
    ];
    assert_eq!(rows_of_leaf(&lines), [3, 2, 4]);
}

#[test]
fn an_unknown_first_kept_entry_keeps_nothing() {
    let lines = [
        r#"{"type":"custom","id":"c","parentId":null}"#,
        r#"{"type":"compaction","id":"d","parentId":"c","firstKeptEntryId":"gone"}"#,
    ];
    assert_eq!(rows_of_leaf(&lines), [1]);
}

#[test]
fn messages_without_content_get_one_by_role() {
    let gives = |message: &str| {
        let tree = tree_of(&[&format!(r#"{{"type":"message","id":"a","message":{message}}}"#)]);
        tree.row(0).map(Contribution::of)
    };
    assert_eq!(gives(r#"{"role":"system"}"#), Some(Contribution::MessageEmptyText));
    assert_eq!(gives(r#"{"role":"toolResult","content":null}"#), Some(Contribution::MessageEmptyList));
    assert_eq!(gives(r#"{"role":"bashExecution"}"#), Some(Contribution::Message));
    assert_eq!(gives("5"), Some(Contribution::Nothing));
}
