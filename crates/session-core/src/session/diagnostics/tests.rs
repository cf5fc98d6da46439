use crate::base::options::SessionFileOptions;
use crate::index::verify::verify;
use crate::session::{Persistence, Session};

/// Regression: the lines of entries were numbered without the blank lines before them.
#[test]
fn lines_are_numbered_as_in_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl");
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
    let entry = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"custom","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:00.000Z","customType":"n"}}"#
        )
    };
    let lines = [
        header.into(),
        String::new(),
        " ".into(),
        entry("a", "gone"),
        "damaged".into(),
        entry("b", "gone"),
        entry("c", "b"),
    ];
    let text = lines.join("\n") + "\n\n" + &entry("a", "gone") + "\n";
    std::fs::write(&path, text).expect("written");
    let session = Session::open(&path, Persistence::File, SessionFileOptions::default()).expect("opened");
    let (told, verified) = (session.diagnostics().expect("memory"), verify(path).expect("read"));
    assert_eq!(told.faults.orphans.iter().map(|orphan| orphan.line).collect::<Vec<_>>(), [4, 6, 9]);
    assert_eq!(told.faults.damaged.iter().map(|damage| damage.line).collect::<Vec<_>>(), [5]);
    assert_eq!(told.faults.duplicate_ids.iter().map(|id| id.lines.clone()).collect::<Vec<_>>(), [[4, 9]]);
    assert_eq!((told.faults.orphans, told.faults.damaged), (verified.faults.orphans, verified.faults.damaged));
}
