//! The catalog's tables.

use rusqlite::Connection;

use super::text_rows::broken;
use super::{pages, Outcome};

/// Says that a file is a catalog: "pisc".
pub const APPLICATION: i32 = 0x7069_7363;

/// Which tables it has: raised with every change of them. A catalog of an older form is made anew, one of a newer form left
/// alone.
pub const FORM: i32 = 1;

/// `session`: a row for each file that was read; `texts_print` says which rows of `text` it must have; `texts_before` how
/// far they went in another state of the file, until it is known whether they are those of this one. `text`: texts of
/// sessions, a few at a time. `word_index`: which words stand in which text; its row ids tell the row of `text` and the
/// place in it. `word`: every word of the index, for finding those that a part of a word is in. `word_place`: the index
/// by words, `word_term`: its words. `state`: how many words there are and the sum of their hashes; how often words were
/// taken away; how many sessions were deleted that may still stand in the log; how often texts were taken away whose words
/// may still stand in the index.
const TABLES: &str = "
CREATE TABLE session (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  dir TEXT NOT NULL,
  name TEXT NOT NULL,
  device INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  size INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  read_to INTEGER NOT NULL,
  print INTEGER NOT NULL,
  state INTEGER NOT NULL,
  session_id BLOB,
  cwd BLOB,
  title BLOB,
  parent BLOB,
  created TEXT,
  active REAL,
  odd_times TEXT,
  messages INTEGER,
  first BLOB,
  checksum INTEGER NOT NULL,
  texts_to INTEGER NOT NULL DEFAULT 0,
  texts_print INTEGER NOT NULL DEFAULT 0,
  texts_before INTEGER NOT NULL DEFAULT 0,
  UNIQUE (dir, name)
);
CREATE TABLE text (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  is_indexed INTEGER NOT NULL DEFAULT 0,
  read_to INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  places BLOB NOT NULL,
  texts BLOB NOT NULL
);
CREATE INDEX text_by_session ON text (session, id, is_indexed, checksum);
CREATE INDEX text_to_index ON text (session, id) WHERE is_indexed = 0;
CREATE TABLE word (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE word_index USING fts5(words, content='', tokenize='ascii');
INSERT INTO word_index (word_index, rank) VALUES ('hashsize', 33554432);
CREATE VIRTUAL TABLE word_place USING fts5vocab(word_index, instance);
CREATE VIRTUAL TABLE word_term USING fts5vocab(word_index, row);
CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO state VALUES ('words', 0), ('words_sum', 0), ('prunes', 0), ('wipe', 0), ('stale', 0);
CREATE TRIGGER session_gone AFTER DELETE ON session BEGIN
  UPDATE state SET value = value + 1 WHERE name = 'wipe';
END;
";

/// Makes the tables where there are none, and sets how this connection works.
pub fn prepare(db: &Connection) -> Outcome<()> {
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // What is deleted is overwritten: the catalog holds what people said.
    db.pragma_update(None, "secure_delete", "ON")?;
    // Enough for lists; pages of texts are not worth keeping.
    db.pragma_update(None, "cache_size", -8000)?;
    if !is_prepared(db)? {
        make_tables(db)?;
    }
    // Others would be read without a look at their sums.
    if db.query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0))? != pages::PAGE as i64 {
        return Err(broken("its pages have another size"));
    }
    let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode != "wal" && !db.is_readonly("main")? {
        // Another process that reads may be in the way; then the next one does this.
        match db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error) if super::is_busy(&error) => {}
            set => set?,
        }
    }
    // Commits wait for no disk: a lost one costs time alone.
    db.pragma_update(None, "synchronous", "NORMAL")
}

/// Makes the tables in one go, before there is a log: a file that is not empty says from the beginning that it is ours.
fn make_tables(db: &Connection) -> Outcome<()> {
    // What is lost here is made anew.
    db.pragma_update(None, "synchronous", "OFF")?;
    pages::make_room(db)?;
    db.pragma_update(None, "page_size", pages::PAGE as i64)?;
    db.execute_batch("BEGIN IMMEDIATE")?;
    let made = match is_prepared(db) {
        // Another process was first.
        Ok(true) => Ok(()),
        Ok(false) => db
            .execute_batch(TABLES)
            .and_then(|()| db.pragma_update(None, "application_id", APPLICATION))
            .and_then(|()| db.pragma_update(None, "user_version", FORM))
            .and_then(|()| db.execute_batch("COMMIT")),
        Err(error) => Err(error),
    };
    if !db.is_autocommit() {
        db.execute_batch("ROLLBACK")?;
    }
    made
}

fn is_prepared(db: &Connection) -> Outcome<bool> {
    let number = |pragma: &str| db.query_row(pragma, [], |row| row.get::<_, i32>(0));
    let tables = || number("SELECT count(*) FROM sqlite_schema");
    match (number("PRAGMA application_id")?, number("PRAGMA user_version")?) {
        (APPLICATION, FORM) => Ok(true),
        (0, 0) if tables()? == 0 => Ok(false),
        // Somebody else's database, or one of another form, is left to itself.
        _ => Err(rusqlite::Error::InvalidQuery),
    }
}
