//! Creates directories, and waits until the names in them are on disk.

use std::io;
use std::path::Path;

use super::fs;
#[cfg(unix)]
use super::open::{self, Access};
use crate::base::error::{Result, WithCall};
use crate::base::options::Durability;

/// Waits until the names in the directory of `path` are on disk, if the file system has a call for it.
pub(crate) fn sync_dir_of(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = open::existing(dir, Access::Read)?;
        match fs::sync(&dir) {
            Err(error) if fs::lacks_sync(&error) => {}
            synced => synced?,
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Creates a directory and its missing parents, for their owner only. With [`Durability::Fsync`] their names are on
/// disk when this returns.
pub fn make_dir(path: &str, durability: Durability) -> Result<()> {
    if fs::exists(Path::new(path)) {
        return Ok(());
    }
    make_dirs(Path::new(path), durability == Durability::Fsync).with_call("mkdir", path)
}

/// Creates a directory and its missing parents, for their owner only. If `synced`, the names of the new directories are
/// on disk when this returns.
pub(crate) fn make_dirs(path: &Path, synced: bool) -> io::Result<()> {
    let mut made = Vec::new();
    for dir in path.ancestors().filter(|_| synced) {
        if dir.as_os_str().is_empty() || fs::stat_path(dir)?.is_some() {
            break;
        }
        made.push(dir);
    }
    fs::create_dirs(path).map_err(|error| match error.kind() {
        // Windows reports a file in the place of a parent directory as `AlreadyExists`.
        io::ErrorKind::AlreadyExists if !fs::exists(path) => io::ErrorKind::NotADirectory.into(),
        _ => error,
    })?;
    let synced = made.iter().rev().try_for_each(|dir| sync_dir_of(dir));
    if synced.is_err() {
        // Removed, because the next try syncs only the names of directories that it creates.
        for dir in made {
            let _ = fs::remove_dir(dir);
        }
    }
    synced
}
