use super::*;

const HEADER: &str = "{\"type\":\"session\",\"id\":\"s\"}\n";

#[test]
fn a_folder_with_other_files_is_not_the_sessions() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| {
        let path = name.split('/').fold(dir.path().to_owned(), |path, part| path.join(part));
        path.to_str().expect("text").to_owned()
    };
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(Path::new(&at(name)).parent().expect("a directory")).expect("made");
        std::fs::write(at(name), text).expect("written");
    };
    for name in ["s.jsonl", "s/b/run-0/session.jsonl", "s/a.jsonl", "s.jsonl.bak", "s.jsonl.v1.bak.2", "s.jsonl.old"] {
        write(name, HEADER);
    }
    let want = Belongings {
        backups: vec![at("s.jsonl.bak"), at("s.jsonl.v1.bak.2")],
        subagents: vec![at("s/a.jsonl"), at("s/b/run-0/session.jsonl")],
        others: Vec::new(),
        folder: Some(at("s")),
    };
    assert_eq!(belongings(at("s.jsonl")).expect("found"), want);
    write("s/b/data.jsonl", "{\"id\":\"x\"}\n");
    write("s/b/page.html", "<p>");
    let found = belongings(at("s.jsonl")).expect("found");
    let others = vec![at("s/b/data.jsonl"), at("s/b/page.html")];
    assert_eq!(found, Belongings { folder: None, others, ..want });
    write("other.jsonl", HEADER);
    write("other/notes.txt", "mine");
    assert_eq!(belongings(at("other.jsonl")).expect("found"), Belongings::default());
    // Regression: because of a subagent's session with a torn header, the folder stayed after a deletion.
    write("torn.jsonl", HEADER);
    write("torn/a/session.jsonl", "{\"type\":\"sess\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
    let (subagents, folder) = (vec![at("torn/a/session.jsonl")], Some(at("torn")));
    assert_eq!(belongings(at("torn.jsonl")).expect("found"), Belongings { subagents, folder, ..Belongings::default() });
}

/// Regression: files of other programs were deleted with the session, because a line in them looked like a message of
/// version 1.
#[test]
fn messages_without_ids_do_not_make_a_session() {
    let dir = tempfile::tempdir().expect("a directory");
    let folder = dir.path().join("s");
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("a.jsonl"), HEADER).expect("written");
    let message =
        |more: &str| format!("{{\"type\":\"message\"{more},\"message\":{{\"role\":\"user\",\"content\":\"hi\"}}}}\n");
    let others = [
        ("chat", message("")),
        ("claude", message(",\"parentUuid\":null,\"isSidechain\":true")),
        ("events", format!("{{\"type\":\"agent_start\"}}\n{}", message(",\"timestamp\":\"2026\""))),
        ("timed", message(",\"timestamp\":\"2026\"")),
    ];
    for (name, text) in &others {
        let path = folder.join(name).with_extension("jsonl");
        std::fs::write(&path, text).expect("written");
        let is_other = crate::index::verify::verify(&path).expect("read").other_format.is_some();
        assert_eq!(is_other, *name != "timed", "{name}");
    }
    let found = belongings(dir.path().join("s.jsonl")).expect("found");
    assert_eq!((found.subagents.len(), found.others.len(), found.folder), (1, others.len(), None));
}
