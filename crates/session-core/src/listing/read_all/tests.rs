use std::fs;

use super::*;
use crate::base::packed::{pack, unpack};
use crate::summary::listed_text::{text, ListedState};
use crate::summary::session_summary::SessionSummary;
use crate::testing::tests::{count, refused, wait_for_next_file_time, Refusal, SessionsDir};
use proptest::prelude::*;
use std::time::Duration;

fn session(id: &str, body: &str) -> String {
    format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":\"/c\"}}\n{body}")
}

fn said(id: &str, role: &str, text: &str) -> String {
    format!("{{\"type\":\"message\",\"id\":\"{id}\",\"message\":{{\"role\":\"{role}\",\"content\":\"{text}\",\"timestamp\":7}}}}\n")
}

impl SessionsDir {
    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).expect("written");
    }

    fn append(&self, name: &str, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).open(self.dir.path().join(name)).expect("opened");
        io::Write::write_all(&mut file, text.as_bytes()).expect("written");
    }

    /// The listed sessions by name.
    fn list(&self, location: Option<&CatalogLocation>) -> HashMap<String, Option<ListedSession>> {
        let files = self.files();
        let seen = Mutex::new(HashMap::new());
        read_all(&files, location, None, &AtomicBool::new(false), &|at, listed| {
            assert!(seen.lock().expect("whole").insert(files[at].name.clone(), listed).is_none());
        })
        .expect("read");
        seen.into_inner().expect("whole")
    }

    /// The names of the files with a row in the catalog, sorted.
    fn in_catalog(&self) -> Vec<String> {
        let catalog = Catalog::open(&self.location).expect("made");
        let rows = rows::in_dir(catalog.db(), &self.files()[0].dir).expect("asked");
        let mut names: Vec<_> = rows.into_keys().collect();
        names.sort_unstable();
        names
    }
}

#[test]
fn every_file_is_handed_on_once() {
    let sessions = SessionsDir::new();
    for n in 0..50 {
        sessions.write(&format!("{n}.jsonl"), &if n % 7 == 0 { "junk".into() } else { session("s", "") });
    }
    for location in [None, Some(&sessions.location), Some(&sessions.location)] {
        let seen = sessions.list(location);
        assert_eq!((seen.len(), seen.values().flatten().count()), (50, 42));
        wait_for_next_file_time();
    }
}

#[test]
fn a_cancelled_reading_stops() {
    let sessions = SessionsDir::new();
    (0..20).for_each(|n| sessions.write(&format!("{n}.jsonl"), &session("s", "")));
    let files = sessions.files();
    read_all(&files, Some(&sessions.location), None, &AtomicBool::new(true), &|_, _| panic!("nothing should be read"))
        .expect("read");
    assert!(!sessions.location.path.exists());
}

#[test]
fn a_catalog_that_another_one_writes_to_changes_no_answer() {
    let sessions = SessionsDir::new();
    sessions.write("a.jsonl", &session("a", &said("m", "user", "hi")));
    wait_for_next_file_time();
    let want = sessions.list(Some(&sessions.location));
    let other = rusqlite::Connection::open(&sessions.location.path).expect("opened");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    sessions.write("b.jsonl", &session("b", ""));
    for _ in 0..2 {
        let seen = sessions.list(Some(&sessions.location));
        assert_eq!((seen.len(), seen["a.jsonl"].clone()), (2, want["a.jsonl"].clone()));
    }
    other.execute_batch("ROLLBACK").expect("unlocked");
    assert_eq!(sessions.in_catalog(), ["a.jsonl"], "nothing could be written");
    sessions.list(Some(&sessions.location));
    assert_eq!(sessions.in_catalog(), ["a.jsonl", "b.jsonl"]);
}

#[test]
fn nobody_is_kept_from_writing_while_files_are_read() {
    let sessions = SessionsDir::new();
    (0..8).for_each(|n| sessions.write(&format!("{n}.jsonl"), &session("s", "")));
    wait_for_next_file_time();
    sessions.list(Some(&sessions.location));
    (0..8).for_each(|n| sessions.write(&format!("{n}.jsonl"), &session("t", &said("m", "user", "hi"))));
    let files = sessions.files();
    let left = AtomicUsize::new(files.len());
    // One at a time, so that they do not prevent each other from writing.
    let turn = Mutex::new(());
    read_all(&files, Some(&sessions.location), None, &AtomicBool::new(false), &|_, _| {
        // The last call comes after everything is written.
        let _turn = turn.lock().expect("whole");
        if left.fetch_sub(1, Ordering::SeqCst) > 1 {
            let other = rusqlite::Connection::open(&sessions.location.path).expect("opened");
            other.busy_timeout(Duration::ZERO).expect("set");
            other.execute_batch("BEGIN IMMEDIATE; ROLLBACK").expect("not locked");
        }
    })
    .expect("read");
}

