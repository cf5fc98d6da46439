//! A connection to the catalog.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::{is_busy, is_corrupt, CatalogResult};
use super::file::{create_private, follow_links, inspect, remove_own, CatalogFileState};
use super::location::Location;
use super::schema;
use crate::core::base::options::Durability;

/// How long a list waits for another process that is writing. What it could not write, the next list reads again.
pub const LIST_BUSY_TIMEOUT: Duration = Duration::from_millis(250);

/// How long the host's own thread waits, where it asks by itself: it answers a user's keys.
pub const SHORT_BUSY_TIMEOUT: Duration = Duration::from_millis(20);

/// An open catalog.
pub struct Catalog {
    db: Connection,
}

impl Catalog {
    /// Opens the catalog if it is there and whole. One of ours that is broken is taken away, so that a new one can be made.
    pub fn open(location: &Location) -> Option<Self> {
        Self::open_within(location, LIST_BUSY_TIMEOUT)
    }

    /// As [`Catalog::open`], waiting no longer than this for other processes, then and later.
    pub fn open_within(location: &Location, busy_timeout: Duration) -> Option<Self> {
        let path = follow_links(&location.path);
        if inspect(&path) != CatalogFileState::Catalog {
            return None;
        }
        for flags in [OpenFlags::SQLITE_OPEN_READ_WRITE, OpenFlags::SQLITE_OPEN_READ_ONLY] {
            match Self::connect(&path, flags, busy_timeout) {
                Ok(catalog) => return Some(catalog),
                Err(error) if is_corrupt(&error) => {
                    remove_own(&path);
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
        let path = follow_links(&location.path);
        if let Some(dir) = path.parent().filter(|dir| !dir.is_dir()) {
            // Where a link leads to is made by who made the link: it may be a disk that is not there now.
            if !location.makes_dir || path != location.path {
                return None;
            }
            crate::core::storage::file::make_dir(dir.to_str()?, Durability::Os).ok()?;
        }
        // Twice: a broken one is taken away first.
        for _ in 0..2 {
            match inspect(&path) {
                CatalogFileState::Foreign => return None,
                CatalogFileState::Catalog => {}
                CatalogFileState::Unusable => {
                    remove_own(&path);
                    create_private(&path).ok()?;
                }
                CatalogFileState::Missing => create_private(&path).ok()?,
            }
            match Self::connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE, LIST_BUSY_TIMEOUT) {
                Ok(catalog) => return Some(catalog),
                Err(error) if is_corrupt(&error) => remove_own(&path),
                Err(_) => return None,
            }
        }
        None
    }

    fn connect(path: &Path, flags: OpenFlags, busy_timeout: Duration) -> CatalogResult<Self> {
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
    pub fn checkpoint(&self) -> CatalogResult<bool> {
        self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0).map(|is_blocked: bool| !is_blocked))
    }

    /// One of the numbers that the catalog keeps of itself.
    pub fn state(&self, name: &str) -> CatalogResult<i64> {
        self.db.prepare_cached("SELECT value FROM state WHERE name = ?1")?.query_row([name], |row| row.get(0))
    }

    /// Runs work that writes, all of it or nothing.
    pub fn write<T>(&mut self, work: impl FnOnce(&rusqlite::Transaction<'_>) -> CatalogResult<T>) -> CatalogResult<T> {
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
pub fn discard_if_corrupt(location: &Location, error: &rusqlite::Error) {
    if is_corrupt(error) {
        remove_own(&follow_links(&location.path));
    }
}
