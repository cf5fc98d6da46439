//! Texts that go, those that need not because what the index has is dear, and those that wait.

use super::*;
use crate::catalog::purge::purge;
use crate::testing::tests::wait_for_next_file_time;

/// The numbers of the sessions' rows and of their rows of texts, in the order of their names.
fn numbers(sessions: &SessionsDir) -> Vec<(i64, i64, i64)> {
    let db = sessions.db();
    let mut rows = db
        .prepare(
            "SELECT s.id, t.id, t.is_indexed FROM session AS s JOIN text AS t ON t.session = s.id ORDER BY name, 2",
        )
        .expect("prepared");
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("asked");
    rows.collect::<Result<_, _>>().expect("read")
}

/// Sessions of which one has several rows of texts.
fn said() -> SessionsDir {
    let sessions = SessionsDir::new();
    sessions.say("a", &["hello a"]);
    let long: Vec<String> = (0..40).map(|n| format!("hello {n} {}", "filler ".repeat(1_000))).collect();
    sessions.say("b", &long);
    sessions.say("c", &["hello c", "and more"]);
    assert_eq!(sessions.found("hello").len(), 42);
    sessions
}

/// Regression: another file mode made the whole index be deleted.
#[cfg(unix)]
#[test]
fn another_file_mode_leaves_the_index() {
    use std::os::unix::fs::PermissionsExt;
    let sessions = said();
    let before = numbers(&sessions);
    assert!(before.len() > 5 && before.iter().all(|(.., is_indexed)| *is_indexed == 1));
    wait_for_next_file_time();
    for name in ["a", "b", "c"] {
        fs::set_permissions(sessions.path(name), fs::Permissions::from_mode(0o640)).expect("set");
    }
    // First by what is done after a list, then by a search.
    sessions.list_into_catalog();
    sessions.ingest();
    assert_eq!(numbers(&sessions), before);
    wait_for_next_file_time();
    fs::hard_link(sessions.path("b"), sessions.dir.path().join("backup")).expect("linked");
    assert_eq!(sessions.found("hello").len(), 42);
    assert_eq!(numbers(&sessions), before);
    assert_eq!(sessions.count("SELECT value FROM counter WHERE name = 'pending_checkpoints'"), 0);
}

#[test]
fn the_texts_of_a_copy_in_a_files_place_are_taken_anew_and_no_others() {
    let sessions = said();
    let before = numbers(&sessions);
    wait_for_next_file_time();
    let copy = sessions.dir.path().join("copy");
    let line = r#"{"type":"message","id":"m","message":{"role":"user","content":"hello again","timestamp":7}}"#;
    let bytes = fs::read_to_string(sessions.path("b")).expect("read");
    fs::write(&copy, format!("{bytes}{line}\n")).expect("written");
    fs::rename(&copy, sessions.path("b")).expect("renamed");
    assert_eq!(sessions.found("hello").len(), 43);
    let after = numbers(&sessions);
    let kept = |(session, ..): &&(i64, i64, i64)| after.iter().any(|(other, ..)| other == session);
    let rows_of_others = before.iter().filter(kept).filter(|number| after.contains(number)).count();
    assert_eq!(rows_of_others, 2, "{before:?} {after:?}");
}

#[test]
fn texts_of_a_file_that_says_something_else_now_go() {
    for (old, new) in [("secret1", "public2"), ("secret1", "x"), ("secret1", "longer than what was there")] {
        let sessions = said();
        sessions.say("c", &["hello c", old, "more"]);
        assert_eq!(sessions.found("secret1").len(), 1);
        wait_for_next_file_time();
        sessions.say("c", &["hello c", new, "more"]);
        sessions.list_into_catalog();
        // Between the list and what follows it the texts do not count.
        assert_eq!(sessions.asked("secret1", None, &never()).expect("not cancelled").len(), 0);
        sessions.ingest();
        assert_eq!(sessions.found("secret1").len(), 0);
        assert_eq!(sessions.found(new).len(), 1);
        sessions.ingest();
        assert_eq!(sessions.count("SELECT count(*) FROM word WHERE word LIKE 'secret%'"), 0);
        for ending in ["", "-wal"] {
            let file = format!("{}{ending}", sessions.location.path.display());
            assert!(!holds(Path::new(&file), "secret1"), "{file}");
        }
    }
}

