//! Replacing a whole file: old or new, never in between, and the old one kept.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::core::error::{Error, Result};

/// Writes a new version of the file at `path` beside it, then puts it in its place; the old version stays as
/// `<file>.v1.bak` (numbered if there is one already). Symbolic links are followed, mode and owner kept.
pub fn replace_with_backup(path: &str, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let target = fs::canonicalize(path).map_err(|error| Error::io("realpath", path, error))?;
    let temporary = Temporary::create(&target, path)?;
    let fail = |syscall| move |error| Error::io(syscall, path, error);
    {
        let mut writer = BufWriter::with_capacity(1 << 16, &temporary.file);
        write(&mut writer)?;
        writer.flush().map_err(fail("write"))?;
    }
    temporary.file.sync_all().map_err(fail("fsync"))?;
    keep_backup(&target).map_err(fail("link"))?;
    temporary.rename_to(&target).map_err(fail("rename"))?;
    sync_dir(&target).map_err(fail("fsync"))
}

/// A file beside the target that is removed unless it takes the target's place.
struct Temporary {
    path: PathBuf,
    file: File,
    renamed: bool,
}

impl Temporary {
    fn create(target: &Path, shown: &str) -> Result<Self> {
        let fail = |syscall| move |error| Error::io(syscall, shown, error);
        let path = target.with_file_name(format!(".pi-session-{}.tmp", uuid::Uuid::new_v4().simple()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(fail("open"))?;
        let temporary = Self { path, file, renamed: false };
        let meta = fs::metadata(target).map_err(fail("stat"))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            // Only a privileged process may give files away; another one's copy is its own.
            let _ = std::os::unix::fs::fchown(&temporary.file, Some(meta.uid()), Some(meta.gid()));
        }
        temporary.file.set_permissions(meta.permissions()).map_err(fail("fchmod"))?;
        Ok(temporary)
    }

    fn rename_to(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // The failure that led here is being reported; the temporary file is of no use to anyone.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn keep_backup(target: &Path) -> io::Result<()> {
    for number in 0u32.. {
        let mut name = target.as_os_str().to_owned();
        name.push(if number == 0 { ".v1.bak".into() } else { format!(".v1.bak.{number}") });
        let taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        // File systems without hard links get a copy.
        let kept = match fs::hard_link(target, &name) {
            Err(error) if !taken(&error) => copy_new(target, Path::new(&name)),
            result => result,
        };
        match kept {
            Err(error) if taken(&error) => {}
            result => return result,
        }
    }
    Ok(())
}

fn copy_new(from: &Path, to: &Path) -> io::Result<()> {
    let mut out = OpenOptions::new().write(true).create_new(true).open(to)?;
    io::copy(&mut File::open(from)?, &mut out)?;
    out.set_permissions(fs::metadata(from)?.permissions())?;
    out.sync_all()
}

fn sync_dir(target: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(dir) = target.parent() {
        File::open(dir)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = target;
    Ok(())
}
