//! The calls to the file system, one function each. The core reads and changes files only through these functions, so
//! that tests can make each call fail (`faults`).

use std::fs::{self, DirEntry, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

pub(crate) use super::file_fingerprint::FileId;
use super::file_fingerprint::{FileFingerprint, Nanos};
use crate::base::path_syntax::without_verbatim;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use self::unix as system;
#[cfg(windows)]
use self::windows as system;

#[cfg(unix)]
pub(crate) use self::system::lacks_sync;
use self::system::{as_missing, read_in, stat_at, stat_of, write_in};
pub(crate) use self::system::{copy_xattrs, error_of_part, set_like};
#[cfg(windows)]
pub(crate) use self::system::{OPENS_DIRS, OPENS_LINKS};

/// How many bytes are copied at once.
const COPIED: usize = 1 << 18;

/// The kind of a call, for injected faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FsCall {
    Open,
    Stat,
    Read,
    Write,
    Seek,
    Truncate,
    Sync,
    Link,
    Rename,
    Remove,
    Mkdir,
    Lock,
    /// Mode and owner.
    Attributes,
    /// Extended attributes, which are copied only on Linux and macOS.
    #[cfg_attr(not(any(target_os = "linux", target_vendor = "apple")), allow(dead_code))]
    Xattrs,
    List,
}

#[cfg(not(test))]
#[inline(always)]
fn inject(_call: FsCall) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use self::faults::inject;

/// The path that is passed to the file system: unchanged.
#[cfg(not(any(test, windows)))]
#[inline(always)]
fn named(path: &Path) -> &Path {
    path
}

/// The path that is passed to the file system: verbatim on Windows, and folded where a test simulates that.
#[cfg(any(test, windows))]
fn named(path: &Path) -> PathBuf {
    #[cfg(test)]
    let path = &faults::folded(path);
    system::literal(path)
}

/// The status of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stat {
    pub is_file: bool,
    pub is_dir: bool,
    pub size: u64,
    pub file_id: FileId,
    /// Whether the file has no name any more. It is only a hint, because some file systems count no names: check the
    /// path.
    pub deleted: bool,
    /// As in [`FileFingerprint`].
    pub modified: Nanos,
    pub changed: Nanos,
}

impl Stat {
    pub(crate) fn fingerprint(&self) -> FileFingerprint {
        let Self { file_id, size, modified, changed, .. } = *self;
        FileFingerprint { file_id, size, modified, changed }
    }
}

/// Opens a file with `options`.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    inject(FsCall::Open)?;
    #[cfg(test)]
    faults::open(options)?;
    options.open(named(path)).map_err(as_missing)
}

/// Another handle of the same open file.
pub(crate) fn duplicate(file: &File) -> io::Result<File> {
    file.try_clone()
}

/// The entries of a directory.
pub(crate) fn list(dir: &Path) -> io::Result<Vec<DirEntry>> {
    inject(FsCall::List)?;
    fs::read_dir(named(dir))?.collect()
}

/// Creates a directory and its missing parents, for their owner only.
pub(crate) fn create_dirs(path: &Path) -> io::Result<()> {
    inject(FsCall::Mkdir)?;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(named(path))
}

/// Removes an empty directory, to undo a call that failed. Tests do not make it fail.
pub(crate) fn remove_dir(path: &Path) -> io::Result<()> {
    fs::remove_dir(named(path))
}

/// Whether a path leads to a file or directory. Tests do not make it fail.
pub(crate) fn exists(path: &Path) -> bool {
    named(path).exists()
}

/// The status of an open file.
#[inline]
pub(crate) fn stat(file: &File) -> io::Result<Stat> {
    inject(FsCall::Stat)?;
    stat_of(file)
}

/// The size of an open file, and whether it was deleted. We do not ask for the times, because on kernels with
/// multigrain timestamps that doubles the cost of the next write, which then writes the inode.
#[inline]
pub(crate) fn quick_stat(file: &File) -> io::Result<(u64, bool)> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{statx, AtFlags, StatxFlags};
        inject(FsCall::Stat)?;
        let asked = StatxFlags::SIZE | StatxFlags::NLINK;
        if let Ok(found) = statx(file, c"", AtFlags::EMPTY_PATH, asked) {
            return Ok((found.stx_size, system::has_no_link(found.stx_nlink.into())));
        }
        // Sandboxes may refuse this call; `fstat` returns the same.
    }
    let stat = stat(file)?;
    Ok((stat.size, stat.deleted))
}

