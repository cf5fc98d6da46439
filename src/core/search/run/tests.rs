//! Searches from their beginning, on catalogs that others lock, change and harm.

use std::fs;
use std::path::Path;

use super::*;
use crate::catalog::background::ingest_pending;
use crate::catalog::session_text;
use crate::catalog::text_rows::MAX_TEXT_BYTES;
use crate::listing::read_all::read_all;
use crate::testing::tests::SessionsDir;

mod corrupt;
mod gone;

impl SessionsDir {
    /// Writes a session with these texts, said by a user.
    fn say<T: AsRef<str>>(&self, name: &str, texts: &[T]) {
        let line = |text: &T| {
            let text = serde_json::to_string(text.as_ref()).expect("json");
            format!(r#"{{"type":"message","id":"m","message":{{"role":"user","content":{text},"timestamp":7}}}}"#)
        };
        let header = format!(r#"{{"type":"session","version":3,"id":"{name}","cwd":"/c"}}"#);
        let lines: Vec<String> = std::iter::once(header).chain(texts.iter().map(line)).collect();
        fs::write(self.path(name), lines.join("\n") + "\n").expect("written");
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(format!("{name}.jsonl"))
    }

    /// The snippets of a search's hits, or nothing if it was cancelled.
    fn asked(
        &self,
        query: &str,
        location: Option<&CatalogLocation>,
        cancelled: &Arc<AtomicBool>,
    ) -> Option<Vec<String>> {
        let request = Request {
            files: &self.files(),
            takes: &|_| true,
            query: &Query::of(query).expect("a query"),
            options: &SearchOptions { limit: 30_000, mark: ["<".into(), ">".into()] },
            location,
            cancelled,
            progress: &|_, _| {},
        };
        let found = request.run().expect("an answer")?.0;
        Some(found.into_iter().map(|one| one.hit.snippet).collect())
    }

    fn found(&self, query: &str) -> Vec<String> {
        self.asked(query, Some(&self.location), &never()).expect("not cancelled")
    }

    /// The ids of the sessions with hits, without a catalog.
    fn found_in_files(&self, query: &str) -> Vec<String> {
        self.asked(query, None, &never()).expect("not cancelled")
    }

    fn sql(&self, sql: &str) {
        self.db().execute_batch(sql).expect("done");
    }

    fn db(&self) -> Connection {
        Connection::open(&self.location.path).expect("opened")
    }

    fn count(&self, sql: &str) -> i64 {
        self.db().query_row(sql, [], |row| row.get(0)).expect("counted")
    }

    /// What is left to do when a search or a list has answered.
    fn ingest(&self) {
        ingest_pending(Catalog::open(&self.location).expect("opened"), &self.location, &never());
    }

    fn list_into_catalog(&self) {
        read_all(&self.files(), Some(&self.location), &never(), &|_, _| {}).expect("listed");
    }
}

fn never() -> Arc<AtomicBool> {
    Arc::default()
}

fn sorted(mut all: Vec<String>) -> Vec<String> {
    all.sort_unstable();
    all
}

/// Regression: a search missed what another list had put a new row for.
#[test]
fn a_search_finds_what_another_list_has_put_a_new_row_for() {
    let sessions = SessionsDir::new();
    sessions.say("a", &["found"]);
    let files = sessions.files();
    let disturbs = |_: usize, _: usize| {
        sessions.sql("DELETE FROM session");
        read_all(&files, Some(&sessions.location), &never(), &|_, _| {}).expect("read").expect("listed");
    };
    let request = Request {
        files: &files,
        takes: &|_| true,
        query: &Query::of("found").expect("a query"),
        options: &SearchOptions { limit: 9, mark: ["<".into(), ">".into()] },
        location: Some(&sessions.location),
        cancelled: &never(),
        progress: &disturbs,
    };
    let (found, _catalog) = request.run().expect("an answer").expect("not cancelled");
    assert_eq!(found.iter().map(|one| one.hit.snippet.as_str()).collect::<Vec<_>>(), ["<found>"]);
    assert!(fs::metadata(&sessions.location.path).is_ok(), "the catalog is whole and stays");
}

/// Regression: a search waited ten seconds for a lock and then read everything anew.
#[test]
fn a_search_beside_a_lock_reads_only_what_is_new_from_files() {
    let sessions = SessionsDir::new();
    sessions.say("old", &["hello old"]);
    assert_eq!(sessions.found("hello"), ["<hello> old"]);
    let other = sessions.db();
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    sessions.say("new", &["hello new"]);
    // The new one is read from its file: the lock stays.
    assert_eq!(sorted(sessions.found("hello")), ["<hello> new", "<hello> old"]);
    assert_eq!(sessions.found("hello new"), ["<hello> <new>"]);
    other.execute_batch("COMMIT").expect("unlocked");
    assert_eq!(sorted(sessions.found("hello")), ["<hello> new", "<hello> old"]);
}

/// Regression: a part of a word was searched for in only the thousand shortest words.
#[test]
fn a_part_of_a_word_is_searched_for_in_all_words() {
    let sessions = SessionsDir::new();
    let noise: Vec<String> = (0..2_600).map(|n| format!("contr{n:x}")).collect();
    sessions.say("noise", &[noise.join(" ")]);
    sessions.say("target", &["a thecontrollersarehere needles"]);
    for query in ["ontr eedl", "ontrollersare eedl", "contr needle", "ontrol", "ollersarehere"] {
        assert_eq!(sessions.found(query).len(), 1, "{query}");
    }
    assert_eq!(sessions.found("ontr").len(), 2);
}

/// Regression: a text was missed after twenty thousand newer ones with its words.
#[test]
fn a_text_is_found_after_twenty_thousand_newer_ones_with_its_words() {
    let sessions = SessionsDir::new();
    sessions.say("old", &["see foo.bar here"]);
    assert_eq!(sessions.found("foo.bar").len(), 1);
    let newer: Vec<String> = (0..20_001).map(|n| format!("foo bar {n}")).collect();
    sessions.say("new", &newer);
    assert_eq!(sessions.found("foo.bar"), ["see <foo.bar> here"]);
    assert_eq!(sessions.found("foo bar").len(), 20_002);
    assert_eq!(sessions.found("oo.ba"), ["see f<oo.ba>r here"]);
}

#[test]
fn every_text_that_holds_a_query_is_found_by_index_and_files_alike() {
    let mut state = 20_251_121u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let syllables = ["get", "set", "ses", "man", "fac", "tor", "con", "trol", "日本", "é", ".", "_", "x1"];
    let mut texts = Vec::new();
    for _ in 0..300 {
        let word = |random: &mut dyn FnMut(usize) -> usize| -> String {
            (0..1 + random(6)).map(|_| syllables[random(syllables.len())]).collect()
        };
        let words: Vec<String> = (0..1 + random(30)).map(|_| word(&mut random)).collect();
        texts.push(words.join(" "));
    }
    let sessions = SessionsDir::new();
    for (n, texts) in texts.chunks(60).enumerate() {
        sessions.say(&format!("s{n}"), texts);
    }
    for _ in 0..120 {
        let whole: Vec<char> = texts[random(texts.len())].chars().collect();
        let mut part = || {
            let from = random(whole.len());
            whole.iter().skip(from).take(1 + random(9)).collect::<String>()
        };
        let query = format!("{} {}", part(), part());
        if query.trim().is_empty() {
            continue;
        }
        let want = texts.iter().filter(|text| query.split_whitespace().all(|term| text.contains(term))).count();
        assert_eq!(sessions.found(&query).len(), want, "{query:?} by the index");
        assert_eq!(sessions.found_in_files(&query).len(), want, "{query:?} in the files");
    }
}

#[test]
fn a_text_beyond_what_the_catalog_takes_is_cut_and_shown_whole() {
    let sessions = SessionsDir::new();
    let text = format!("beginning {} ending", "filler ".repeat(MAX_TEXT_BYTES / 7 + 1));
    sessions.say("long", &[text.as_str(), "short"]);
    assert_eq!(sessions.found("beginning").len(), 1);
    assert_eq!(sessions.found("short").len(), 1);
    assert_eq!(sessions.found("ending").len(), 0);
    assert_eq!(sessions.found_in_files("ending").len(), 0);
    let files = sessions.files();
    let source = Mutex::new(None);
    let take = |_: usize, found: Option<ListedSession>| {
        *source.lock().expect("held") = found.map(|found| session_text::ListedState::of(&found));
    };
    let catalog = read_all(&files, Some(&sessions.location), &never(), &take).expect("read");
    let source = source.into_inner().expect("held").expect("listed");
    let mut all = Vec::new();
    session_text::text(catalog.as_ref(), sessions.dir.path().to_str().expect("text"), "long.jsonl", &source, &mut all);
    assert_eq!(all.len(), text.len() + 1 + "short".len());
}

/// Regression: a first text of hundreds of megabytes was stored whole.
#[test]
fn a_first_text_of_hundreds_of_megabytes_is_not_stored() {
    let sessions = SessionsDir::new();
    sessions.say("giant", &[format!("beginning {}", "filler ".repeat(MAX_TEXT_BYTES / 7)), "needle".into()]);
    sessions.say("small", &["needle too"]);
    for _ in 0..2 {
        assert_eq!(sorted(sessions.found("needle")), ["<needle>", "<needle> too"]);
        assert_eq!(sessions.found("beginning").len(), 1);
        sessions.list_into_catalog();
        sessions.ingest();
    }
    assert_eq!(sessions.count("SELECT count(*) FROM session"), 1);
    assert!(fs::metadata(&sessions.location.path).expect("there").len() < 1 << 20);
    // A file that shrinks is cached again, and one that grows leaves nothing behind.
    sessions.say("giant", &["needle three"]);
    assert_eq!(sessions.found("needle").len(), 2);
    sessions.ingest();
    assert_eq!(sessions.count("SELECT count(*) FROM text"), 2);
    sessions.say("giant", &["needle four ".repeat(1 << 20)]);
    assert_eq!(sessions.found("needle").len(), 2);
    sessions.ingest();
    assert_eq!(sessions.count("SELECT count(*) FROM text"), 1);
}

/// Regression: what was deleted stayed in the catalog.
#[test]
fn what_was_deleted_leaves_the_catalog() {
    let sessions = SessionsDir::new();
    let secrets: Vec<String> = (0..400).map(|n| format!("secretive{n} zq81SECRET{n} key")).collect();
    sessions.say("gone", &secrets);
    sessions.say("kept", &["key kept", "zq81SECRET7 is said here, too"]);
    assert_eq!(sessions.found("key").len(), 401);
    assert_eq!(sessions.found("secretive").len(), 400);
    fs::remove_file(sessions.path("gone")).expect("removed");
    assert_eq!(sessions.found("key").len(), 1);
    sessions.ingest();
    let count = |sql: &str| sessions.count(sql);
    assert_eq!(count("SELECT count(*) FROM text"), 1);
    assert_eq!(count("SELECT count(*) FROM word WHERE word LIKE 'secretive%'"), 0);
    assert_eq!(count("SELECT count(*) FROM word_term WHERE term LIKE 'secretive%'"), 0);
    assert_eq!(count("SELECT count(*) FROM word WHERE word = 'zq81secret7'"), 1);
    for ending in ["", "-wal"] {
        let file = format!("{}{ending}", sessions.location.path.display());
        for what in ["secretive1", "zq81SECRET1", "zq81secret3", "ecretive"] {
            assert!(!holds(Path::new(&file), what), "{what} in {file}");
        }
    }
    assert_eq!(sessions.found("zq81").len(), 1);
    assert_eq!(sessions.found("secretive").len(), 0);
}

fn holds(file: &Path, what: &str) -> bool {
    memchr::memmem::find(&fs::read(file).unwrap_or_default(), what.as_bytes()).is_some()
}

/// Regression: sessions that come and go made the catalog grow.
#[test]
fn sessions_that_come_and_go_leave_no_room_taken_in_the_catalog() {
    let sessions = SessionsDir::new();
    sessions.say("kept", &["kept"]);
    let mut sizes = Vec::new();
    for round in 0..8 {
        let words: Vec<String> = (0..20_000).map(|n| format!("w{round}x{n}")).collect();
        let texts: Vec<String> = words.chunks(100).map(|words| words.join(" ")).collect();
        sessions.say("turned", &texts);
        assert_eq!(sessions.found(&format!("w{round}x77")).len(), 3, "{round}");
        fs::remove_file(sessions.path("turned")).expect("removed");
        assert_eq!(sessions.found("kept").len(), 1);
        ingest_pending(Catalog::open(&sessions.location).expect("opened"), &sessions.location, &never());
        sizes.push(fs::metadata(&sessions.location.path).expect("there").len());
    }
    println!("{sizes:?}");
    assert_eq!(sessions.count("SELECT count(*) FROM word"), 1);
    assert!(sizes[7] <= sizes[1] * 3 / 2, "{sizes:?}");
}

/// Regression: a long query passed over all words once for each term.
#[test]
fn a_long_query_passes_over_all_words_once() {
    let sessions = SessionsDir::new();
    let many: Vec<String> = (0..6_000).map(|n| format!("w{n}")).collect();
    sessions.say("a", &[many.join(" "), many.join("."), "語".repeat(3_000), "q".repeat(70_000)]);
    for size in [63, 64, 65, 1_000, 5_000] {
        assert_eq!(sessions.found(&many[..size].join(" ")).len(), 2, "{size} terms");
        assert_eq!(sessions.found(&many[..size].join(".")).len(), 1, "{size} words in one");
        assert_eq!(
            sessions.found(&format!("{} missing", many[..size].join(" "))).len(),
            0,
            "{size} terms and one more"
        );
    }
    for size in [63, 64, 65, 3_000] {
        assert_eq!(sessions.found(&"語".repeat(size)).len(), 1, "{size} characters");
        assert_eq!(sessions.found(&"q".repeat(size)).len(), 1, "{size} letters");
    }
    assert_eq!(sessions.found(&"語".repeat(3_001)).len(), 0);
    assert_eq!(sessions.found(&many[..4_000].join(".")[1..]).len(), 1, "more than is looked at, from within a word");
    assert_eq!(sessions.found(&"q".repeat(60_000)).len(), 1);
    let cancelled = Arc::new(AtomicBool::new(true));
    assert_eq!(sessions.asked(&many.join(" "), Some(&sessions.location), &cancelled), None);
    assert_eq!(sessions.asked("=>", Some(&sessions.location), &cancelled), None);
}
