//! The backup of a file that is replaced. It gets its name when it is complete.
//!
//! If the backup's name is a link to the very file that is being replaced, a process that was killed left it, and it is the backup.

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

/// The suffix of the backup. A number follows it if that name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backup {
    /// `.v1.bak`: the file is of an older version of the format.
    OldVersion,
    /// `.bak`: the file was repaired.
    Repaired,
    /// None is kept: the new version has every line of the old one.
    None,
}

/// A backup, which is removed on drop unless the rename succeeded.
pub(super) struct KeptBackup {
    path: Option<PathBuf>,
    /// Whether it is the old file itself, by another name.
    is_link: bool,
    /// Whether it was made here. One that existed may belong to another process.
    is_ours: bool,
}

impl KeptBackup {
    /// Makes the backup of the first `end` bytes of the file at `target`.
    pub(super) fn make(backup: Backup, target: &Path, file: &File, end: u64) -> io::Result<Self> {
        let suffix = match backup {
            Backup::OldVersion => OLD_VERSION,
            Backup::Repaired => REPAIRED,
            Backup::None => return Ok(Self { path: None, is_link: false, is_ours: false }),
        };
        // A session that has the old file open learns from a link count of zero that it was replaced, so a repair copies instead of
        // linking.
        for path in paths(target, suffix).take_while(|_| backup == Backup::OldVersion) {
            match fs::link(target, &path) {
                Ok(()) => return Ok(Self { path: Some(path), is_link: true, is_ours: true }),
                Err(error) if is_taken(&error) && is_same_file(&path, file)? => {
                    // It was made by a process that died before its rename, or that is about to see ours.
                    return Ok(Self { path: Some(path), is_link: true, is_ours: false });
                }
                Err(error) if is_taken(&error) => {}
                // File systems without hard links get a copy, too.
                Err(_) => break,
            }
        }
        let copy = Temporary::beside(target)?;
        fs::copy(file, end, &copy.file)?;
        Ok(Self { path: Some(named(copy, target, suffix)?), is_link: false, is_ours: true })
    }

    /// Its path, if it is a link to the old file.
    pub(super) fn link(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.is_link)
    }

    /// Keeps it: the rename succeeded. Gives its path, empty without a backup.
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

/// Keeps what an old file has from `from` on and the session file at `target` lacks, in a file that is named like the backup of a
/// repair. None if there is nothing.
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

/// Gives a complete file the first name that is free.
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

/// The files that a migration and repairs left beside the file at `target`, sorted.
pub(crate) fn backups_of(target: &Path) -> io::Result<Vec<PathBuf>> {
    let dir = target.parent().unwrap_or(target);
    let mut backups = Vec::new();
    for path in fs::list(dir)?.into_iter().map(|entry| dir.join(entry.file_name())) {
        // A link may lead to a file that is not ours.
        if is_backup(&path, target) && fs::entry_at(&path)?.is_some_and(|meta| meta.is_file()) {
            backups.push(path);
        }
    }
    backups.sort();
    Ok(backups)
}

/// Whether a path may be that of a backup of the file at `target`.
fn is_backup(path: &Path, target: &Path) -> bool {
    // The number, if there is one, tells where a long name was cut.
    let number = path.extension().and_then(|end| end.to_str()?.parse::<u32>().ok()).unwrap_or_default();
    [OLD_VERSION, REPAIRED].iter().any(|suffix| path == numbered(target, suffix, number))
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
}

/// Whether a path is that of a file itself, not of a link to it.
fn is_same_file(path: &Path, file: &File) -> io::Result<bool> {
    Ok(fs::entry_at(path)?.is_some_and(|found| found.is_file()) && fs::is_at(path, file)?)
}
