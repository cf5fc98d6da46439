//! Taking a session file out of the catalog.

use std::path::Path;

use super::connection::Catalog;
use super::location::CatalogLocation;
use crate::io::fs;

/// Deletes what the catalog has of a file, whatever directory it was listed by, so that none of it is left in the catalog's files.
/// False if another process keeps some of it there, or the catalog cannot be written.
pub fn forget_file(location: &CatalogLocation, path: &str) -> bool {
    if !fs::exists(&location.path) {
        return true;
    }
    let Some(name) = Path::new(path).file_name().and_then(|name| name.to_str()) else { return false };
    let Some(mut catalog) = Catalog::open(location) else { return false };
    let forgotten = catalog.write(|transaction| transaction.execute("DELETE FROM session WHERE name = ?1", [name]));
    // Pages of the log may still hold the rows.
    forgotten.is_ok() && catalog.checkpoint().unwrap_or(false)
}
