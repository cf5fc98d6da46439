//! Errors of the catalog. All but corruption mean that the caller does without it.

use rusqlite::ErrorCode;

/// The result of work on a catalog.
pub type CatalogResult<T> = std::result::Result<T, rusqlite::Error>;

/// Whether an error says that somebody else is at work on the catalog.
pub fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether an error says that the file is no catalog (any more), and waiting would not help.
pub fn is_corrupt(error: &rusqlite::Error) -> bool {
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
