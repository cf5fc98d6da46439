use super::*;
use crate::session::Persistence;

fn session(lines: &[&str]) -> Session {
    let mut session = Session::new(b"s".to_vec(), Persistence::Memory, None);
    for line in lines {
        read_line(line, |line| match line {
            Line::Entry(head) => drop(session.push_local(&head, None).expect("memory")),
            other => panic!("{other:?}"),
        })
        .expect("memory");
    }
    session
}

fn known(session: &Session, row: RowNo, line: &str) -> std::result::Result<String, String> {
    let line = session.line_as_known(row, line.as_bytes().to_vec());
    line.map(|line| String::from_utf8(line).expect("text")).map_err(|error| error.to_string())
}

#[test]
fn what_was_changed_on_an_object_does_not_change_the_tree_it_is_written_from() {
    let lines = [
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#,
        r#"{"type":"label","id":"b","parentId":"a","targetId":"a"}"#,
        r#"{"type":"x-new","id":"c","parentId":null}"#,
    ];
    let session = session(&lines);
    for (row, line) in lines.iter().enumerate() {
        assert_eq!(known(&session, row as RowNo, line).as_deref(), Ok(*line));
    }
    assert_eq!(
        known(&session, 0, r#"{"type":"session","id":"b","n":1.50,"parentId":"b","message":{"role":"user"}}"#)
            .as_deref(),
        Ok(r#"{"type":"message","id":"a","n":1.50,"parentId":null,"message":{"role":"user"}}"#)
    );
    assert_eq!(known(&session, 1, "{}").as_deref(), Ok(r#"{"id":"b","parentId":"a","type":"label"}"#));
    assert_eq!(known(&session, 2, r#"{"type":"x","id":2}"#).as_deref(), Ok(r#"{"type":"x","id":"c","parentId":null}"#));
    for (row, line) in [(0, "5"), (1, "[]"), (2, r#"{"type":"session","id":"c"}"#), (2, r#"{"type":"label","id":"c"}"#)]
    {
        let error = known(&session, row, line).expect_err(line);
        assert!(error.starts_with(&format!("Entry {} cannot be written", ["a", "b", "c"][row as usize])), "{error}");
    }
}

#[test]
fn a_changed_header_is_still_the_sessions() {
    let header = |text: &str| session(&[]).header_as_known(text.as_bytes().to_vec());
    for kept in [r#"{"type":"session","version":3,"id":"s","cwd":"/c"}"#, r#"{"type":"session","version":9,"id":"s"}"#]
    {
        assert_eq!(header(kept).expect("a header"), kept.as_bytes());
    }
    let changed = header(r#"{"type":"x","version":1,"id":"t","cwd":"/d"}"#).expect("a header");
    assert_eq!(changed, br#"{"type":"session","version":3,"id":"s","cwd":"/d"}"#);
    assert!(header("null").is_err());
}
