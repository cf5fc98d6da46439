//! The catalog's file: recognising, creating and deleting it. A setting may name any file, so we change only a file
//! that we recognise as ours.

use std::collections::HashSet;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use super::schema::{APPLICATION_ID, FORMAT_VERSION};
use crate::base::threads::locked;
use crate::io::open::{self, Access};
use crate::io::{fs, owner};

/// The catalog's file in the agent's directory.
pub(crate) const FILE_NAME: &str = "session-catalog.sqlite";

/// The start of an SQLite file, and the positions of two numbers in its header.
const MAGIC: &[u8] = b"SQLite format 3\0";
const FORMAT_VERSION_AT: usize = 60;
const APPLICATION_ID_AT: usize = 68;
const HEADER_BYTES: usize = 100;

/// The kind of file at the catalog's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CatalogFileState {
    /// No file, or an empty one.
    Missing,
    /// A catalog of this format version.
    Catalog,
    /// A catalog of an older format version, or any other file with our own file name, even a database of another
    /// program.
    Unusable,
    /// A file of another program or user, a catalog of a newer version, a file that is not regular, or one that cannot
    /// be read. It is not changed.
    Foreign,
}

/// The paths at which this process has connected to a catalog.
static CONNECTED: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);

/// Records that SQLite opened the file at a path and accepted it as a catalog.
pub(crate) fn set_connected(path: &Path) {
    locked(&CONNECTED).insert(path.to_owned());
}

/// Deletes the catalog's files, if they are ours. Connections of other processes continue on the deleted files. If
/// another process has created a new catalog in the meantime, that one is deleted too, and created again.
pub(crate) fn remove_own(path: &Path) {
    locked(&CONNECTED).remove(path);
    if !matches!(inspect_header(path), CatalogFileState::Catalog | CatalogFileState::Unusable) {
        return;
    }
    for ending in ["-wal", "-shm", "-journal", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let _ = fs::remove(Path::new(&name));
    }
}

/// The kind of file at a path. A file to which this process has connected is not opened, because closing it would
/// release SQLite's locks. If another file has replaced it, SQLite notices that.
pub(crate) fn inspect(path: &Path) -> CatalogFileState {
    let is_there = fs::stat_path(path).is_ok_and(|stat| stat.is_some_and(|stat| stat.size > 0));
    match is_there && locked(&CONNECTED).contains(path) {
        true => CatalogFileState::Catalog,
        false => inspect_header(path),
    }
}

fn inspect_header(path: &Path) -> CatalogFileState {
    match read_header(path) {
        Ok(bytes) if bytes.is_empty() => CatalogFileState::Missing,
        Ok(bytes) => match application_and_version(&bytes) {
            Some((APPLICATION_ID, FORMAT_VERSION)) => CatalogFileState::Catalog,
            Some((APPLICATION_ID, version)) if version > FORMAT_VERSION => CatalogFileState::Foreign,
            Some((APPLICATION_ID, _)) => CatalogFileState::Unusable,
            _ if path.file_name().is_some_and(|name| name == FILE_NAME) => CatalogFileState::Unusable,
            _ => CatalogFileState::Foreign,
        },
        Err(error) if error.kind() == ErrorKind::NotFound => CatalogFileState::Missing,
        Err(_) => CatalogFileState::Foreign,
    }
}

fn read_header(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    let file = open::regular(path, Access::Read)?;
    // We refuse another user's file, because its owner could decide what lists show, and read texts of sessions.
    if !owner::is_trusted(&fs::metadata_of(&file)?) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    file.take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The application id and format version of a database's header; None if it is not a database.
fn application_and_version(bytes: &[u8]) -> Option<(i32, i32)> {
    let number = |at: usize| Some(i32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let is_database = bytes.starts_with(MAGIC) && bytes.len() == HEADER_BYTES;
    is_database.then(|| Some((number(APPLICATION_ID_AT)?, number(FORMAT_VERSION_AT)?))).flatten()
}

/// Whether a directory, or the directory in which it will be created, belongs to this process's user or to the
/// administrator. Otherwise we create no catalog in it, because the directory's user could not read the catalog, nor
/// create another one in its place.
pub(crate) fn is_in_trusted_dir(dir: &Path) -> bool {
    let existing = dir.ancestors().find_map(|dir| fs::metadata(dir).ok());
    existing.is_some_and(|meta| owner::is_trusted(&meta))
}

/// Creates an empty file with mode 0600, or sets this mode on an existing file. Fails in another user's directory.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    if !path.parent().is_some_and(is_in_trusted_dir) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    match open::new_private(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => make_catalog_private(path),
        made => made.map(|_| ()),
    }
}

#[cfg(unix)]
fn make_catalog_private(path: &Path) -> io::Result<()> {
    // We refuse another user's file, because its owner could read our sessions in it. For the administrator the call
    // below would not fail.
    if !owner::is_trusted(&fs::metadata(path)?) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    fs::make_private(path)
}

#[cfg(not(unix))]
fn make_catalog_private(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
