//! Replacing a whole file: old or new, never in between, and the old one kept.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::disk;
use super::temporary::Temporary;
use crate::core::error::{Error, Result};

/// What the old version is kept as: the file's name with this behind it, and a number if that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// `.v1.bak`: the file is of an older version of the format.
    OldVersion,
    /// `.bak`: the file was repaired.
    Repaired,
}

/// Writes a new version of the file at `path` beside it, then puts it in its place; the old version stays as a backup,
/// whose path is given back. Symbolic links are followed, mode and owner kept.
pub fn replace_with_backup(
    path: &str,
    backup: Backup,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<PathBuf> {
    let fail = |syscall| move |error| Error::io(syscall, path, error);
    let target = disk::real_path(Path::new(path)).map_err(fail("realpath"))?;
    let temporary = Temporary::beside(&target).map_err(fail("open"))?;
    like_target(&temporary, &target).map_err(fail("fchmod"))?;
    {
        let mut writer = BufWriter::with_capacity(1 << 16, ToDisk(&temporary));
        write(&mut writer)?;
        writer.flush().map_err(fail("write"))?;
    }
    disk::sync(&temporary.file).map_err(fail("fsync"))?;
    let kept = keep_backup(&target, backup).map_err(fail("link"))?;
    if let Err(error) = temporary.replace(&target) {
        // The file itself is still there: a backup beside it would only be one more.
        let _ = disk::remove(&kept);
        return Err(fail("rename")(error));
    }
    disk::sync_dir_of(&target).map_err(fail("fsync"))?;
    Ok(kept)
}

struct ToDisk<'a>(&'a Temporary);

impl Write for ToDisk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        disk::write(&self.0.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn like_target(temporary: &Temporary, target: &Path) -> io::Result<()> {
    let meta = disk::metadata(target)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // Only a privileged process may give files away; another one's copy is its own.
        let _ = std::os::unix::fs::fchown(&temporary.file, Some(meta.uid()), Some(meta.gid()));
    }
    temporary.file.set_permissions(meta.permissions())
}

fn keep_backup(target: &Path, backup: Backup) -> io::Result<PathBuf> {
    let suffix = match backup {
        Backup::OldVersion => ".v1.bak",
        Backup::Repaired => ".bak",
    };
    let mut number = 0u32;
    loop {
        let mut name = target.as_os_str().to_owned();
        name.push(if number == 0 { suffix.into() } else { format!("{suffix}.{number}") });
        let name = PathBuf::from(name);
        let taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        // File systems without hard links get a copy.
        let kept = match disk::link(target, &name) {
            Err(error) if !taken(&error) => disk::copy_new(target, &name),
            result => result,
        };
        match kept {
            Err(error) if taken(&error) => number += 1,
            Err(error) => return Err(error),
            Ok(()) => return Ok(name),
        }
    }
}
