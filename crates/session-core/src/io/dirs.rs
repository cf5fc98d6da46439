//! Directories: creating them, and waiting until the names in them are on disk.

use std::io;
use std::path::Path;

use super::fs;
#[cfg(unix)]
use super::open::{self, Access};
use crate::base::error::{Result, WithCall};
use crate::base::options::Durability;

/// Waits until the names in the directory of `path` are on disk. Some file systems have no call for that.
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

/// Creates a directory that is not there, and those above it, for their owner only. With [`Durability::Fsync`] their names are on disk
/// when this returns.
pub fn make_dir(path: &str, durability: Durability) -> Result<()> {
    if fs::exists(Path::new(path)) {
        return Ok(());
    }
    make_dirs(Path::new(path), durability == Durability::Fsync).with_call("mkdir", path)
}

/// Creates a directory and those above it, for their owner only. `synced`: the names of new ones are on disk when this returns.
pub(crate) fn make_dirs(path: &Path, synced: bool) -> io::Result<()> {
    let mut made = Vec::new();
    for dir in path.ancestors().filter(|_| synced) {
        if dir.as_os_str().is_empty() || fs::stat_path(dir)?.is_some() {
            break;
        }
        made.push(dir);
    }
    fs::create_dirs(path).map_err(|error| match error.kind() {
        // Windows says it of a file where one of the directories should be.
        io::ErrorKind::AlreadyExists if !fs::exists(path) => io::ErrorKind::NotADirectory.into(),
        _ => error,
    })?;
    let synced = made.iter().rev().try_for_each(|dir| sync_dir_of(dir));
    if synced.is_err() {
        // The next try must find them missing, or it would not sync their names.
        for dir in made {
            let _ = fs::remove_dir(dir);
        }
    }
    synced
}
