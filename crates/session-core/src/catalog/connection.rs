//! A connection to the catalog.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::{is_corrupt, CatalogResult};
use super::file::{create_private, inspect, is_in_trusted_dir, remove_own, set_connected, CatalogFileState};
use super::location::CatalogLocation;
use super::schema;
use crate::base::options::Durability;
use crate::io::fs;

/// How long a list waits for another process that writes. Rows that it cannot write are read again by the next list.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_millis(250);

/// An open catalog.
pub(crate) struct Catalog {
    db: Connection,
    path: PathBuf,
}

impl Catalog {
    /// Opens the catalog. None if it does not exist or cannot be used. A corrupt catalog is deleted.
    pub(crate) fn open(location: &CatalogLocation) -> Option<Self> {
        let path = fs::resolve_links(&location.path).ok()?;
        (inspect(&path) == CatalogFileState::Catalog).then(|| Self::connect(path)).flatten()
    }

    /// Opens the catalog for writing, and creates it if it does not exist. None if that fails, or if the file is not
    /// ours. A corrupt catalog is deleted, and the next list creates it again.
    pub(crate) fn create(location: &CatalogLocation) -> Option<Self> {
        let path = fs::resolve_links(&location.path).ok()?;
        if let Some(dir) = path.parent().filter(|dir| !fs::exists(dir)) {
            // A link's target may be on a disk that is not mounted now, so we do not create its directory.
            if !location.makes_dir || path != location.path || !is_in_trusted_dir(dir) {
                return None;
            }
            crate::io::dirs::make_dir(dir.to_str()?, Durability::Os).ok()?;
        }
        match inspect(&path) {
            CatalogFileState::Foreign => return None,
            CatalogFileState::Catalog => {}
            CatalogFileState::Unusable => {
                remove_own(&path);
                create_private(&path).ok()?;
            }
            CatalogFileState::Missing => create_private(&path).ok()?,
        }
        Self::connect(path)
    }

    /// Connects for writing. SQLite connects read-only if the file cannot be written.
    fn connect(path: PathBuf) -> Option<Self> {
        match connection(&path) {
            Ok(db) => {
                set_connected(&path);
                Some(Self { db, path })
            }
            Err(error) => {
                if is_corrupt(&error) {
                    remove_own(&path);
                }
                None
            }
        }
    }

    /// Closes the catalog, and deletes it if this error means that it is corrupt.
    pub(crate) fn discard_if_corrupt(self, error: &rusqlite::Error) {
        let Self { db, path } = self;
        // Windows cannot delete a file that SQLite has open.
        drop(db);
        if is_corrupt(error) {
            remove_own(&path);
        }
    }

    /// Whether the catalog can only be read.
    pub(crate) fn is_read_only(&self) -> bool {
        self.db.is_readonly("main").unwrap_or(true)
    }

    /// Checkpoints the log if it is large, because the next connection has to read it. If a reader of another process
    /// blocks that, a later call does it.
    pub(crate) fn truncate_log(&self) {
        const LARGE_LOG: u64 = 256 << 10;
        let log = self.db.path().map(|path| format!("{path}-wal"));
        let is_large = log.and_then(|log| fs::metadata(Path::new(&log)).ok()).is_some_and(|log| log.len() > LARGE_LOG);
        if is_large && !self.is_read_only() {
            // Rows that stay in the log are read from it.
            let _ = self.checkpoint();
        }
    }

    /// Copies the log into the database and truncates it. False if another connection blocks that.
    pub(crate) fn checkpoint(&self) -> CatalogResult<bool> {
        self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0).map(|is_blocked: bool| !is_blocked))
    }

    /// Runs `work` in a write transaction.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&rusqlite::Transaction<'_>) -> CatalogResult<T>,
    ) -> CatalogResult<T> {
        let transaction = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let value = work(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }

    /// The connection, for reading.
    pub(crate) fn db(&self) -> &Connection {
        &self.db
    }
}

fn connection(path: &Path) -> CatalogResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    // A connection to a deleted file would delete the log of the file that replaced it.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    schema::prepare(&db)?;
    Ok(db)
}

#[cfg(test)]
mod tests;