/// Regression: a list wrote the row of a file that a redaction had replaced since, and the catalog had the text again.
#[test]
fn what_was_read_of_a_file_that_was_replaced_since_is_not_cached() {
    for grows in [false, true] {
        loop {
            let sessions = SessionsDir::new();
            (0..8).for_each(|n| sessions.write(&format!("{n}.jsonl"), &session("s", &said("m", "user", "hunter2"))));
            let files = sessions.files();
            let is_changed = AtomicBool::new(false);
            read_all(&files, Some(&sessions.location), None, &AtomicBool::new(false), &|at, _| {
                // The last file is passed on after everything is written. Then the list is made again.
                if at != 0 || sessions.location.path.exists() {
                    return;
                }
                if grows {
                    sessions.append("0.jsonl", &said("n", "user", "more"));
                } else {
                    sessions.write("new", &session("s", &said("m", "user", "[redacted]")));
                    fs::rename(sessions.dir.path().join("new"), &files[at].path).expect("renamed");
                }
                is_changed.store(true, Ordering::SeqCst);
            })
            .expect("read");
            if is_changed.load(Ordering::SeqCst) {
                assert_eq!(sessions.in_catalog().contains(&"0.jsonl".to_owned()), grows);
                assert_eq!(sessions.in_catalog().len(), 7 + usize::from(grows));
                break;
            }
        }
    }
}

#[test]
fn a_catalog_that_has_no_room_changes_no_answer() {
    let sessions = SessionsDir::new();
    sessions.write("a.jsonl", &session("a", &said("m", "user", "hi")));
    wait_for_next_file_time();
    sessions.list(Some(&sessions.location));
    let catalog = Catalog::open(&sessions.location).expect("made");
    let pages: i64 = catalog.db().query_row("PRAGMA page_count", [], |row| row.get(0)).expect("asked");
    catalog.db().pragma_update(None, "max_page_count", pages).expect("set");
    for n in 0..200 {
        sessions.write(&format!("{n}.jsonl"), &session("s", &said("m", "user", &"long ".repeat(400))));
    }
    let files = sessions.files();
    let seen = Mutex::new(0);
    let never = AtomicBool::new(false);
    read(&files, Some(catalog), Some(&sessions.location), None, &never, &|_, listed| {
        *seen.lock().expect("whole") += usize::from(listed.is_some());
    })
    .expect("read");
    assert_eq!(seen.into_inner().expect("whole"), 201);
    assert_eq!(sessions.in_catalog(), ["a.jsonl"], "the disk was full");
    wait_for_next_file_time();
    let seen = sessions.list(Some(&sessions.location));
    assert_eq!((seen.len(), sessions.in_catalog().len()), (201, 201));
}

#[test]
fn a_text_is_what_was_listed() {
    let sessions = SessionsDir::new();
    let body: String = (0..3000)
        .map(|n| said(&n.to_string(), if n % 3 == 0 { "toolResult" } else { "user" }, &format!("{n} \\ud83d")))
        .collect();
    sessions.write("a.jsonl", &session("a", &body));
    let seen = sessions.list(None);
    let source = ListedState::of(seen["a.jsonl"].as_ref().expect("a session"));
    assert_eq!(ListedState::from_text(&source.to_text()), Some(source));
    let path = sessions.dir.path().join("a.jsonl");
    let mut all = vec![1, 2, 3];
    text(&path, &source, &[], &mut all);
    assert!(all.starts_with(b"1 \xED\xA0\xBD 2 \xED\xA0\xBD 4") && all.len() > 15_000);
    fs::remove_file(&path).expect("removed");
    text(&path, &source, &[], &mut all);
    assert_eq!(all, b"");
}

/// The text of a.jsonl at the time of the list.
fn text_of_a(sessions: &SessionsDir, source: &ListedState) -> String {
    let mut all = Vec::new();
    text(&sessions.dir.path().join("a.jsonl"), source, &[], &mut all);
    String::from_utf8(all).expect("text")
}

