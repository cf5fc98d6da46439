//! What Unix tells of a file, and how its attributes are set.

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
use std::ffi::CStr;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

#[cfg(test)]
use super::faults;
use super::{inject, metadata_of, FileId, FsCall, Stat};
use crate::io::file_fingerprint::SECOND;

/// Every path is taken as it is.
#[cfg(test)]
pub(crate) fn literal(path: &Path) -> std::path::PathBuf {
    path.to_owned()
}

/// Every name that a program can give may be one of a file.
pub(super) fn as_missing(error: io::Error) -> io::Error {
    error
}

/// The status of an open file.
pub(super) fn stat_of(file: &File) -> io::Result<Stat> {
    file.metadata().map(|meta| status(&meta))
}

/// The status of what a path leads to.
pub(super) fn stat_at(path: impl AsRef<Path>) -> io::Result<Stat> {
    fs::metadata(path).map(|meta| status(&meta))
}

fn status(meta: &Metadata) -> Stat {
    let time = |seconds: i64, nanos| seconds.saturating_mul(SECOND).saturating_add(nanos);
    let [modified, changed] = [time(meta.mtime(), meta.mtime_nsec()), time(meta.ctime(), meta.ctime_nsec())];
    #[cfg(test)]
    let [modified, changed] = [modified, changed].map(faults::kept_time);
    let (is_file, is_dir, deleted) = (meta.is_file(), meta.is_dir(), has_no_link(meta.nlink()));
    let file_id = FileId { device: meta.dev(), inode: meta.ino() };
    Stat { is_file, is_dir, size: meta.len(), file_id, deleted, modified, changed }
}

/// Whether a link count says that no name leads to a file. Some file systems say so of every file.
pub(super) fn has_no_link(count: u64) -> bool {
    #[cfg(test)]
    let count = if faults::counts_no_links() { 0 } else { count };
    count == 0
}

/// Reads from an offset.
pub(super) fn read_in(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(into, offset)
}

/// Writes at an offset.
pub(super) fn write_in(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

/// Gives a file another's mode, and its owner where that is allowed. Some file systems refuse to set modes: then the file
/// keeps its own, which is an error only if it lets more users in than the other's.
pub(crate) fn set_like(file: &File, meta: &Metadata) -> io::Result<()> {
    let now = metadata_of(file)?;
    if (now.uid(), now.gid()) != (meta.uid(), meta.gid()) {
        // Only a privileged process may give files away; another one's copy is its own.
        let _ = std::os::unix::fs::fchown(file, Some(meta.uid()), Some(meta.gid()));
    }
    if now.mode() & 0o7777 == meta.mode() & 0o7777 {
        return Ok(());
    }
    let is_wider = now.mode() & 0o777 & !meta.mode() != 0;
    match inject(FsCall::Attributes).and_then(|()| file.set_permissions(meta.permissions())) {
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) && !is_wider => {
            Ok(())
        }
        set => set,
    }
}

/// Gives a file the extended attributes of another; on Linux access lists are among them. What the file system or the process's
/// rights do not allow is left out, and on macOS a value of more than 64 KB.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(crate) fn copy_xattrs(from: &File, to: &File) {
    use rustix::fs::{fgetxattr, flistxattr, fsetxattr, XattrFlags};
    if inject(FsCall::Xattrs).is_err() {
        return;
    }
    // Linux has no longer list and no longer value.
    let (mut names, mut value) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let size = flistxattr(from, &mut names[..]).unwrap_or_default();
    names.truncate(size);
    for name in names.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok()) {
        let size = fgetxattr(from, name, &mut value[..]);
        if let Some(value) = size.ok().and_then(|size| value.get(..size)) {
            let _ = fsetxattr(to, name, value, XattrFlags::empty());
        }
    }
}

/// Gives a file the extended attributes of another, where that is known how.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn copy_xattrs(_from: &File, _to: &File) {}

/// Whether an error says that the file system has no call to wait for the disk.
pub(crate) fn lacks_sync(error: &io::Error) -> bool {
    let codes = [libc::EINVAL, libc::ENOTSUP, libc::EOPNOTSUPP, libc::ENOTTY, libc::EBADF];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}