/// The status of the file or directory at a path, links followed; None if there is none.
pub(crate) fn stat_path(path: &Path) -> io::Result<Option<Stat>> {
    inject(FsCall::Stat)?;
    match stat_at(named(path)).map_err(as_missing) {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a path leads to this open file.
pub(crate) fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let file_id = stat(file)?.file_id;
    Ok(stat_path(path)?.is_some_and(|now| now.file_id == file_id))
}

/// The attributes of the file, directory or link at a path, links not followed; None if there is none.
pub(crate) fn entry_at(path: &Path) -> io::Result<Option<fs::Metadata>> {
    inject(FsCall::Stat)?;
    match fs::symlink_metadata(named(path)).map_err(as_missing) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Allows only the owner to read and write the file at a path.
#[cfg(unix)]
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    inject(FsCall::Attributes)?;
    fs::set_permissions(named(path), std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

/// Mode, owner and size of the file at a path, links followed.
pub(crate) fn metadata(path: &Path) -> io::Result<fs::Metadata> {
    inject(FsCall::Stat)?;
    fs::metadata(named(path)).map_err(as_missing)
}

/// Mode, owner and size of an open file.
pub(crate) fn metadata_of(file: &File) -> io::Result<fs::Metadata> {
    inject(FsCall::Stat)?;
    file.metadata()
}

/// Sets the modification time of `to` to that of `from`. Ignores an error, because the file system or the process's
/// rights may not allow it.
pub(crate) fn copy_time(from: &File, to: &File) {
    let set = || inject(FsCall::Attributes).and_then(|()| to.set_modified(metadata_of(from)?.modified()?));
    let _ = set();
}

/// The path with links resolved, in the form that users write.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    inject(FsCall::Stat)?;
    let path = fs::canonicalize(named(path)).map_err(as_missing)?;
    // Windows returns `\\?\C:\x`.
    Ok(path.to_str().and_then(without_verbatim).map_or(path, PathBuf::from))
}

/// How many links are followed before they count as a loop.
const MAX_LINKS: usize = 40;
/// The system's error code for a loop of links.
#[cfg(not(windows))]
const LOOP: i32 = libc::ELOOP;
/// The system's error code for a loop of links (`ERROR_CANT_RESOLVE_FILENAME`).
#[cfg(windows)]
const LOOP: i32 = 1921;

/// The path after following symbolic links, whether or not anything exists there.
pub(crate) fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    inject(FsCall::Stat)?;
    let mut at = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(named(&at)) {
            Ok(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            // The path is not a link, or nothing exists there.
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::from_raw_os_error(LOOP))
}

/// Writes at the handle's position (for a handle that appends, the end). Returns how many bytes were written.
#[inline]
pub(crate) fn write(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    file.write(inject_write(file, bytes)?)
}

/// The part of these bytes that is written: all of them, unless a test injects a fault.
#[inline(always)]
fn inject_write<'a>(_file: &File, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
    inject(FsCall::Write)?;
    #[cfg(test)]
    faults::about(_file);
    #[cfg(test)]
    let bytes = bytes.get(..faults::shortened(bytes.len())).unwrap_or(bytes);
    Ok(bytes)
}

/// Writes to an open file at the handle's position.
pub(crate) struct Writer<'a>(pub &'a File);

impl Write for Writer<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads or overwrites an open file from an offset on. Not for a handle that appends.
pub(crate) struct At<F> {
    pub file: F,
    pub offset: u64,
}

impl<F: Deref<Target = File>> Read for At<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = read_at(&self.file, self.offset, into)?;
        self.offset += size as u64;
        Ok(size)
    }
}

