use super::*;
use crate::core::entry::Kind as EntryKind;

/// Appends a custom entry to a session that has its file.
fn append(session: &mut Session) -> Result<RowNo> {
    let head = NewHead::default();
    session.append(&NewEntry {
        kind: EntryKind::Custom,
        head: &head,
        own: b"{\"customType\":\"x\"}",
        below: Below::Leaf,
        id: None,
        time: 0.0,
        timestamp: "1970-01-01T00:00:00.000Z",
    })
}

fn opened(path: &str) -> Box<Session> {
    match Session::open(path, Persistence::File, Options::default()).expect("opened") {
        Found::Session(session) => session,
        _ => panic!("a session was written there"),
    }
}

const HEAD: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"custom\",\"id\":\"a\"}";

#[test]
#[cfg(unix)]
fn a_deleted_file_is_written_again_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    std::fs::write(&path, HEAD).expect("written");
    let mut session = opened(&path);
    std::fs::remove_file(&path).expect("removed");
    append(&mut session).expect("appended");
    append(&mut session).expect("appended");
    let text = std::fs::read_to_string(&path).expect("read");
    assert!(text.starts_with(&format!("{HEAD}\n")), "{text}");
    assert_eq!(opened(&path).tree().len(), 3);
}

#[test]
#[cfg(unix)]
fn a_file_in_its_place_is_not_written_to() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    std::fs::write(&path, HEAD).expect("written");
    let mut session = opened(&path);
    std::fs::remove_file(&path).expect("removed");
    std::fs::write(&path, "something else").expect("written");
    let error = append(&mut session).expect_err("another file is there");
    assert!(error.to_string().contains(&path), "{error}");
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "something else");
}
