//! The catalog: an SQLite file that remembers what was read of session files, so that the next list need not read them
//! again, and holds their texts for search.
//!
//! Invariants: it is a cache, and files are the truth. Whatever is wrong with it (missing, locked, corrupt, read-only, a
//! full disk) changes no answer. No lock is held while a session file is read. What is taken from it is checked: rows
//! and texts carry checksums, and a file's stamp must be the one that the row was made from.

pub mod background;
pub mod fill;
pub mod listed;
pub mod rows;
mod schema;
pub mod texts;

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::Result;
use super::paths::{self, Host};

/// Names the catalog's file, or is `off`.
pub const VARIABLE: &str = "PI_SESSION_CATALOG";

/// The catalog's file in the agent's directory. The number is that of its form: each form has a file of its own, so that
/// two releases never fight over one.
const FILE_NAME: &str = "session-catalog-1.sqlite";

/// How long a list waits for another process that is writing. What it could not write, the next list reads again.
const LIST_PATIENCE: Duration = Duration::from_millis(250);

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
    /// Opens the catalog if it is there and whole. One that is broken is taken away, so that a new one can be made.
    pub fn open(location: &Location) -> Option<Self> {
        if !location.path.is_file() {
            return None;
        }
        for flags in [OpenFlags::SQLITE_OPEN_READ_WRITE, OpenFlags::SQLITE_OPEN_READ_ONLY] {
            match Self::connect(&location.path, flags) {
                Ok(catalog) => return Some(catalog),
                Err(error) if is_broken(&error) => {
                    remove(&location.path);
                    return None;
                }
                Err(_) => {}
            }
        }
        None
    }

    /// Opens the catalog for writing, and makes it if it is not there. None if that cannot be.
    pub fn make(location: &Location) -> Option<Self> {
        if let Some(dir) = location.path.parent().filter(|dir| !dir.is_dir()) {
            if !location.makes_dir {
                return None;
            }
            super::storage::make_dir(dir.to_str()?, super::storage::Durability::Os).ok()?;
        }
        // Twice: a broken one is taken away first.
        for _ in 0..2 {
            create_private(&location.path).ok()?;
            match Self::connect(&location.path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
                Ok(catalog) => return Some(catalog),
                Err(error) if is_broken(&error) => remove(&location.path),
                Err(_) => return None,
            }
        }
        None
    }

    /// A catalog of this process's own, gone with it: for searches where no other can be had.
    pub fn temporary() -> Outcome<Self> {
        let db = Connection::open("")?;
        schema::prepare(&db)?;
        Ok(Self { db })
    }

    fn connect(path: &Path, flags: OpenFlags) -> Outcome<Self> {
        let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        db.busy_timeout(LIST_PATIENCE)?;
        // A connection to a file that was taken away meanwhile would take the new one's log away with it.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        schema::prepare(&db)?;
        Ok(Self { db })
    }

    /// How long work on it waits for other processes.
    pub fn set_patience(&self, patience: Duration) -> Outcome<()> {
        self.db.busy_timeout(patience)
    }

    /// Whether nothing can be written to it.
    pub fn is_read_only(&self) -> bool {
        self.db.is_readonly("main").unwrap_or(true)
    }

    /// Moves what was written from the log into the file, if it is much: who opens the catalog next reads the log first.
    /// Another process that works on it may be in the way; then it does this.
    pub fn tidy(&self) {
        const MUCH: u64 = 256 << 10;
        let log = self.db.path().map(|path| format!("{path}-wal"));
        if log.and_then(|log| fs::metadata(log).ok()).is_some_and(|log| log.len() > MUCH) {
            let _ = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
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
        remove(&location.path);
    }
}

/// Whether an error says that the file is no catalog (any more), and waiting would not help.
fn is_broken(error: &rusqlite::Error) -> bool {
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

/// Makes an empty file that only its owner may read, unless it is there.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(|_| ()),
    }
}

/// Takes the catalog's files away. Who has them open goes on with what has no name any more. What cannot be removed is
/// met again by whoever opens it next.
fn remove(path: &Path) {
    for ending in ["-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let _ = fs::remove_file(name);
    }
}
