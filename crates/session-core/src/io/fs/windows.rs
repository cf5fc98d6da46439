//! The status of files on Windows, which needs their handle.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::{
    FileBasicInfo, FileStandardInfo, GetFileInformationByHandle, GetFileInformationByHandleEx, GetFileType,
    BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_INFO_BY_HANDLE_CLASS, FILE_STANDARD_INFO, FILE_TYPE_DISK,
};

use crate::base::error::is_name_of_nothing;
use crate::base::path_syntax::with_verbatim;

use super::{inject, FileId, FsCall, Nanos, Stat};

/// A flag with which directories can be opened, too.
pub(crate) const OPENS_DIRS: u32 = FILE_FLAG_BACKUP_SEMANTICS;
/// A flag with which a link is opened instead of its target.
pub(crate) const OPENS_LINKS: u32 = FILE_FLAG_OPEN_REPARSE_POINT;

/// A path in its verbatim form (`\\?\`), which Windows does not change.
pub(crate) fn literal(path: &Path) -> PathBuf {
    path.to_str().and_then(with_verbatim).map_or_else(|| path.to_owned(), PathBuf::from)
}

/// Reports an invalid name as `NotFound`.
pub(crate) fn as_missing(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) if is_name_of_nothing(code) => io::ErrorKind::NotFound.into(),
        _ => error,
    }
}

/// The status of the file or directory that a path leads to.
pub(crate) fn stat_at(path: impl AsRef<Path>) -> io::Result<Stat> {
    // Opened without access rights, so that no sharing mode of another program can refuse it.
    stat_of(&OpenOptions::new().access_mode(0).custom_flags(OPENS_DIRS).open(path)?)
}

/// Reads from an offset, which moves the handle's position.
pub(crate) fn read_in(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(into, offset)
}

/// Writes at an offset, which moves the handle's position.
pub(crate) fn write_in(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(bytes, offset)
}

/// The error of a write that wrote only a part.
pub(crate) fn error_of_part(_end: u64) -> io::Error {
    io::ErrorKind::StorageFull.into()
}

/// Makes a file read-only if another is.
pub(crate) fn set_like(file: &File, meta: &Metadata) -> io::Result<()> {
    inject(FsCall::Attributes)?;
    file.set_permissions(meta.permissions())
}

/// Does nothing: programs do not use extended attributes on Windows.
pub(crate) fn copy_xattrs(_from: &File, _to: &File) {}

/// The status of an open file.
pub(crate) fn stat_of(file: &File) -> io::Result<Stat> {
    // SAFETY: the handle is open for as long as `file` is borrowed.
    if unsafe { GetFileType(file.as_raw_handle()) } != FILE_TYPE_DISK {
        let file_id = FileId { device: 0, inode: 0 };
        let (is_file, is_dir, deleted) = (false, false, false);
        return Ok(Stat { is_file, is_dir, size: 0, file_id, deleted, modified: 0, changed: 0 });
    }
    let mut by_handle = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open for as long as `file` is borrowed, and the call fills `by_handle`.
    if unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut by_handle) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let basic: FILE_BASIC_INFO = info(file)?;
    let standard: FILE_STANDARD_INFO = info(file)?;
    let joined = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    Ok(Stat {
        is_file: !standard.Directory,
        is_dir: standard.Directory,
        size: joined(by_handle.nFileSizeHigh, by_handle.nFileSizeLow),
        file_id: FileId {
            device: by_handle.dwVolumeSerialNumber.into(),
            inode: joined(by_handle.nFileIndexHigh, by_handle.nFileIndexLow),
        },
        deleted: standard.DeletePending || by_handle.nNumberOfLinks == 0,
        modified: since_1970(basic.LastWriteTime),
        changed: since_1970(basic.ChangeTime),
    })
}

/// A structure that Windows fills, and its class of information.
trait Information: Default {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS;
}

impl Information for FILE_BASIC_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileBasicInfo;
}

impl Information for FILE_STANDARD_INFO {
    const CLASS: FILE_INFO_BY_HANDLE_CLASS = FileStandardInfo;
}

/// Information about an open file.
fn info<T: Information>(file: &File) -> io::Result<T> {
    let mut into = T::default();
    let size = size_of::<T>() as u32;
    // SAFETY: the handle is open for as long as `file` is borrowed, and `into` is the structure of the class and has
    // `size` bytes.
    match unsafe { GetFileInformationByHandleEx(file.as_raw_handle(), T::CLASS, (&raw mut into).cast(), size) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(into),
    }
}

/// Converts a time of Windows, in steps of 100 ns since 1601.
fn since_1970(time: i64) -> Nanos {
    const BETWEEN: i64 = 116_444_736_000_000_000;
    time.saturating_sub(BETWEEN).saturating_mul(100)
}
