use super::*;
use crate::format::entry::{read_line, Line};

#[test]
fn labels_leave_the_path_and_come_back_after_it() {
    let lines = [
        r#"{"type":"custom","id":"a","parentId":null}"#,
        r#"{"type":"label","id":"l","parentId":"a","targetId":"a","label":"x"}"#,
        r#"{"type":"custom","id":"b","parentId":"l"}"#,
        r#"{"type":"compaction","id":"c","parentId":"b","firstKeptEntryId":"l"}"#,
    ];
    let mut tree = Tree::default();
    for line in lines {
        read_line(line, |line| {
            if let Line::Entry(head) = line {
                tree.push(&head, true).expect("memory");
            }
        })
        .expect("memory");
    }
    let plan = plan(&tree, 3).expect("memory");
    let rows: Vec<_> = plan.steps.iter().map(|step| (step.row, step.parent.as_deref())).collect();
    assert_eq!(rows, [(0, None), (2, Some(&b"a"[..])), (3, Some(&b"b"[..]))]);
    assert_eq!(
        String::from_utf8_lossy(&plan.steps[2].line(lines[3]).expect("memory").expect("an object")),
        r#"{"type":"compaction","id":"c","parentId":"b","firstKeptEntryId":"b"}"#
    );
    let label = &plan.labels[0];
    assert_eq!((label.parent.as_slice(), label.target.as_slice(), label.from), (&b"c"[..], &b"a"[..], 1));
}
