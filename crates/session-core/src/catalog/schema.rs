//! The catalog's tables.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::{corrupt, foreign, is_busy, CatalogResult};

/// Marks a database as a catalog: "pisc".
pub(crate) const APPLICATION_ID: i32 = 0x7069_7363;

/// The version of the tables and of the values that are packed in them. Raise it when a table, a packed type, or the
/// meaning of a packed value changes. A catalog of an older version is rebuilt, a catalog of a newer version is not
/// used.
pub(crate) const FORMAT_VERSION: i32 = 16;

/// `session` has one row for each session file. `size` is the size of the file, and `modified` the time of a session by
/// its lines, in ms since 1970; the order of a search reads only these two. `file` is packed: the data that a list
/// shows, and the state of the file from which it was read. `usage` is packed: the usage of the session's calls, unless
/// it is too large. It is the last column, because lists do not read it.
const TABLES: &str = "
CREATE TABLE session (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  dir TEXT NOT NULL,
  name TEXT NOT NULL,
  size INTEGER,
  modified REAL,
  file BLOB NOT NULL,
  usage BLOB,
  UNIQUE (dir, name)
);
";

/// Creates the tables if they are missing, and configures this connection.
pub(crate) fn prepare(db: &Connection) -> CatalogResult<()> {
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // Overwrites the names and first messages of deleted rows.
    db.pragma_update(None, "secure_delete", "ON")?;
    if !is_prepared(db)? {
        create_tables(db)?;
    }
    let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode != "wal" && !db.is_readonly("main")? {
        // If a reader of another process blocks this, the next connection does it.
        match db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error) if is_busy(&error) => {}
            set => set?,
        }
    }
    // If a power failure loses a commit, the files are only read again.
    db.pragma_update(None, "synchronous", "NORMAL")
}

/// Creates the tables in one transaction, before the log exists. So a file that is not empty is recognisable as ours.
fn create_tables(db: &Connection) -> CatalogResult<()> {
    // If a power failure loses the tables, they are created again.
    db.pragma_update(None, "synchronous", "OFF")?;
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    // Another process may have created them first.
    if !is_prepared(db)? {
        db.execute_batch(TABLES)?;
        db.pragma_update(None, "application_id", APPLICATION_ID)?;
        db.pragma_update(None, "user_version", FORMAT_VERSION)?;
    }
    transaction.commit()
}

fn is_prepared(db: &Connection) -> CatalogResult<bool> {
    let number = |pragma: &str| db.query_row(pragma, [], |row| row.get::<_, i32>(0));
    let tables = || number("SELECT count(*) FROM sqlite_schema");
    match (number("PRAGMA application_id")?, number("PRAGMA user_version")?) {
        (APPLICATION_ID, FORMAT_VERSION) => Ok(true),
        (APPLICATION_ID, version) if version < FORMAT_VERSION => Err(corrupt("an older format version")),
        (0, 0) if tables()? == 0 => Ok(false),
        _ => Err(foreign("another program's database, or a newer format version")),
    }
}
