//! Appends of a Rust program in all modes, and their errors.

use super::*;
use crate::base::error::ErrorCode;
use crate::format::header::NewHeader;
use crate::rewrite::redact::{redact, Redaction};

const HEADER_OF_NEW: NewHeader<'static> = NewHeader { id: "s", cwd: "/c", parent: None, time: 0.0 };
const USER: &[u8] = br#"{"message":{"role":"user","content":"Hi"}}"#;
const NOTE: &[u8] = br#"{"customType":"x"}"#;

fn opened_as(path: &str, persistence: Persistence) -> Session {
    Session::open(path, persistence, SessionFileOptions::default()).expect("opened")
}

fn refused(session: &mut Session, new: &NewEntry<'_>) -> (ErrorCode, String) {
    let (entries, leaf) = (session.tree().len(), session.tree().leaf());
    let error = session.append(new).expect_err("refused");
    assert_eq!((session.tree().len(), session.tree().leaf()), (entries, leaf));
    (error.code(), error.to_string())
}

fn lines(session: &Session) -> Vec<String> {
    let rows = 0..session.tree().len() as RowNo;
    rows.map(|row| session.line(row).expect("readable").expect("it has a line")).collect()
}

#[test]
fn a_read_only_session_refuses_appends_and_another_leaf() {
    let world = World::with(&["a", "b"]);
    let v1 = world.dir.path().join("v1.jsonl").to_str().expect("text").to_owned();
    fs::write(&v1, "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"custom\",\"customType\":\"x\"}\n")
        .expect("written");
    for path in [&world.path, &v1] {
        let before = fs::read(path).expect("read");
        let mut session = opened_as(path, Persistence::ReadOnly);
        let (code, _) = refused(&mut session, &NewEntry::new(EntryKind::Custom, NOTE, 0.0));
        assert_eq!(code, ErrorCode::SessionReadOnly);
        assert_eq!(session.set_leaf(Some(0)).expect_err("refused").code(), ErrorCode::SessionReadOnly);
        assert_eq!(session.set_leaf(None).expect_err("refused").code(), ErrorCode::SessionReadOnly);
        assert_eq!(fs::read(path).expect("read"), before);
    }
}

/// Regression: it was opened for writing, which a read-only file or disk refuses.
#[test]
#[cfg(unix)]
fn a_read_only_session_never_opens_its_file_for_writing() {
    use crate::io::fs::faults::{on_file_system, FileSystem};
    let world = World::with(&["a"]);
    on_file_system(FileSystem { open_for_writing: Some(libc::EROFS), ..FileSystem::PLAIN }, || {
        let mut session = opened_as(&world.path, Persistence::ReadOnly);
        for take_in in [Session::refresh, Session::reload, Session::flush, Session::refresh] {
            world.add(&entry(&ids(&session).len().to_string()));
            take_in(&mut session).expect("read");
            session.close();
        }
        assert_eq!(ids(&session), ["a", "1", "2", "3", "4"]);
    });
}

