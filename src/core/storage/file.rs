//! The file engine. Files are opened when needed and kept open, but only so many at once: a process may hold more
//! managers than it may hold open files.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::{Place, Storage};
use crate::core::error::{Error, Result};

/// How many session files are kept open at once.
const MAX_OPEN: usize = 64;

type Slot = Mutex<Option<Arc<File>>>;

/// The open files, the longest open first.
static OPEN: Mutex<VecDeque<Weak<Slot>>> = Mutex::new(VecDeque::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Which file a path led to, to notice that it leads to another one now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

fn identity(file: &File) -> io::Result<Identity> {
    let meta = file.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Ok(Identity { device: meta.dev(), inode: meta.ino() })
    }
    #[cfg(not(unix))]
    {
        // Without inode numbers the creation time tells a file from its replacement.
        let created = meta.created()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Ok(Identity { device: created.as_secs(), inode: u64::from(created.subsec_nanos()) })
    }
}

/// One session file.
pub struct FileStorage {
    path: String,
    identity: Identity,
    reader: Arc<Slot>,
    writer: Arc<Slot>,
    unended: bool,
}

impl FileStorage {
    /// The file at `path`, which must be there. It is opened for reading; writing opens it when it comes to that.
    pub fn open(path: &str) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
        Self::with_reader(path, file)
    }

    fn with_reader(path: &str, file: File) -> Result<Self> {
        let identity = identity(&file).map_err(|error| Error::io("fstat", path, error))?;
        let reader = Arc::new(Mutex::new(None));
        keep_open(&reader, Arc::new(file));
        Ok(Self { path: path.to_owned(), identity, reader, writer: Arc::default(), unended: false })
    }

    fn with_file<T>(&self, writing: bool, work: impl FnOnce(&File) -> Result<T>) -> Result<T> {
        let slot = if writing { &self.writer } else { &self.reader };
        let open = lock(slot).clone();
        if let Some(file) = open {
            return work(&file);
        }
        let file = OpenOptions::new()
            .read(true)
            .append(writing)
            .open(&self.path)
            .map_err(|error| Error::io("open", &self.path, error))?;
        let now = identity(&file).map_err(|error| Error::io("fstat", &self.path, error))?;
        if now != self.identity {
            return Err(Error::changed(&self.path, "the path leads to another file"));
        }
        let file = Arc::new(file);
        let result = work(&file);
        keep_open(slot, file);
        result
    }

    /// Writes all of `bytes` at the end; cuts back what was written of it when that fails.
    fn write_at_end(&self, file: &File, bytes: &[u8]) -> Result<u64> {
        let fail = |syscall, error| Error::io(syscall, &self.path, error);
        let before = file.metadata().map_err(|error| fail("fstat", error))?.len();
        let mut written = 0;
        let mut writer = file;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match writer.write(rest) {
                Ok(0) => {
                    self.cut_back(file, before, written);
                    return Err(fail("write", io::ErrorKind::WriteZero.into()));
                }
                Ok(size) => written += size,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.cut_back(file, before, written);
                    return Err(fail("write", error));
                }
            }
        }
        // Appending writes move the position to their end, wherever others had moved the end of the file.
        let end = io::Seek::stream_position(&mut writer).map_err(|error| fail("lseek", error))?;
        Ok(end - bytes.len() as u64)
    }

    /// Takes half a line back out, if nobody wrote behind it. That this may fail too changes nothing for the caller,
    /// who is told of the failed write.
    fn cut_back(&self, file: &File, before: u64, written: usize) {
        let ours_is_last = file.metadata().is_ok_and(|meta| meta.len() == before + written as u64);
        if written > 0 && ours_is_last {
            let _ = file.set_len(before);
        }
    }
}

impl Drop for FileStorage {
    fn drop(&mut self) {
        // A closed slot still has its place in the list; taking the files out here closes them at once.
        lock(&self.reader).take();
        lock(&self.writer).take();
    }
}

fn keep_open(slot: &Arc<Slot>, file: Arc<File>) {
    *lock(slot) = Some(file);
    let mut open = lock(&OPEN);
    open.retain(|other| other.upgrade().is_some_and(|other| Arc::ptr_eq(&other, slot) || lock(&other).is_some()));
    open.push_back(Arc::downgrade(slot));
    while open.len() > MAX_OPEN {
        if let Some(oldest) = open.pop_front().and_then(|oldest| oldest.upgrade()) {
            lock(&oldest).take();
        }
    }
}

