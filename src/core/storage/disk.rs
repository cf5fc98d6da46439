//! The calls to the file system, one function each. Everything that the engine does to a session file goes through
//! here, so that tests can make each call fail in turn ([`faults`]); elsewhere these are plain calls.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A call, for the plan of faults and for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
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
    Copy,
}

#[cfg(not(test))]
#[inline(always)]
fn ask(_call: Call) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use faults::ask;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Reading, and writing at the end.
    Append,
    /// Writing in place.
    Overwrite,
}

/// Which file a path or handle leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

/// What the engine looks at of a file.
#[derive(Debug, Clone, Copy)]
pub struct Stat {
    pub size: u64,
    pub identity: Identity,
    /// Whether no name leads to the file any more. Elsewhere than on Unix an open file cannot be deleted.
    pub deleted: bool,
    /// Whether the file's name, mode or owner may have changed since it was last written to.
    pub moved: bool,
}

impl Stat {
    fn of(meta: &fs::Metadata) -> io::Result<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Ok(Self {
                size: meta.len(),
                identity: Identity { device: meta.dev(), inode: meta.ino() },
                deleted: meta.nlink() == 0,
                // A write sets both times; a rename or a new link sets the inode's alone.
                moved: (meta.ctime(), meta.ctime_nsec()) != (meta.mtime(), meta.mtime_nsec()),
            })
        }
        #[cfg(not(unix))]
        {
            // Without inode numbers the creation time tells a file from its replacement.
            let created = meta.created()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let identity = Identity { device: created.as_secs(), inode: u64::from(created.subsec_nanos()) };
            Ok(Self { size: meta.len(), identity, deleted: false, moved: false })
        }
    }
}

/// Opens a file that must be there.
pub fn open(path: &Path, access: Access) -> io::Result<File> {
    ask(Call::Open)?;
    let mut options = OpenOptions::new();
    match access {
        Access::Read => options.read(true),
        Access::Append => options.read(true).append(true),
        Access::Overwrite => options.write(true),
    };
    options.open(path)
}

/// Opens a file, but nothing that may have no end or block: no pipe, no device. Directories fail when they are read.
pub fn open_regular(path: &Path, access: Access) -> io::Result<File> {
    let kind = metadata(path)?.file_type();
    match kind.is_file() || kind.is_dir() {
        true => open(path, access),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Creates a file for its owner alone; an error if something is there already.
pub fn create(path: &Path) -> io::Result<File> {
    ask(Call::Open)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Looks at an open file.
#[inline]
pub fn stat(file: &File) -> io::Result<Stat> {
    ask(Call::Stat)?;
    Stat::of(&file.metadata()?)
}

/// Looks at the length of an open file, and whether it was deleted; nothing else. Asking for times as well would make
/// every write behind the question write the inode too, at twice its cost, on kernels that give each question its answer.
#[inline]
pub fn glance(file: &File) -> io::Result<(u64, bool)> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{statx, AtFlags, StatxFlags};
        ask(Call::Stat)?;
        let asked = StatxFlags::SIZE | StatxFlags::NLINK;
        if let Ok(found) = statx(file, c"", AtFlags::EMPTY_PATH, asked) {
            return Ok((found.stx_size, found.stx_nlink == 0));
        }
        // Sandboxes may refuse the call; the plain one says the same.
    }
    let stat = stat(file)?;
    Ok((stat.size, stat.deleted))
}

/// Looks at what a path leads to; None if that is nothing.
pub fn stat_path(path: &Path) -> io::Result<Option<Stat>> {
    ask(Call::Stat)?;
    match fs::metadata(path) {
        Ok(meta) => Stat::of(&meta).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Mode, owner and times of what a path leads to.
pub fn metadata(path: &Path) -> io::Result<fs::Metadata> {
    ask(Call::Stat)?;
    fs::metadata(path)
}

/// The path without links in it.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    ask(Call::Stat)?;
    fs::canonicalize(path)
}

/// Writes at the handle's position, which for [`Access::Append`] is the end; tells how much.
#[inline]
pub fn write(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    ask(Call::Write)?;
    #[cfg(test)]
    faults::about(file);
    #[cfg(test)]
    let bytes = bytes.get(..faults::shortened(bytes.len())).unwrap_or(bytes);
    io::Write::write(&mut file, bytes)
}

/// Writes all of `bytes` at the handle's position.
pub fn write_all(file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(file, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(size) => bytes = bytes.get(size..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads from `offset`; tells how much.
pub fn read_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    ask(Call::Read)?;
    #[cfg(test)]
    let into = {
        let size = faults::shortened(into.len());
        into.get_mut(..size).unwrap_or_default()
    };
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, into, offset);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, into, offset);
}

/// Writes all of `bytes` over what stands at `offset`; the handle is one for [`Access::Overwrite`].
pub fn write_all_at(file: &File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = ask(Call::Write).and_then(|()| {
            #[cfg(unix)]
            return std::os::unix::fs::FileExt::write_at(file, bytes, offset);
            #[cfg(windows)]
            return std::os::windows::fs::FileExt::seek_write(file, bytes, offset);
        });
        match written {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(size) => {
                offset += size as u64;
                bytes = bytes.get(size..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The handle's position. After a write at the end of a file it is where that write ended, wherever others had moved
/// the end.
#[inline]
pub fn position(mut file: &File) -> io::Result<u64> {
    ask(Call::Seek)?;
    io::Seek::stream_position(&mut file)
}

/// Cuts a file.
pub fn truncate(file: &File, size: u64) -> io::Result<()> {
    ask(Call::Truncate)?;
    file.set_len(size)
}

/// Waits until the disk has what was written.
pub fn sync(file: &File) -> io::Result<()> {
    ask(Call::Sync)?;
    #[cfg(test)]
    faults::about(file);
    file.sync_all()
}

/// The same without the times, for a line that was added.
pub fn sync_data(file: &File) -> io::Result<()> {
    ask(Call::Sync)?;
    #[cfg(test)]
    faults::about(file);
    file.sync_data()
}

/// Waits until the disk has the names in the directory of `path`.
pub fn sync_dir_of(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = open(dir, Access::Read)?;
        sync(&dir)?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Gives a file a second name; an error if that is taken.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    ask(Call::Link)?;
    fs::hard_link(from, to)
}

/// Copies a file to a new name; an error if that is taken.
pub fn copy_new(from: &Path, to: &Path) -> io::Result<()> {
    let source = open(from, Access::Read)?;
    let mut out = create(to)?;
    let copied = (|| {
        ask(Call::Copy)?;
        io::copy(&mut &source, &mut out)?;
        out.set_permissions(metadata(from)?.permissions())?;
        sync(&out)
    })();
    if copied.is_err() {
        // Half a copy is of no use; the error that led here is the one to report.
        let _ = remove(to);
    }
    copied
}

/// Renames a file over whatever has the new name.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    ask(Call::Rename)?;
    fs::rename(from, to)
}

/// Removes a name.
pub fn remove(path: &Path) -> io::Result<()> {
    ask(Call::Remove)?;
    fs::remove_file(path)
}

/// Makes a directory and those above it, for their owner alone.
pub fn make_dirs(path: &Path) -> io::Result<()> {
    ask(Call::Mkdir)?;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
pub mod faults;
