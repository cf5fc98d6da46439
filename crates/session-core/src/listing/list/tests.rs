use super::*;

/// Names whose order depends on a language: `localeCompare` puts `a` before `B`.
fn unordered_dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["a", "B", "c"] {
        let header = format!(
            r#"{{"type":"session","version":3,"id":"{name}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}}"#
        );
        std::fs::write(dir.path().join(format!("{name}.jsonl")), header + "\n").expect("written");
    }
    dir
}

#[test]
fn without_a_language_names_are_in_the_order_of_their_bytes_descending() {
    let dir = unordered_dir();
    let scope = ListScope::dir(dir.path().to_string_lossy().into_owned(), None);
    let files = list(&scope, None).expect("listed");
    let ids: Vec<_> = files.iter().map(|file| file.listed.summary.id.clone()).collect();
    assert_eq!(ids, [b"c", b"a", b"B"]);
}

/// Regression: the sessions of every working directory were listed.
#[test]
fn a_list_of_a_working_directory_has_only_its_sessions() {
    let dir = unordered_dir();
    let listed = |cwd: &str| {
        let scope = ListScope::dir(dir.path().to_string_lossy().into_owned(), Some(cwd.into()));
        list(&scope, None).expect("listed").len()
    };
    assert_eq!([listed("/"), listed("/other")], [3, 0]);
}

/// Regression: the name of the last session of a directory stayed in the catalog, and in its log, after the session
/// was deleted.
#[test]
fn a_list_that_finds_no_session_clears_the_catalog() {
    for is_all in [false, true] {
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join("--p--");
        std::fs::create_dir(&dir).expect("created");
        let file = dir.join("s.jsonl");
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
        let name = r#"{"type":"session_info","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","name":"hunter2"}"#;
        std::fs::write(&file, format!("{header}\n{name}\n")).expect("written");
        let location = CatalogLocation { path: root.path().join("catalog"), makes_dir: false };
        let of = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let scope = if is_all { ListScope::all(of(root.path())) } else { ListScope::dir(of(&dir), None) };
        assert_eq!(list(&scope, Some(&location)).expect("listed").len(), 1);
        std::fs::remove_file(&file).expect("removed");
        assert_eq!(list(&scope, Some(&location)).expect("listed").len(), 0);
        for kept in ["catalog", "catalog-wal"] {
            let bytes = std::fs::read(root.path().join(kept)).unwrap_or_default();
            assert!(memchr::memmem::find(&bytes, b"hunter2").is_none(), "{kept}, all: {is_all}");
        }
    }
}
