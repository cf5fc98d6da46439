//! The status of files on Unix, and setting their attributes.

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

/// Paths need no conversion.
#[cfg(test)]
pub(crate) fn literal(path: &Path) -> std::path::PathBuf {
    path.to_owned()
}

/// Unix has no error for names that no file can have.
pub(super) fn as_missing(error: io::Error) -> io::Error {
    error
}

/// The status of an open file.
pub(super) fn stat_of(file: &File) -> io::Result<Stat> {
    file.metadata().map(|meta| status(&meta))
}

/// The status of the file or directory that a path leads to.
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

/// Whether a link count means that a file has no name any more. Some file systems report 0 for every file.
pub(super) fn has_no_link(count: u64) -> bool {
    #[cfg(test)]
    let count = if faults::counts_no_links() { 0 } else { count };
    count == 0
}

/// Reads from an offset.
pub(super) fn read_in(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(into, offset)
}

/// The error of a write that wrote only a part, up to this end of the file: the file has reached this process's limit
/// on the size of files, or the disk is full.
pub(crate) fn error_of_part(end: u64) -> io::Error {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    match limit {
        Some(limit) if end >= limit => io::Error::from_raw_os_error(libc::EFBIG),
        _ => ErrorKind::StorageFull.into(),
    }
}

/// Writes at an offset.
pub(super) fn write_in(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

/// Sets a file's mode to another's, and its owner if that is allowed. Some file systems refuse to set modes. Then the
/// file keeps its mode; that is an error only if the mode lets more users in than the other's.
pub(crate) fn set_like(file: &File, meta: &Metadata) -> io::Result<()> {
    let now = metadata_of(file)?;
    if (now.uid(), now.gid()) != (meta.uid(), meta.gid()) {
        // Only a privileged process may change the owner; for others the copy belongs to the process's user.
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

/// Copies the extended attributes of a file, on Linux with its access lists. Skips those that the file system or the
/// process's rights do not allow, and on macOS values of more than 64 KB.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(crate) fn copy_xattrs(from: &File, to: &File) {
    use rustix::fs::{fgetxattr, flistxattr, fsetxattr, XattrFlags};
    if inject(FsCall::Xattrs).is_err() {
        return;
    }
    // The largest list and value that Linux allows.
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

/// Does nothing: we do not know how to copy extended attributes on this system.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn copy_xattrs(_from: &File, _to: &File) {}

/// Whether an error means that the file system has no call to wait for the disk.
pub(crate) fn lacks_sync(error: &io::Error) -> bool {
    let codes = [libc::EINVAL, libc::ENOTSUP, libc::EOPNOTSUPP, libc::ENOTTY, libc::EBADF];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}