/// Regression: if a last line was continued, its old text stayed in the catalog.
#[test]
fn a_last_line_that_goes_on_leaves_no_old_text() {
    for (more, want) in [
        ("fused\n", "one"),
        ("fused", "one"),
        ("\n", "one tail"),
        ("\n{\"type\":\"message\",\"id\":\"n\",\"message\":{\"role\":\"user\",\"content\":\"two\"}}", "one tail two"),
    ] {
        let sessions = SessionsDir::new();
        let before = session("a", &(said("m", "user", "one") + &said("n", "user", "tail")));
        sessions.write("a.jsonl", before.trim_end());
        sessions.list(Some(&sessions.location));
        sessions.append("a.jsonl", more);
        let seen = sessions.list(Some(&sessions.location));
        let source = ListedState::of(seen["a.jsonl"].as_ref().expect("a session"));
        assert_eq!(text_of_a(&sessions, &source), want, "{more}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_text_stays_what_was_listed_however_the_file_grows(sizes in proptest::collection::vec(0usize..90, 1..8)) {
        let sessions = SessionsDir::new();
        let lines: String = (0..9).map(|n| said(&n.to_string(), "user", &format!("text {n}"))).collect();
        sessions.write("a.jsonl", &session("a", ""));
        let (mut at, mut listed) = (0, Vec::new());
        for size in sizes {
            let more = &lines[at..(at + size).min(lines.len())];
            at += more.len();
            sessions.append("a.jsonl", more);
            let seen = sessions.list(Some(&sessions.location));
            let source = ListedState::of(seen["a.jsonl"].as_ref().expect("a session"));
            listed.push((source, text_of_a(&sessions, &source)));
            for (source, want) in &listed {
                prop_assert_eq!(&text_of_a(&sessions, source), want);
            }
        }
    }
}

/// Regression: names and first messages of deleted sessions stayed in the catalog's files.
#[test]
fn what_the_catalog_has_of_a_deleted_session_leaves_its_files() {
    let sessions = SessionsDir::new();
    sessions.write("a.jsonl", &session("a", &said("m", "user", "kept")));
    sessions.write("b.jsonl", &session("b", &said("m", "user", "secret message")));
    sessions.list(Some(&sessions.location));
    let holds_secret = || {
        let bytes = |end: &str| fs::read(format!("{}{end}", sessions.location.path.display())).unwrap_or_default();
        [bytes(""), bytes("-wal")].concat().windows(6).any(|part| part == b"secret")
    };
    assert!(holds_secret());
    fs::remove_file(sessions.dir.path().join("b.jsonl")).expect("removed");
    sessions.list(Some(&sessions.location));
    assert!(!holds_secret());
}

/// The ids of the rows that can be unpacked, by name.
fn unpacked_rows(sessions: &SessionsDir, refusal: Refusal) -> HashMap<String, Option<i64>> {
    let catalog = Catalog::open(&sessions.location).expect("not deleted");
    let files = sessions.files();
    let rows = refused(refusal, || rows::in_dir(catalog.db(), &files[0].dir)).expect("asked");
    rows.into_iter().map(|(name, row)| (name, row.map(|row| row.row))).collect()
}

const NOTHING: Refusal = Refusal { size: usize::MAX, after: 0 };

/// Regression: refused memory for a row counted as a corrupt catalog, which was deleted.
#[test]
fn a_row_that_cannot_be_unpacked_says_nothing_about_the_others() {
    let sessions = SessionsDir::new();
    sessions.write("a.jsonl", &session("a", &said("m", "user", "hi")));
    sessions.write("b.jsonl", &session("b", &said("m", "user", &"long ".repeat(40_000))));
    let want = sessions.list(Some(&sessions.location));
    let before = unpacked_rows(&sessions, NOTHING);
    let refused = unpacked_rows(&sessions, Refusal { size: 100_000, after: 0 });
    assert_eq!((refused["a.jsonl"], refused["b.jsonl"]), (before["a.jsonl"], None));
    // A damaged row is replaced, and the other one stays.
    let catalog = Catalog::open(&sessions.location).expect("made");
    catalog.db().execute("UPDATE session SET file = x'ff' WHERE name = 'b.jsonl'", []).expect("written");
    wait_for_next_file_time();
    let seen = sessions.list(Some(&sessions.location));
    assert_eq!(seen["b.jsonl"], want["b.jsonl"]);
    let after = unpacked_rows(&sessions, NOTHING);
    assert!(after["b.jsonl"].is_some() && after["b.jsonl"] != before["b.jsonl"]);
    let catalog = Catalog::open(&sessions.location).expect("made");
    catalog.db().execute("UPDATE session SET file = x'ff' WHERE name = 'b.jsonl'", []).expect("written");
    fs::remove_file(sessions.dir.path().join("b.jsonl")).expect("removed");
    sessions.list(Some(&sessions.location));
    assert_eq!(sessions.in_catalog(), ["a.jsonl"]);
}

/// Regression: memory that was refused while a row was unpacked ended the process.
#[test]
fn each_allocation_for_a_row_can_be_refused() {
    for parent in ["\"/parent\"", "[\"no path\"]"] {
        let text = format!(
            r#"{{"type":"session","version":3,"id":"s","cwd":"/c","timestamp":"2025-01-01T00:00:00.000Z","parentSession":{parent}}}
{{"type":"session_info","id":"n","name":"name"}}
{{"type":"message","id":"u","timestamp":"Jan 5 2031","message":{{"role":"user","content":"hi"}}}}
{{"type":"message","id":"a","timestamp":"2025-01-01T00:00:00.000Z","message":{{"role":"assistant","model":"m","usage":{{"input":1}}}}}}
"#
        );
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), &text).expect("written");
        let from = SummaryProgress::default();
        let read = read_on(file.as_file(), text.len() as u64, from, &mut Box::default(), &[], &mut |_| Ok(()));
        let read = read.expect("read").expect("not cancelled");
        let packed = pack(&(&read, &read.usage)).expect("memory");
        let unpacked =
            |after| refused(Refusal { size: 0, after }, || unpack::<(SummaryProgress, SessionUsage)>(&packed));
        let needed = (0..100).find(|after| unpacked(*after).is_some()).expect("unpacked");
        // The texts of the summary, its list and set of dates; the lists of the usage that are not empty, and the name
        // of the model.
        assert_eq!(needed, 6 + 1 + 2 + 3 + 1);
    }
}