impl<F: Deref<Target = File>> Write for At<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = write_in(&self.file, inject_write(&self.file, bytes)?, self.offset)?;
        self.offset += size as u64;
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads from `offset`. Returns how many bytes were read.
pub(crate) fn read_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    inject(FsCall::Read)?;
    #[cfg(test)]
    let into = {
        let size = faults::shortened(into.len());
        into.get_mut(..size).unwrap_or_default()
    };
    read_in(file, into, offset)
}

/// Fills `into` from `offset`. Fails if the file ends before.
pub(crate) fn read_exact_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
    At { file, offset }.read_exact(into)
}

/// The handle's position. After a write at the end of a file it is the end of that write, even if others have written
/// since.
#[inline]
pub(crate) fn position(mut file: &File) -> io::Result<u64> {
    inject(FsCall::Seek)?;
    io::Seek::stream_position(&mut file)
}

/// Locks a file; false if another handle has locked it. The lock ends when the last duplicate of this handle is closed.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    inject(FsCall::Lock)?;
    taken(file.try_lock())
}

/// Locks a file for sharing; false if another handle has an exclusive lock. The lock ends when the last duplicate of
/// this handle is closed.
pub(crate) fn try_lock_shared(file: &File) -> io::Result<bool> {
    inject(FsCall::Lock)?;
    taken(file.try_lock_shared())
}

/// Unlocks a file. Closing the file unlocks it too. No system lets this fail while the file is open.
pub(crate) fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}

fn taken(result: Result<(), TryLockError>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Truncates a file.
pub(crate) fn truncate(file: &File, size: u64) -> io::Result<()> {
    inject(FsCall::Truncate)?;
    file.set_len(size)
}

/// Waits until the file is on disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    sync_by(File::sync_all, file)
}

/// Waits until the file's content is on disk, but not necessarily its times. For appended lines.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    sync_by(File::sync_data, file)
}

fn sync_by(call: fn(&File) -> io::Result<()>, file: &File) -> io::Result<()> {
    inject(FsCall::Sync)?;
    #[cfg(test)]
    faults::about(file);
    #[cfg(test)]
    let call = |file: &File| faults::full_sync(file).and_then(|()| call(file));
    match call(file) {
        // macOS also flushes the drive's cache; SMB and FUSE have no call for that.
        #[cfg(unix)]
        Err(error) if lacks_sync(&error) => {
            #[cfg(test)]
            faults::sync(file)?;
            Ok(rustix::fs::fsync(file)?)
        }
        synced => synced,
    }
}

/// Creates a second name for a file. Fails if that name exists.
pub(crate) fn link(from: &Path, to: &Path) -> io::Result<()> {
    inject(FsCall::Link)?;
    fs::hard_link(named(from), named(to))
}

/// Copies the first `end` bytes and the attributes of an open file to another, and waits until they are on disk.
pub(crate) fn copy(from: &File, end: u64, out: &File) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(COPIED, Writer(out));
    let size = io::copy(&mut At { file: from, offset: 0 }.take(end), &mut writer)?;
    writer.flush()?;
    if size < end {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    set_like(out, &metadata_of(from)?)?;
    copy_xattrs(from, out);
    sync(out)
}

/// Renames a file, and replaces a file that has the new name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    inject(FsCall::Rename)?;
    fs::rename(named(from), named(to))
}

/// Whether a rename failed because the file is open. On systems without POSIX rename an open file cannot be renamed.
pub(crate) fn is_in_use(error: &io::Error) -> bool {
    // Windows: access denied, sharing violation.
    let codes = if cfg!(windows) { &[5, 32][..] } else { &[] };
    error.kind() == io::ErrorKind::ResourceBusy || error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Renames a file. Fails if the new name exists.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{renameat_with, RenameFlags, CWD};
        use rustix::io::Errno;
        inject(FsCall::Rename)?;
        match renameat_with(CWD, named(from), CWD, named(to), RenameFlags::NOREPLACE) {
            // Some file systems and sandboxes do not have this call. There another program may create the name between
            // the check and the rename.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::PERM) => {}
            result => return Ok(result?),
        }
    }
    match entry_at(to)? {
        Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        None => rename(from, to),
    }
}

/// Removes a file's name.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    inject(FsCall::Remove)?;
    fs::remove_file(named(path))
}

#[cfg(test)]
pub mod faults;

#[cfg(test)]
mod tests;
