//! Removes a session file from the catalog.

use std::path::Path;

use super::connection::Catalog;
use super::file::{inspect, remove_own, CatalogFileState};
use super::location::CatalogLocation;
use crate::io::fs;

/// Deletes all rows of a session file, in whatever directory it was listed, so that nothing of them remains in the
/// catalog's files. A catalog of an older format version is deleted as a whole. False if another process keeps a part
/// of them there, or if the catalog cannot be written.
pub fn forget_file(location: &CatalogLocation, path: &str) -> bool {
    // An older format version: the next list would create the catalog again.
    if inspect(&location.path) == CatalogFileState::Unusable {
        remove_own(&location.path);
    }
    if !fs::exists(&location.path) {
        return true;
    }
    let Some(name) = Path::new(path).file_name().and_then(|name| name.to_str()) else { return false };
    let Some(mut catalog) = Catalog::open(location) else {
        // A file to which this process has connected before is deleted when it is opened again.
        return !fs::exists(&location.path);
    };
    let forgotten = catalog.write(|transaction| transaction.execute("DELETE FROM session WHERE name = ?1", [name]));
    // Pages of the log may still contain the rows.
    forgotten.is_ok() && catalog.checkpoint().unwrap_or(false)
}