/// Regression: rows of directories without sessions stayed in the catalog.
#[test]
fn the_rows_of_directories_without_sessions_are_deleted() {
    let (gone, sessions) = (SessionsDir::new(), SessionsDir::new());
    gone.write("a.jsonl", &session("a", ""));
    sessions.write("b.jsonl", &session("b", ""));
    gone.list(Some(&sessions.location));
    let dirs = || -> i64 {
        sessions.list(Some(&sessions.location));
        let catalog = Catalog::open(&sessions.location).expect("made");
        catalog.db().query_row("SELECT count(DISTINCT dir) FROM session", [], |row| row.get(0)).expect("asked")
    };
    assert_eq!(dirs(), 2);
    fs::remove_file(gone.dir.path().join("a.jsonl")).expect("removed");
    assert_eq!(dirs(), 1);
}

/// Regression: a list that was aborted cached nothing.
#[test]
fn a_list_that_is_aborted_caches_what_it_has_read() {
    let sessions = SessionsDir::new();
    (0..40).for_each(|n| sessions.write(&format!("{n}.jsonl"), &session(&n.to_string(), &said("m", "user", "hi"))));
    let files = sessions.files();
    let (cancelled, given) = (AtomicBool::new(false), AtomicUsize::new(0));
    read_all(&files, Some(&sessions.location), None, &cancelled, &|_, _| {
        cancelled.store(given.fetch_add(1, Ordering::SeqCst) >= 9, Ordering::SeqCst);
    })
    .expect("read");
    let known = sessions.in_catalog().len();
    assert!((10..40).contains(&known), "{known}");
}

#[test]
fn the_first_file_of_the_list_is_read_first_then_the_largest() {
    let sessions = SessionsDir::new();
    for (name, size) in [("a", 10), ("b", 500), ("c", 9_000), ("d", 70)] {
        sessions.write(&format!("{name}.jsonl"), &session(name, &"\n".repeat(size)));
    }
    let files = sessions.files();
    let mut jobs: Vec<_> =
        files.iter().enumerate().map(|(at, file)| Job { at, file, row: None, usage: None }).collect();
    in_reading_order(&mut jobs);
    assert_eq!(
        jobs.iter().map(|job| job.file.name.as_str()).collect::<Vec<_>>(),
        ["a.jsonl", "c.jsonl", "b.jsonl", "d.jsonl"]
    );
}

