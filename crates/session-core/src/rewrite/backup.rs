//! The backup of a file that is replaced. It gets its name when it is complete.
//!
//! If the backup's name is a hard link to the file that is being replaced, a process that was killed left it, and it is
//! the backup.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::io::fs::{self, At, Writer};
use crate::io::sidecar_names;
use crate::io::temporary::Temporary;

/// The suffix of [`Backup::OldVersion`].
const OLD_VERSION: &str = ".v1.bak";
/// The suffix of [`Backup::Repaired`].
const REPAIRED: &str = ".bak";

/// The suffix of the backup. If the name exists, a number is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backup {
    /// `.v1.bak`: the file has an older version of the format.
    OldVersion,
    /// `.bak`: the file was repaired.
    Repaired,
    /// No backup, because the new file has every line of the old one.
    None,
}

/// A backup. It is removed on drop, unless it is kept after the rename.
pub(super) struct KeptBackup {
    path: Option<PathBuf>,
    /// Whether it is a hard link to the old file.
    is_link: bool,
    /// Whether this process created it. An existing one may belong to another process.
    is_ours: bool,
}

impl KeptBackup {
    /// Creates the backup of the first `end` bytes of the file at `target`.
    pub(super) fn make(backup: Backup, target: &Path, file: &File, end: u64) -> io::Result<Self> {
        let suffix = match backup {
            Backup::OldVersion => OLD_VERSION,
            Backup::Repaired => REPAIRED,
            Backup::None => return Ok(Self { path: None, is_link: false, is_ours: false }),
        };
        // A repair copies instead of linking, because a session that has the old file open notices by its link count of
        // zero that it was replaced.
        for path in paths(target, suffix).take_while(|_| backup == Backup::OldVersion) {
            match fs::link(target, &path) {
                Ok(()) => return Ok(Self { path: Some(path), is_link: true, is_ours: true }),
                Err(error) if is_taken(&error) && is_same_file(&path, file)? => {
                    // A process created it that died before its rename, or that is going to notice our rename.
                    return Ok(Self { path: Some(path), is_link: true, is_ours: false });
                }
                Err(error) if is_taken(&error) => {}
                // On a file system without hard links the backup is a copy.
                Err(_) => break,
            }
        }
        let copy = Temporary::beside(target)?;
        fs::copy(file, end, &copy.file)?;
        Ok(Self { path: Some(named(copy, target, suffix)?), is_link: false, is_ours: true })
    }

    /// The backup's path, if it is a hard link to the old file.
    pub(super) fn link(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.is_link)
    }

    /// Keeps the backup after the rename. Returns its path, which is empty without a backup.
    pub(super) fn keep(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }
}

impl Drop for KeptBackup {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|_| self.is_ours) {
            let _ = fs::remove(path);
        }
    }
}

/// Keeps the bytes of an old file from `from` on that the session file at `target` does not contain, in a file named
/// like the backup of a repair. None if there are none.
pub(super) fn keep_rest(target: &Path, old: &File, from: u64) -> io::Result<Option<PathBuf>> {
    let mut rest = At { file: old, offset: from };
    let mut start = [0];
    if rest.read(&mut start)? == 0 {
        return Ok(None);
    }
    let kept = Temporary::beside(target)?;
    io::copy(&mut start.chain(rest), &mut Writer(&kept.file))?;
    fs::sync(&kept.file)?;
    named(kept, target, REPAIRED).map(Some)
}

/// Gives a complete file the first free name.
fn named(mut file: Temporary, target: &Path, suffix: &str) -> io::Result<PathBuf> {
    for path in paths(target, suffix) {
        match file.name(&path) {
            Err(error) if is_taken(&error) => {}
            named => return named.map(|()| path),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The names of backups with this suffix, in the order in which they are tried.
fn paths<'a>(target: &'a Path, suffix: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    (0..u32::MAX).map(|number| numbered(target, suffix, number))
}

fn numbered(target: &Path, suffix: &str, number: u32) -> PathBuf {
    match number {
        0 => sidecar_names::beside(target, suffix),
        _ => sidecar_names::beside(target, &format!("{suffix}.{number}")),
    }
}

/// The backups of migrations and repairs beside the file at `target`, sorted.
pub(crate) fn backups_of(target: &Path) -> io::Result<Vec<PathBuf>> {
    let dir = target.parent().unwrap_or(target);
    let mut backups = Vec::new();
    // Directories contain thousands of sessions and few backups.
    let names = fs::list(dir)?.into_iter().map(|entry| entry.file_name());
    for path in names.filter(|name| name.to_string_lossy().contains(REPAIRED)).map(|name| dir.join(name)) {
        // A link may lead to a file that is not ours.
        if is_backup(&path, target) && fs::entry_at(&path)?.is_some_and(|meta| meta.is_file()) {
            backups.push(path);
        }
    }
    backups.sort();
    Ok(backups)
}

/// Whether a path may be a backup of the file at `target`.
fn is_backup(path: &Path, target: &Path) -> bool {
    // The number is needed, because a long name is shortened by its length too.
    let number = path.extension().and_then(|end| end.to_str()?.parse::<u32>().ok()).unwrap_or_default();
    [OLD_VERSION, REPAIRED].iter().any(|suffix| path == numbered(target, suffix, number))
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
}

/// Whether a path is this file itself, not a link to it.
fn is_same_file(path: &Path, file: &File) -> io::Result<bool> {
    Ok(fs::entry_at(path)?.is_some_and(|found| found.is_file()) && fs::is_at(path, file)?)
}