impl Storage for FileStorage {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.with_file(false, |file| {
            read_exact_at(file, offset, into).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => Error::changed(&self.path, "it is shorter than it was"),
                _ => Error::io("read", &self.path, error),
            })
        })
    }

    fn reader(&self, offset: u64) -> Result<Box<dyn Read + '_>> {
        Ok(Box::new(ReadFrom { storage: self, offset }))
    }

    fn size(&self) -> Result<Option<u64>> {
        self.with_file(false, |file| {
            let meta = file.metadata().map_err(|error| Error::io("fstat", &self.path, error))?;
            if !is_deleted(&meta) {
                return Ok(Some(meta.len()));
            }
            match Path::new(&self.path).exists() {
                true => Err(Error::changed(&self.path, "another file has taken its place")),
                false => Ok(None),
            }
        })
    }

    fn append(&mut self, line: &[u8]) -> Result<Place> {
        let mut bytes = Vec::with_capacity(line.len() + 2);
        bytes.extend_from_slice(if self.unended { b"\n" } else { b"" });
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        let offset = self.with_file(true, |file| self.write_at_end(file, &bytes))?;
        let lead = u64::from(self.unended);
        self.unended = false;
        Ok(Place::of(offset + lead, line.len()))
    }

    fn set_unended(&mut self, unended: bool) {
        self.unended = unended;
    }

    fn name(&self) -> &str {
        &self.path
    }
}

/// Whether no name leads to an open file any more.
fn is_deleted(meta: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(meta) == 0;
    // Elsewhere an open file cannot be deleted.
    #[cfg(not(unix))]
    {
        let _ = meta;
        false
    }
}

struct ReadFrom<'a> {
    storage: &'a FileStorage,
    offset: u64,
}

impl Read for ReadFrom<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.storage.with_file(false, |file| Ok(read_at(file, self.offset, into)));
        let size = read.map_err(io::Error::other)??;
        self.offset += size as u64;
        Ok(size)
    }
}

#[cfg(unix)]
fn read_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

#[cfg(windows)]
fn read_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, offset)
}

fn read_exact_at(file: &File, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        match read_at(file, offset, into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(size) => {
                offset += size as u64;
                into = into.get_mut(size..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A file that is being written for the first time. It is removed again unless [`NewFile::finish`] is reached.
pub struct NewFile {
    path: String,
    file: Option<io::BufWriter<File>>,
    size: u64,
}

impl NewFile {
    /// Creates the file for its owner alone; an error if something is there already.
    pub fn create(path: &str) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| Error::io("open", path, error))?;
        Ok(Self { path: path.to_owned(), file: Some(io::BufWriter::with_capacity(1 << 16, file)), size: 0 })
    }

    /// Adds one line, given without its newline, and tells where it stands.
    pub fn line(&mut self, line: &[u8]) -> Result<Place> {
        let place = Place::of(self.size, line.len());
        self.write(line)?;
        self.write(b"\n")?;
        Ok(place)
    }

    /// Adds bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.write_all(bytes).map_err(|error| Error::io("write", &self.path, error))?;
        }
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Hands everything to the system and keeps the file.
    pub fn finish(mut self) -> Result<FileStorage> {
        if let Some(file) = &mut self.file {
            file.flush().map_err(|error| Error::io("write", &self.path, error))?;
        }
        let storage = FileStorage::open(&self.path)?;
        self.file = None;
        Ok(storage)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // What failed is being reported already; a half-written file must not stand in the way of a retry.
            drop(file.into_parts());
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes a directory and those above it, for their owner alone.
pub fn make_dir(path: &str) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(Path::new(path)).map_err(|error| Error::io("mkdir", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_managers_than_open_files_read_and_write() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut all: Vec<_> = (0..3 * MAX_OPEN)
            .map(|n| {
                let path = dir.path().join(n.to_string());
                let mut file = NewFile::create(path.to_str().expect("text")).expect("created");
                file.line(n.to_string().as_bytes()).expect("written");
                file.finish().expect("kept")
            })
            .collect();
        for (n, storage) in all.iter_mut().enumerate() {
            let place = storage.append(b"more").expect("appended");
            assert_eq!(place.offset, n.to_string().len() as u64 + 1);
            let mut line = vec![0; place.len as usize];
            storage.read_at(place.offset, &mut line).expect("read");
            assert_eq!(line, b"more");
        }
        assert!(lock(&OPEN).len() <= MAX_OPEN);
    }

    #[test]
    fn a_file_that_was_not_finished_is_gone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x").to_str().expect("text").to_owned();
        let mut file = NewFile::create(&path).expect("created");
        file.line(b"half").expect("written");
        drop(file);
        assert!(!Path::new(&path).exists());
        assert!(NewFile::create(&path).is_ok());
    }

    #[test]
    fn an_unended_line_is_ended_first() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x").to_str().expect("text").to_owned();
        std::fs::write(&path, "half").expect("written");
        let mut storage = FileStorage::open(&path).expect("opened");
        storage.set_unended(true);
        assert_eq!(storage.append(b"one").expect("appended"), Place { offset: 5, len: 3 });
        assert_eq!(storage.append(b"two").expect("appended"), Place { offset: 9, len: 3 });
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "half\none\ntwo\n");
    }
}