/// Regression: a replaced file was answered from its old row where the catalog could not be written.
#[test]
fn a_replaced_file_is_read_where_the_catalog_cannot_be_written() {
    let sessions = said();
    // Neither its first nor its last 4 KB, nor its size, tell that it was replaced.
    let filler = "filler ".repeat(1_000);
    let texts = |middle: &str| ["hello c".into(), filler.clone(), middle.to_owned(), filler.clone()];
    sessions.say("c", &texts("old words"));
    assert_eq!(sessions.found("old words").len(), 1);
    wait_for_next_file_time();
    sessions.say("c", &texts("new words"));
    let other = sessions.db();
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    sessions.list_into_catalog();
    assert_eq!(sessions.found("old words").len(), 0);
    assert_eq!(sessions.found("new words").len(), 1);
    other.execute_batch("COMMIT").expect("unlocked");
    assert_eq!(sessions.found("old words").len(), 0);
    assert_eq!(sessions.found("new words").len(), 1);
}

#[test]
fn a_last_line_without_its_newline_is_searched_in_its_file_until_it_has_one() {
    let sessions = SessionsDir::new();
    sessions.say("a", &["hello one", "hello tail"]);
    let whole = fs::read_to_string(sessions.path("a")).expect("read");
    fs::write(sessions.path("a"), whole.trim_end()).expect("written");
    for (more, indexed) in [("", 0), ("\n", 1)] {
        let mut file = fs::OpenOptions::new().append(true).open(sessions.path("a")).expect("opened");
        std::io::Write::write_all(&mut file, more.as_bytes()).expect("written");
        wait_for_next_file_time();
        for _ in 0..2 {
            assert_eq!(sorted(sessions.found("hello")), ["<hello> one", "<hello> tail"], "{more:?}");
        }
        assert_eq!(sessions.count("SELECT count(*) FROM word WHERE word = 'tail'"), indexed, "{more:?}");
    }
}

#[test]
fn a_purge_that_was_stopped_is_finished_by_the_next_one() {
    let sessions = SessionsDir::new();
    let texts: Vec<String> = (0..3_000).map(|n| format!("secretive{n} {}", "and much more ".repeat(40))).collect();
    sessions.say("gone", &texts);
    sessions.say("kept", &["kept"]);
    assert_eq!(sessions.found("kept").len(), 1);
    fs::remove_file(sessions.path("gone")).expect("removed");
    sessions.list_into_catalog();
    let mut catalog = Catalog::open(&sessions.location).expect("opened");
    purge(&mut catalog, &AtomicBool::new(true)).expect("stopped");
    assert!(sessions.count("SELECT count(*) FROM text") > 1, "nothing is deleted yet");
    assert!(sessions.count("SELECT value FROM counter WHERE name = 'pending_checkpoints'") > 0, "the purge is pending");
    drop(catalog);
    sessions.ingest();
    assert_eq!(sessions.count("SELECT count(*) FROM text"), 1);
    assert_eq!(sessions.count("SELECT count(*) FROM word"), 1);
    assert_eq!(sessions.count("SELECT value FROM counter WHERE name = 'pending_checkpoints'"), 0);
    for ending in ["", "-wal"] {
        let file = format!("{}{ending}", sessions.location.path.display());
        assert!(!holds(Path::new(&file), "secretive"), "{file}");
    }
}

/// Regression: searches that began together each indexed everything.
#[test]
fn searches_that_begin_together_index_everything_once() {
    let sessions = SessionsDir::new();
    for name in 0..20 {
        let texts: Vec<String> = (0..200).map(|n| format!("hello {name} {n} {}", "filler ".repeat(50))).collect();
        sessions.say(&format!("s{name}"), &texts);
    }
    wait_for_next_file_time();
    let files = sessions.files();
    let begins = std::sync::Barrier::new(6);
    let told = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                begins.wait();
                let count = Mutex::new(0);
                let request = Request {
                    files: &files,
                    takes: &|_| true,
                    query: &Query::of("hello").expect("a query"),
                    options: &SearchOptions { limit: 10_000, mark: ["<".into(), ">".into()] },
                    location: Some(&sessions.location),
                    cancelled: &never(),
                    progress: &|_, _| *count.lock().expect("held") += 1,
                };
                assert_eq!(request.run().expect("read").expect("not cancelled").0.len(), 4_000);
                told.lock().expect("held").push(count.into_inner().expect("held"));
            });
        }
    });
    // Who finds the work done tells of its beginning and its end alone, if of anything. Who takes over what is left of it,
    // of that. Six times the 20 sessions would be 120.
    let told = told.into_inner().expect("held");
    assert!(told.iter().sum::<usize>() < 60, "{told:?}");
}
