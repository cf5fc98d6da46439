//! The catalog: an SQLite file that remembers what was read of session files, so that the next list need not read them
//! again, and holds their texts for search.
//!
//! Invariants: it is a cache, and files are the truth. Whatever is wrong with it (missing, locked, corrupt, read-only, a
//! full disk) changes no answer. No lock is held while a session file is read. What is taken from it is checked against
//! the file's stamp, which must be the one that the row was made from.

pub mod background;
pub mod file;
pub mod fts;
pub mod ingest;
pub mod ingest_lock;
pub mod purge;
pub mod revalidation;
pub mod rows;
pub mod schema;
pub mod session_text;
pub mod text_rows;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use self::file::{behind_links, create_private, look, remove_ours, Found, FILE_NAME};
use crate::core::base::error::Result;
use crate::core::base::paths::{self, Host};

/// Names the catalog's file, or is `off`.
pub const VARIABLE: &str = "PI_SESSION_CATALOG";

/// How long a list waits for another process that is writing. What it could not write, the next list reads again.
pub const LIST_BUSY_TIMEOUT: Duration = Duration::from_millis(250);

/// How long the host's own thread waits, where it asks by itself: it answers a user's keys.
pub const SHORT_BUSY_TIMEOUT: Duration = Duration::from_millis(20);

/// Where the catalog is, and whether it may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub path: PathBuf,
    /// Whether a directory that is missing may be made for it. The agent's is not: who has no agent gets no catalog.
    pub makes_dir: bool,
}

/// Where the host's environment wants the catalog; None if it wants none.
pub fn location(host: &dyn Host) -> Result<Option<Location>> {
    match host.env(VARIABLE)?.filter(|value| !value.is_empty()) {
        Some(off) if off.eq_ignore_ascii_case("off") || off == "0" => Ok(None),
        Some(path) => Ok(Some(Location { path: paths::resolve(&path, host)?.into(), makes_dir: true })),
        None => {
            let agent = paths::resolve(&paths::agent_dir(host)?, host)?;
            Ok(Some(Location { path: paths::join(&agent, FILE_NAME).into(), makes_dir: false }))
        }
    }
}

/// An open catalog.
pub struct Catalog {
    db: Connection,
}

/// What became of work on a catalog.
pub type Outcome<T> = std::result::Result<T, rusqlite::Error>;

impl Catalog {
    /// Opens the catalog if it is there and whole. One of ours that is broken is taken away, so that a new one can be made.
    pub fn open(location: &Location) -> Option<Self> {
        Self::open_within(location, LIST_BUSY_TIMEOUT)
    }

    /// As [`Catalog::open`], waiting no longer than this for other processes, then and later.
    pub fn open_within(location: &Location, busy_timeout: Duration) -> Option<Self> {
        let path = behind_links(&location.path);
        if look(&path) != Found::Catalog {
            return None;
        }
        for flags in [OpenFlags::SQLITE_OPEN_READ_WRITE, OpenFlags::SQLITE_OPEN_READ_ONLY] {
            match Self::connect(&path, flags, busy_timeout) {
                Ok(catalog) => return Some(catalog),
                Err(error) if is_broken(&error) => {
                    remove_ours(&path);
                    return None;
                }
                // Who only reads would wait as long.
                Err(error) if is_busy(&error) => return None,
                Err(_) => {}
            }
        }
        None
    }

    /// Opens the catalog for writing, and makes it if it is not there. None if that cannot be, or if what is there is not
    /// ours.
    pub fn make(location: &Location) -> Option<Self> {
        let path = behind_links(&location.path);
        if let Some(dir) = path.parent().filter(|dir| !dir.is_dir()) {
            // Where a link leads to is made by who made the link: it may be a disk that is not there now.
            if !location.makes_dir || path != location.path {
                return None;
            }
            crate::core::storage::file::make_dir(dir.to_str()?, crate::core::base::options::Durability::Os).ok()?;
        }
        // Twice: a broken one is taken away first.
        for _ in 0..2 {
            match look(&path) {
                Found::Foreign => return None,
                Found::Catalog => {}
                Found::Spoiled => {
                    remove_ours(&path);
                    create_private(&path).ok()?;
                }
                Found::Nothing => create_private(&path).ok()?,
            }
            match Self::connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE, LIST_BUSY_TIMEOUT) {
                Ok(catalog) => return Some(catalog),
                Err(error) if is_broken(&error) => remove_ours(&path),
                Err(_) => return None,
            }
        }
        None
    }

    fn connect(path: &Path, flags: OpenFlags, busy_timeout: Duration) -> Outcome<Self> {
        let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        db.busy_timeout(busy_timeout)?;
        // A connection to a file that was taken away meanwhile would take the new one's log away with it.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        schema::prepare(&db)?;
        Ok(Self { db })
    }

    /// Whether nothing can be written to it.
    pub fn is_read_only(&self) -> bool {
        self.db.is_readonly("main").unwrap_or(true)
    }

    /// Moves the log into the file if the log is large: who opens the catalog next reads it first. A reader of another
    /// process may block this; then whoever comes next does it.
    pub fn truncate_log(&self) {
        const LARGE: u64 = 256 << 10;
        let log = self.db.path().map(|path| format!("{path}-wal"));
        let is_large = log.and_then(|log| fs::metadata(log).ok()).is_some_and(|log| log.len() > LARGE);
        if is_large && !self.is_read_only() {
            // What cannot be moved now stays in the log, where it counts as well.
            let _ = self.checkpoint();
        }
    }

    /// Moves the log into the file and empties it. False if another connection blocks that.
    pub fn checkpoint(&self) -> Outcome<bool> {
        self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0).map(|is_blocked: bool| !is_blocked))
    }

    /// One of the numbers that the catalog keeps of itself.
    pub fn state(&self, name: &str) -> Outcome<i64> {
        self.db.prepare_cached("SELECT value FROM state WHERE name = ?1")?.query_row([name], |row| row.get(0))
    }

    /// Runs work that writes, all of it or nothing.
    pub fn write<T>(&mut self, work: impl FnOnce(&rusqlite::Transaction<'_>) -> Outcome<T>) -> Outcome<T> {
        let transaction = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let value = work(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }

    /// The connection, for reading.
    pub fn db(&self) -> &Connection {
        &self.db
    }
}

/// Takes a catalog away that turned out to be broken while it was used. Any other error is no reason to.
pub fn discard_if_broken(location: &Location, error: &rusqlite::Error) {
    if is_broken(error) {
        remove_ours(&behind_links(&location.path));
    }
}

/// Whether an error says that somebody else is at work on the catalog.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether an error says that the file is no catalog (any more), and waiting would not help.
pub fn is_broken(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(error, _) => {
            matches!(error.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                // What should be there is not: another file was put in its place.
                || error.code == ErrorCode::Unknown
        }
        rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::QueryReturnedNoRows => true,
        _ => false,
    }
}

/// An error that says that the catalog contradicts itself.
pub fn corrupt(what: &str) -> rusqlite::Error {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(error, Some(what.to_owned()))
}