#[test]
fn a_session_in_memory_keeps_its_appends_there() {
    let world = World::with(&["a"]);
    for text in [world.text(), world.text().trim_end().to_owned(), format!("{HEADER}{{\"torn")] {
        fs::write(&world.path, &text).expect("written");
        let mut session = opened_as(&world.path, Persistence::Memory);
        let before = session.tree().len();
        append(&mut session);
        session.append(&NewEntry::new(EntryKind::Message, USER, 0.0)).expect("appended");
        fs::remove_file(&world.path).expect("removed");
        assert_eq!(session.tree().len(), before + 2);
        assert!(lines(&session).last().expect("a line").contains(r#""content":"Hi""#));
        assert!(!std::path::Path::new(&world.path).exists());
    }
    fs::write(&world.path, "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"custom\",\"customType\":\"x\"}")
        .expect("written");
    let mut migrated = opened_as(&world.path, Persistence::Memory);
    append(&mut migrated);
    assert_eq!(lines(&migrated).len(), 2);
}

#[test]
fn a_new_session_has_its_file_with_the_first_message_of_a_user() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("new.jsonl");
    let mut session = Session::create(Some(&path), &HEADER_OF_NEW, SessionFileOptions::default()).expect("created");
    append(&mut session);
    let system = br#"{"message":{"role":"system","content":"Be brief"}}"#;
    session.append(&NewEntry::new(EntryKind::Message, system, 0.0)).expect("appended");
    assert!(!path.exists());
    assert_eq!(lines(&session).len(), 2);
    session.append(&NewEntry::new(EntryKind::Message, USER, 1.5)).expect("appended");
    let text = fs::read_to_string(&path).expect("made");
    assert_eq!(text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>(), lines(&session));
    append(&mut session);
    let again = opened(path.to_str().expect("text"));
    assert_eq!((ids(&again), lines(&again)), (ids(&session), lines(&session)));
    assert_eq!(again.header_line().expect("readable"), session.header_line().expect("readable"));
    let times = |session: &Session| session.tree().rows().iter().map(|row| row.time).collect::<Vec<_>>();
    assert_eq!(times(&again), times(&session));
}

#[test]
fn a_new_file_replaces_none_that_came_meanwhile() {
    let world = World::with(&["a"]);
    let before = world.text();
    let mut session =
        Session::create(Some(world.path.as_ref()), &HEADER_OF_NEW, SessionFileOptions::default()).expect("created");
    let (code, _) = refused(&mut session, &NewEntry::new(EntryKind::Message, USER, 0.0));
    assert_eq!((code, world.text()), (ErrorCode::System, before));
}

/// Regression: after a change of the working directory, the next append wrote the session again elsewhere.
#[test]
fn a_relative_path_is_made_absolute() {
    let here = std::env::current_dir().expect("a directory");
    let name = std::path::Path::new("never-written.jsonl");
    let session = Session::create(Some(name), &HEADER_OF_NEW, SessionFileOptions::default()).expect("made");
    assert_eq!(session.file(), here.join(name).to_str());
    let redaction = Redaction::text(b"secret", None, b"*").expect("a redaction");
    for error in [
        Session::open(name, Persistence::File, SessionFileOptions::default()).expect_err("not there"),
        crate::index::verify::verify(name).expect_err("not there"),
        crate::rewrite::repair::repair(name, 0.0).expect_err("not there"),
        redact(name, &redaction, true).expect_err("not there"),
    ] {
        assert_eq!(error.path(), here.join(name).to_str());
    }
}

#[test]
fn a_new_session_without_a_file_stays_in_memory() {
    let mut session = Session::create(None, &HEADER_OF_NEW, SessionFileOptions::default()).expect("created");
    session.append(&NewEntry::new(EntryKind::Message, USER, 0.0)).expect("appended");
    assert_eq!((lines(&session).len(), session.file()), (1, None));
    let header = NewHeader { id: "../s", ..HEADER_OF_NEW };
    assert!(Session::create(None, &header, SessionFileOptions::default()).is_err());
    let header = NewHeader { time: f64::NAN, ..HEADER_OF_NEW };
    assert!(Session::create(None, &header, SessionFileOptions::default()).is_err());
}

#[test]
fn what_cannot_be_an_entry_is_refused_and_nothing_is_written() {
    let world = World::with(&["a"]);
    let before = world.text();
    let in_file = opened(&world.path);
    let in_memory = Session::create(None, &HEADER_OF_NEW, SessionFileOptions::default()).expect("created");
    for mut session in [in_file, in_memory] {
        let own = [
            r#"{"message":oops}"#,
            "{\"message\":\"a\nb\"}",
            "{\"message\":\n{}}",
            "",
            "{",
            "[]",
            "null",
            r#"{"id":"b"}"#,
            r#"{"type":"label"}"#,
            r#"{"x":1,"parentId":null}"#,
            r#"{"timestamp":""}"#,
        ];
        for own in own {
            let (code, text) = refused(&mut session, &NewEntry::new(EntryKind::Message, own.as_bytes(), 0.0));
            assert_eq!(code, ErrorCode::InvalidArgument, "{own}: {text}");
        }
        for wrong in [
            NewEntry::new(EntryKind::Custom, b"{\"x\":\"\xFF\"}", 0.0),
            NewEntry::new(EntryKind::Unknown, NOTE, 0.0),
            NewEntry::new(EntryKind::Custom, NOTE, f64::NAN),
            NewEntry::new(EntryKind::Custom, NOTE, 8.65e15),
        ] {
            let (code, text) = refused(&mut session, &wrong);
            assert_eq!(code, ErrorCode::InvalidArgument, "{wrong:?}: {text}");
        }
        let orphan =
            NewEntry { parent: ParentChoice::Id(b"gone".to_vec()), ..NewEntry::new(EntryKind::Custom, NOTE, 0.0) };
        assert_eq!(refused(&mut session, &orphan), (ErrorCode::EntryNotFound, "Entry gone not found".into()));
        assert_eq!(session.set_leaf(Some(9999)).expect_err("refused").code(), ErrorCode::InvalidArgument);
    }
    assert_eq!(world.text(), before);
}

/// Regression: a parent was a row number, which belonged to another entry after the file was replaced.
#[test]
#[cfg(unix)]
fn a_parent_is_the_same_entry_after_the_file_was_replaced() {
    let world = World::with(&["a", "b"]);
    let mut session = opened(&world.path);
    world.replace(&(HEADER.to_owned() + &entry("b") + &entry("a")));
    let parent = ParentChoice::Id(b"a".to_vec());
    let row = session.append(&NewEntry { parent, ..NewEntry::new(EntryKind::Custom, NOTE, 0.0) }).expect("appended");
    assert_eq!(session.tree().parent_row(row).map(|parent| session.tree().id_of(parent)), Some(&b"a"[..]));
    assert!(world.text().lines().last().expect("a line").contains(r#""parentId":"a""#));
}

/// Regression: a context edit was written although its target is not on the branch, or adds nothing to the context.
#[test]
fn a_context_edit_that_would_do_nothing_is_refused() {
    let mut session = Session::create(None, &HEADER_OF_NEW, SessionFileOptions::default()).expect("created");
    let mut row = |kind, own: &[u8]| {
        let row = session.append(&NewEntry::new(kind, own, 0.0)).expect("appended");
        String::from_utf8_lossy(session.tree().id_of(row)).into_owned()
    };
    let (message, note) = (row(EntryKind::Message, USER), row(EntryKind::Custom, NOTE));
    let edit_of = |id: &str| format!(r#"{{"targetId":"{id}","replacement":null}}"#);
    let edit = |session: &mut Session, own: &str, parent: ParentChoice| {
        let new = NewEntry { parent, ..NewEntry::new(EntryKind::ContextEdit, own.as_bytes(), 0.0) };
        session.append(&new).map(drop).map_err(|error| error.code())
    };
    let not_editable = Err(ErrorCode::EntryNotEditable);
    assert_eq!(edit(&mut session, &edit_of(&note), ParentChoice::Leaf), not_editable);
    assert_eq!(edit(&mut session, &edit_of(&message), ParentChoice::Root), not_editable);
    assert_eq!(edit(&mut session, &edit_of("gone"), ParentChoice::Leaf), Err(ErrorCode::EntryNotFound));
    assert_eq!(edit(&mut session, "{}", ParentChoice::Leaf), Err(ErrorCode::EntryNotFound));
    assert_eq!(edit(&mut session, &edit_of(&message), ParentChoice::Leaf), Ok(()));
}

/// Regression: the target of an edit was searched before the lines of other processes were read.
#[test]
fn a_context_edit_is_checked_against_what_other_processes_wrote() {
    let message = |id: &str| {
        format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"\"}}}}\n")
    };
    let world = World::with(&[]);
    world.add(&message("a"));
    let mut session = opened(&world.path);
    let edit = |session: &mut Session, target: &str, parent| {
        let own = format!(r#"{{"targetId":"{target}","replacement":null}}"#);
        session.append(&NewEntry { parent, ..NewEntry::new(EntryKind::ContextEdit, own.as_bytes(), 0.0) })
    };
    world.add(&message("b"));
    edit(&mut session, "b", ParentChoice::Id(b"b".to_vec())).expect("it is there now");
    world.write(&(HEADER.to_owned() + &message("c")));
    let text = world.text();
    assert_eq!(edit(&mut session, "a", ParentChoice::Leaf).expect_err("it is gone").code(), ErrorCode::EntryNotFound);
    assert_eq!(world.text(), text);
}

#[test]
fn what_is_missing_or_empty_is_an_error() {
    let world = World::with(&[]);
    world.write("");
    let open = |persistence| Session::open(&world.path, persistence, SessionFileOptions::default()).map(drop);
    let every = [Persistence::Memory, Persistence::ReadOnly, Persistence::File];
    for persistence in every {
        assert_eq!(open(persistence).expect_err("empty").code(), ErrorCode::SessionInvalid);
    }
    fs::remove_file(&world.path).expect("removed");
    for persistence in every {
        let error = open(persistence).expect_err("missing");
        assert_eq!(error.as_io().map(|(_, source)| source.kind()), Some(std::io::ErrorKind::NotFound));
    }
}

#[test]
fn an_id_that_the_session_has_is_a_wrong_argument() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    let entry = NewEntry { id: Some("a"), ..NewEntry::new(EntryKind::Custom, NOTE, 0.0) };
    assert_eq!(refused(&mut session, &entry), (ErrorCode::InvalidArgument, "An entry has the id a already".into()));
}

#[test]
fn the_index_has_of_an_appended_entry_what_a_file_gives() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    let new: [(EntryKind, &[u8]); 6] = [
        (EntryKind::Message, br#"{"message":{"role":"assistant","content":null}}"#),
        (EntryKind::Message, br#"{"message":5}"#),
        (EntryKind::Compaction, br#"{"summary":"s","firstKeptEntryId":"a","tokensBefore":1}"#),
        (EntryKind::Label, br#"{"targetId":"a","label":"l"}"#),
        (EntryKind::BranchSummary, br#"{"fromId":"a","summary":"s"}"#),
        (EntryKind::Custom, b"{ }"),
    ];
    for (kind, own) in new {
        session.append(&NewEntry::new(kind, own, 0.0)).expect("appended");
    }
    let heads = |session: &Session| {
        let rows = session.tree().rows().iter();
        rows.map(|row| (row.kind, row.message, row.target, row.sets_label, row.has_summary)).collect::<Vec<_>>()
    };
    let again = opened(&world.path);
    assert_eq!((heads(&again), again.index().damaged().len()), (heads(&session), 0));
}

#[test]
fn a_session_whose_entries_the_caller_keeps_needs_a_plan() {
    let mut session = Session::new(b"s".to_vec(), Persistence::Memory, None);
    let (code, _) = refused(&mut session, &NewEntry::new(EntryKind::Custom, NOTE, 0.0));
    assert_eq!(code, ErrorCode::InvalidArgument);
}
