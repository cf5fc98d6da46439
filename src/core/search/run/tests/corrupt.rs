//! Catalogs that SQLite reports as corrupt, and those that are someone else's.

use super::*;

/// Words, parts of them, and what no text holds.
const QUERIES: [&str; 7] = ["needle", "eedl", "lpha3x1", "beta gamma", "gam", "日本", "nowhere"];

/// Sessions that were searched, so that the catalog has everything; its file is whole, the log is empty.
fn searched() -> SessionsDir {
    let sessions = SessionsDir::new();
    for name in 0..4 {
        let texts: Vec<String> =
            (0..30).map(|n| format!("alpha{name}x{n} beta gamma{n} needle{} 日本語 w{}", n % 3, name * n)).collect();
        sessions.say(&format!("s{name}"), &texts);
    }
    sessions.found("needle");
    sessions.ingest();
    assert!(Catalog::open(&sessions.location).expect("opened").checkpoint().expect("written"));
    sessions
}

fn answers(sessions: &SessionsDir) -> [Vec<String>; 7] {
    QUERIES.map(|query| sorted(sessions.found(query)))
}

/// Changes the bytes of a catalog's file.
type Harm = fn(&mut [u8]);

#[test]
fn a_corrupt_catalog_is_deleted_and_rebuilt() {
    let want = answers(&searched());
    assert_eq!(want.each_ref().map(Vec::len), [120, 120, 11, 120, 120, 120, 0]);
    let harms: [(&str, Harm); 4] = [
        ("every page but the first", |bytes| bytes[16 << 10..].fill(0xff)),
        ("the first page's table", |bytes| bytes[100..16 << 10].fill(0xff)),
        ("the page size", |bytes| bytes[16..18].fill(0xff)),
        ("the text encoding", |bytes| bytes[56..60].fill(0x77)),
    ];
    for (what, harm) in harms {
        let sessions = searched();
        let mut bytes = fs::read(&sessions.location.path).expect("read");
        harm(&mut bytes);
        for ending in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", sessions.location.path.display()));
        }
        fs::write(&sessions.location.path, &bytes).expect("written");
        for _ in 0..2 {
            assert_eq!(answers(&sessions), want, "{what}");
        }
        assert_eq!(sessions.count("SELECT count(*) FROM session"), 4, "{what}: rebuilt");
        assert!(sessions.count("SELECT count(*) FROM text WHERE is_indexed = 1") >= 4, "{what}: rebuilt");
    }
}

#[test]
fn tables_that_are_missing_are_rebuilt() {
    for harm in ["DROP TABLE word", "DROP TABLE word_index", "DROP TABLE text", "DROP TABLE session"] {
        let sessions = searched();
        let want = answers(&sessions);
        sessions.sql(harm);
        for _ in 0..2 {
            assert_eq!(answers(&sessions), want, "{harm}");
        }
        assert_eq!(sessions.count("SELECT count(*) FROM session"), 4, "{harm}");
    }
}

#[test]
fn another_programs_database_is_left_alone_and_done_without() {
    let want = answers(&searched());
    let sessions = searched();
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", sessions.location.path.display()));
    }
    let other = Connection::open(&sessions.location.path).expect("opened");
    other.execute_batch("CREATE TABLE notes (note TEXT); INSERT INTO notes VALUES ('mine')").expect("made");
    drop(other);
    let before = fs::read(&sessions.location.path).expect("read");
    assert_eq!(answers(&sessions), want);
    assert_eq!(fs::read(&sessions.location.path).expect("read"), before);
}