/// Valid lines, and lines with errors.
fn lines() -> impl Strategy<Value = String> {
    let text = prop::sample::select(vec![
        "",
        "a",
        "\\n",
        "\\ud83d",
        "é",
        "\u{1}",
        "\\x",
        "\\u0041",
        "long \\\" text \\\\ of some length, so that blocks are filled",
    ]);
    let role = prop::sample::select(vec!["\"user\"", "\"assistant\"", "\"toolResult\"", "\"us\\u0065r\"", "5"]);
    let time = prop::sample::select(vec!["7", "\"2024-01-01T00:00:00.000Z\"", "\"Jan 5 2031\"", "null", "1e999", "[]"]);
    let content = (text, 0..7).prop_map(|(text, blocks)| match blocks {
        1 => format!("[ {{ \"data\" : \"{text}\" , \"type\":\"text\",\"text\":\"{text}\"}} , 5,[\"{text}\"],{{}}]"),
        2 => format!("[{{\"type\":\"text\",\"text\":\"{text}\",\"data\":{{\"data\":\"{text}\"}},\"d\\u0061ta\":7}}]"),
        3 => format!("[{{\"type\":\"image\",\"data\":\"{text}}},{{\"type\":\"text\",\"text\":\"{text}\"}}]"),
        4 => String::from("[ ]"),
        5 | 6 => format!("[{{\"type\":\"text\",\"text\":\"{text}\"}},{{\"type\":\"image\",\"data\":\"{text}\"}}]"),
        _ => format!("\"{text}\""),
    });
    let message = (role, content.clone(), time.clone(), 0..5).prop_map(|(role, content, time, form)| match form {
        0 => format!("{{\"content\":{content},\"role\":{role}}}"),
        1 => format!("{{\"role\":{role},\"content\":{content},\"role\":\"user\",\"timestamp\":{time}}}"),
        2 => format!("{{ \"role\" : {role} ,\t\"content\":null }}"),
        3 => "[]".to_owned(),
        _ => format!("{{\"role\":{role},\"content\":{content},\"timestamp\":{time}}}"),
    });
    let kind = prop::sample::select(vec!["\"message\"", "\"session_info\"", "\"mess\\u0061ge\"", "\"custom\"", "7"]);
    let id = prop::sample::select(vec![
        "\"id\":\"x\",",
        "\"id\":7,",
        "",
        "\"\\u0069d\":\"y\",",
        "\"id\":\"x\",\"id\":null,",
    ]);
    let line = (kind, id, message, time, content, prop::sample::select(vec!["", "x", "}", " ", "\r", ","])).prop_map(
        |(kind, id, message, time, name, end)| {
            format!("{{\"type\":{kind},{id}\"timestamp\":{time},\"message\":{message},\"name\":{name}}}{end}")
        },
    );
    let other =
        prop::sample::select(vec!["", "torn {", "[1]", "{}", "{\"a\":1,}", "null", " "]).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![8 => line, 1 => other], 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("session_lines")))]

    #[test]
    fn skimming_shows_what_whole_lines_show(body in lines(), ended in any::<bool>(), version in 1..4) {
        let mut text = format!("{{\"type\":\"session\",\"version\":{version},\"id\":\"s\"}}\n{body}");
        if ended {
            text.push('\n');
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), &text).expect("written");
        let found = read_on(file.as_file(), text.len() as u64, SummaryProgress::default(), &mut Box::default(), &[], &mut |_| Ok(()));
        let found = found.expect("read").expect("not cancelled");
        let slowly = SessionSummary::of_lines(&text);
        prop_assert_eq!(found.kind.into_summary(), slowly.clone());
        // Continuing from any line has the same result.
        let Some(first) = text.find('\n').filter(|at| at + 1 < text.len()) else { return Ok(()) };
        let middle = text[first + 1..].find('\n').map_or(first + 1, |at| first + at + 2);
        let half = read_on(file.as_file(), middle as u64, SummaryProgress::default(), &mut Box::default(), &[], &mut |_| Ok(()));
        let half = half.expect("read").expect("not cancelled");
        let whole = read_on(file.as_file(), text.len() as u64, half, &mut Box::default(), &[], &mut |_| Ok(()));
        let whole = whole.expect("read").expect("not cancelled");
        prop_assert_eq!(whole.kind.into_summary(), slowly);
    }
}
