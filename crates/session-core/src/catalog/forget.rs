//! Taking a session file out of the catalog.

use std::path::Path;

use super::connection::Catalog;
use super::file::{inspect, remove_own, CatalogFileState};
use super::location::CatalogLocation;
use crate::io::fs;

/// Deletes what the catalog has of a file, whatever directory it was listed by, so that none of it is left in the catalog's files.
/// A catalog of an older format version is deleted as a whole. False if another process keeps some of it there, or the catalog cannot
/// be written.
pub fn forget_file(location: &CatalogLocation, path: &str) -> bool {
    // Of an older format version: the next list would make it anew.
    if inspect(&location.path) == CatalogFileState::Unusable {
        remove_own(&location.path);
    }
    if !fs::exists(&location.path) {
        return true;
    }
    let Some(name) = Path::new(path).file_name().and_then(|name| name.to_str()) else { return false };
    let Some(mut catalog) = Catalog::open(location) else {
        // One that this process had open before is deleted when it is opened again.
        return !fs::exists(&location.path);
    };
    let forgotten = catalog.write(|transaction| transaction.execute("DELETE FROM session WHERE name = ?1", [name]));
    // Pages of the log may still hold the rows.
    forgotten.is_ok() && catalog.checkpoint().unwrap_or(false)
}
