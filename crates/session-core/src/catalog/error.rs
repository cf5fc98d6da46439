//! Errors of the catalog. After any error the caller continues without the catalog; a corrupt one is deleted.

use rusqlite::ErrorCode;

use crate::base::memory::OutOfMemory;

/// The result of work on a catalog.
pub(crate) type CatalogResult<T> = std::result::Result<T, rusqlite::Error>;

/// Whether another connection has a lock.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether the file is not a valid catalog: SQLite reports it as corrupt, or its tables or values do not match the
/// schema.
pub(crate) fn is_corrupt(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(error, _) => {
            matches!(error.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                // A table is missing.
                || error.code == ErrorCode::Unknown
        }
        rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::QueryReturnedNoRows => true,
        _ => false,
    }
}

/// An error for a catalog whose tables contradict each other.
pub(crate) fn corrupt(what: &str) -> rusqlite::Error {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(error, Some(what.to_owned()))
}

/// An error for a database that is not ours, which is not changed. SQLite has no such code, so we use its code for a
/// file that it cannot open.
pub(crate) fn foreign(what: &str) -> rusqlite::Error {
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
    rusqlite::Error::SqliteFailure(error, Some(what.to_owned()))
}

impl From<OutOfMemory> for rusqlite::Error {
    fn from(_: OutOfMemory) -> Self {
        Self::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOMEM), None)
    }
}
