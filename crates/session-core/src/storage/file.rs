//! File storage: appends, rollbacks, checks and reads of one session file.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::path_check::LastPathCheck;
use super::write_lock::{lock_briefly, unlock};
use crate::base::error::{Error, Result, WithCall};
use crate::base::memory::reserve;
use crate::base::options::Durability;
use crate::base::threads::locked;
use crate::io::dirs;
use crate::io::file_fingerprint::{now, would_show_change};
use crate::io::fs::{self, At, FileId};
use crate::io::open::{self, Access};
use crate::lines::line_span::LineSpan;
use crate::storage::storage::{FileStatus, Storage};

/// How often, and at which interval, an unterminated line is checked again. After that we assume that nobody will end
/// it.
const UNTERMINATED_LINE_CHECKS: u32 = 3;
const UNTERMINATED_LINE_PAUSE: Duration = Duration::from_millis(1);

/// Overwrites bytes of ours, piece by piece, if others wrote after them.
const SPACES: &[u8] = &[b' '; 8 << 10];

/// An open file, for reading or also for appending.
#[derive(Debug, Clone)]
struct OpenFile {
    file: Arc<File>,
    appends: bool,
}

/// The result of opening the file again.
enum Reached {
    OpenFile(OpenFile),
    /// Nothing is at the path.
    Missing,
    /// Another file is at the path.
    Other,
}

/// One session file.
#[derive(Debug)]
pub struct FileStorage {
    path: String,
    /// The path with links followed, when the file was opened.
    target: PathBuf,
    file_id: FileId,
    /// None after [`Storage::close`], until the file is used again.
    handle: Mutex<Option<OpenFile>>,
    is_unterminated: bool,
    shared: bool,
    /// Whether the caller has the write lock.
    is_locked: bool,
    durability: Durability,
    path_check: LastPathCheck,
    /// Whether the file was opened again since the last check. While it was closed, another file may have got its
    /// inode.
    reopened: AtomicBool,
}

impl FileStorage {
    /// Opens the file at `path`, which must exist, for reading. The first append opens it for writing.
    pub fn open(path: &str) -> Result<Self> {
        let file = open::regular(Path::new(path), Access::Read).with_call("open", path)?;
        let stat = fs::stat(&file).with_call("fstat", path)?;
        let target = fs::resolve_links(Path::new(path)).with_call("readlink", path)?;
        Ok(Self::with(path, target, stat.file_id, file, Durability::Os))
    }

    /// The storage of a new file that was written under another name, and will be renamed to `target`, to which `path`
    /// leads.
    pub(crate) fn of_new(path: &str, target: &Path, file: &File, durability: Durability) -> Result<Self> {
        let file_id = fs::stat(file).with_call("open", path)?.file_id;
        Ok(Self::with(path, target.to_owned(), file_id, fs::duplicate(file).with_call("open", path)?, durability))
    }

    /// Ends the lock on the file that it has while it is written.
    pub(crate) fn unlock(&self) {
        if let Some(handle) = self.open_handle() {
            // This fails only where files cannot be locked.
            let _ = fs::unlock(&handle.file);
        }
    }

    fn with(path: &str, target: PathBuf, file_id: FileId, file: File, durability: Durability) -> Self {
        Self {
            path: path.to_owned(),
            handle: Mutex::new(Some(OpenFile { file: Arc::new(file), appends: false })),
            target,
            file_id,
            is_unterminated: false,
            shared: false,
            is_locked: false,
            durability,
            path_check: LastPathCheck::default(),
            reopened: AtomicBool::new(false),
        }
    }

    pub(crate) fn file_id(&self) -> FileId {
        self.file_id
    }

    pub(crate) fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Whether the path leads to this file now. Unlike [`Storage::status`] this does not delay the next path check.
    pub(crate) fn has_its_name(&self) -> Result<bool> {
        let found = fs::stat_path(Path::new(&self.path)).with_call("stat", &self.path)?;
        Ok(found.is_some_and(|found| found.file_id == self.file_id))
    }

    /// Waits until nobody has the write lock, but no longer than a write takes. A process that replaces a file has the
    /// lock of the new one until it has copied all lines to it.
    pub(crate) fn wait_until_unlocked(&self) {
        if let Some(handle) = self.open_handle() {
            if lock_briefly(&handle.file) {
                unlock(&handle.file);
            }
        }
    }

    /// Sets whether the caller has the write lock, so that appends do not wait for it.
    pub(crate) fn set_locked(&mut self, is_locked: bool) {
        self.is_locked = is_locked;
    }

    fn open_handle(&self) -> Option<OpenFile> {
        locked(&self.handle).clone()
    }

    /// A handle for reading, or also for appending. Opens the file again if it was closed.
    fn reach(&self, appends: bool) -> Result<Reached> {
        let open = self.open_handle();
        let was_open = open.is_some();
        if let Some(handle) = open.as_ref().filter(|handle| handle.appends || !appends) {
            return Ok(Reached::OpenFile(handle.clone()));
        }
        let access = if appends { Access::Append } else { Access::Read };
        let file = match open::regular(Path::new(&self.path), access) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Reached::Missing),
            Err(error) if open.is_some_and(|open| is_deleted_by(&error, &open.file)) && !self.has_name() => {
                return Ok(Reached::Missing)
            }
            result => result.with_call("open", &self.path)?,
        };
        if fs::stat(&file).with_call("fstat", &self.path)?.file_id != self.file_id {
            return Ok(Reached::Other);
        }
        if !was_open {
            self.reopened.store(true, Ordering::Relaxed);
        }
        let handle = OpenFile { file: Arc::new(file), appends };
        *locked(&self.handle) = Some(handle.clone());
        Ok(Reached::OpenFile(handle))
    }

    /// Whether the path leads to a file.
    fn has_name(&self) -> bool {
        fs::stat_path(Path::new(&self.path)).is_ok_and(|found| found.is_some())
    }

    fn handle(&self, appends: bool) -> Result<OpenFile> {
        match self.reach(appends)? {
            Reached::OpenFile(handle) => Ok(handle),
            Reached::Missing => Err(Error::io("open", &self.path, io::ErrorKind::NotFound.into())),
            Reached::Other => Err(Error::elsewhere(&self.path)),
        }
    }

    /// Appends all of `bytes` in one write and returns their position. Rolls them back if that fails.
    fn write_at_end(&self, file: &File, bytes: &[u8]) -> Result<u64> {
        let size = loop {
            match fs::write(file, bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written.with_call("write", &self.path)?,
            }
        };
        let written = bytes.get(..size).unwrap_or(bytes);
        // In append mode a write moves the position to its own end, wherever the end of the file was.
        let end = fs::position(file).map_err(|error| {
            // We do not know the position of the bytes. We roll them back if the last bytes of the file equal ours.
            // Otherwise they stay, and are read like the line of another process.
            if let Some(at) = fs::stat(file).ok().and_then(|now| now.size.checked_sub(size as u64)) {
                let _ = self.roll_back(file, at, [written, b""]);
            }
            Error::io("lseek", &self.path, error)
        })?;
        if size < bytes.len() {
            let _ = self.roll_back(file, end - size as u64, [written, b""]);
            // Writing the rest would show the reason, but at a limit on the size of files the process would get a
            // signal (SIGXFSZ) that ends it.
            return Err(Error::io("write", &self.path, fs::error_of_part(end)));
        }
        Ok(end - size as u64)
    }

    /// Rolls back our own bytes: truncates them if they are the last, else overwrites the first part with spaces. If
    /// this fails after a failed append, a damaged line stays.
    fn roll_back(&self, file: &File, offset: u64, ours: [&[u8]; 2]) -> io::Result<()> {
        match self.cut(file, offset, ours) {
            Ok(true) => Ok(()),
            _ => self.overwrite_with_spaces(file, offset, ours[0]),
        }
    }

    /// Truncates our own bytes. False if they are not the last, or not there any more.
    fn cut(&self, file: &File, offset: u64, ours: [&[u8]; 2]) -> io::Result<bool> {
        // Our writers use this lock only after they have noticed each other, so we lock here too. The caller may have
        // it already.
        let locked = !self.is_locked && !self.uses_write_lock() && lock_briefly(file);
        let is_last = || {
            let mut end = offset;
            for part in ours {
                if !has_bytes_at(file, end, part)? {
                    return Ok(false);
                }
                end += part.len() as u64;
            }
            Ok(fs::stat(file)?.size == end)
        };
        let done = is_last().and_then(|is_last| {
            if is_last {
                fs::truncate(file, offset)?;
            }
            Ok(is_last)
        });
        if locked {
            unlock(file);
        }
        done
    }

    /// Whether each write takes the write lock.
    fn uses_write_lock(&self) -> bool {
        // On systems other than Unix a lock would stop every other program from writing.
        cfg!(unix) && (self.shared || self.is_unterminated) && !self.is_locked
    }

    /// Runs work under the write lock if others write to the file too, because their lines must not be truncated. If
    /// another process keeps the lock, the work runs without it.
    fn under_write_lock<T>(&self, file: &File, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let locked = self.uses_write_lock() && lock_briefly(file);
        let result = work();
        if locked {
            unlock(file);
        }
        result
    }

    /// Whether the file still ends with an unterminated line. It may be a write in progress, and pi takes no lock. So
    /// only a line that stays unterminated for a while counts.
    fn is_still_unterminated(&self, file: &File) -> bool {
        for _ in 0..UNTERMINATED_LINE_CHECKS {
            let mut last = [b'\n'];
            let read = fs::stat(file).and_then(|now| match now.size.checked_sub(1) {
                Some(at) => fs::read_exact_at(file, at, &mut last),
                None => Ok(()),
            });
            if read.is_ok() && last == [b'\n'] {
                return false;
            }
            std::thread::sleep(UNTERMINATED_LINE_PAUSE);
        }
        true
    }

    /// Overwrites our own bytes with spaces, if they are still in the file. Keeps a newline before them, because it
    /// ends another writer's line.
    fn overwrite_with_spaces(&self, file: &File, offset: u64, ours: &[u8]) -> io::Result<()> {
        // A handle that appends cannot overwrite.
        let other = open::existing(Path::new(&self.path), Access::Overwrite)?;
        let is_there = fs::stat(&other)?.file_id == self.file_id && has_bytes_at(file, offset, ours)?;
        match is_there {
            true => {
                let line = ours.strip_prefix(b"\n").unwrap_or(ours);
                let mut out = At { file: &other, offset: offset + (ours.len() - line.len()) as u64 };
                let mut pieces = line.chunks(SPACES.len()).map(|piece| SPACES.get(..piece.len()).unwrap_or_default());
                pieces.try_for_each(|spaces| out.write_all(spaces))
            }
            // The bytes were overwritten, or the path leads to another file.
            false => Ok(()),
        }
    }
}

/// Whether access to a path fails because `file`, which it led to, was deleted. On Windows a file system without POSIX
/// delete (exFAT, SMB) keeps the name until the last handle is closed, and nobody can open it.
fn is_deleted_by(error: &io::Error, file: &File) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && fs::stat(file).is_ok_and(|stat| stat.deleted)
}

/// Whether a file has these bytes at an offset.
fn has_bytes_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<bool> {
    // Piece by piece, because a rollback may follow a failed allocation.
    let mut there = [0; 8 << 10];
    let mut at = offset;
    for piece in bytes.chunks(there.len()) {
        let there = there.get_mut(..piece.len()).unwrap_or_default();
        match fs::read_exact_at(file, at, there) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            result => result?,
        }
        if there != piece {
            return Ok(false);
        }
        at += piece.len() as u64;
    }
    Ok(true)
}

impl Storage for FileStorage {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let handle = self.handle(false)?;
        fs::read_exact_at(&handle.file, offset, into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::changed(&self.path, "it is shorter than it was"),
            _ => Error::io("read", &self.path, error),
        })
    }

    fn reader(&self, offset: u64) -> Result<Box<dyn Read + '_>> {
        Ok(Box::new(At { file: self.handle(false)?.file, offset }))
    }

    fn size(&self) -> Result<u64> {
        let handle = self.handle(false)?;
        Ok(fs::stat(&handle.file).with_call("fstat", &self.path)?.size)
    }

    fn status(&self, checks_path: bool) -> Result<FileStatus> {
        let handle = match self.reach(false)? {
            Reached::OpenFile(handle) => handle,
            missing_or_other => {
                let reading = self.open_handle().filter(|_| !self.reopened.load(Ordering::Relaxed));
                let readable = reading.is_some();
                return Ok(match missing_or_other {
                    Reached::Missing => {
                        let stat = reading.map(|handle| fs::stat(&handle.file)).transpose();
                        let deleted = stat.with_call("fstat", &self.path)?.is_none_or(|stat| stat.deleted);
                        FileStatus::Gone { readable, deleted }
                    }
                    _ => FileStatus::Replaced { readable },
                });
            }
        };
        let reopened = self.reopened.load(Ordering::Relaxed);
        let now = now();
        if !checks_path && !reopened && !self.path_check.is_due(now) {
            let (size, deleted) = fs::quick_stat(&handle.file).with_call("fstat", &self.path)?;
            if !deleted {
                return Ok(FileStatus::Open { size });
            }
        }
        // We check the path, because an open handle does not show whether another file has the name.
        let found = match fs::stat_path(Path::new(&self.path)) {
            Err(error) if is_deleted_by(&error, &handle.file) => None,
            found => found.with_call("stat", &self.path)?,
        };
        match found {
            Some(stat) if stat.file_id == self.file_id => {
                self.reopened.store(false, Ordering::Relaxed);
                self.path_check.note(now);
                let changed = Some(stat.changed).filter(|&changed| would_show_change(changed, now));
                Ok(FileStatus::Here { size: stat.size, changed, reopened })
            }
            Some(_) => Ok(FileStatus::Replaced { readable: !reopened }),
            None => {
                let deleted = fs::stat(&handle.file).with_call("fstat", &self.path)?.deleted;
                Ok(FileStatus::Gone { readable: !reopened, deleted })
            }
        }
    }

    fn append(&mut self, line: &mut Vec<u8>) -> Result<LineSpan> {
        let len = line.len();
        // A newline after the line, and one before it if the last line is unterminated.
        reserve(line, 2)?;
        line.push(b'\n');
        let handle = self.handle(true)?;
        let mut lead = 0;
        let offset = self.under_write_lock(&handle.file, || {
            if self.is_unterminated && self.is_still_unterminated(&handle.file) {
                line.insert(0, b'\n');
                lead = 1;
            }
            let offset = self.write_at_end(&handle.file, line)?;
            if self.durability == Durability::Fsync {
                let synced = fs::sync_data(&handle.file).with_call("fsync", &self.path);
                synced.inspect_err(|_| drop(self.roll_back(&handle.file, offset, [line, b""])))?;
            }
            Ok(offset)
        })?;
        self.is_unterminated = false;
        Ok(LineSpan::of(offset + lead, len))
    }

    fn rollback_append(&mut self, span: LineSpan, line: &[u8]) -> Result<()> {
        let handle = self.handle(true)?;
        self.under_write_lock(&handle.file, || {
            // The newline stays, because the line before may be unterminated.
            self.roll_back(&handle.file, span.offset, [line, b"\n"]).with_call("write", &self.path)
        })
    }

    fn set_unterminated(&mut self, is_unterminated: bool) {
        self.is_unterminated = is_unterminated;
    }

    fn set_shared(&mut self) {
        self.shared = true;
    }

    fn flush(&mut self) -> Result<()> {
        // On Unix a handle for reading is enough, and the file may be read-only.
        let handle = self.handle(cfg!(not(unix)))?;
        fs::sync(&handle.file).with_call("fsync", &self.path)?;
        dirs::sync_dir_of(&self.target).with_call("fsync", &self.path)
    }

    fn metadata(&self) -> Result<Option<Metadata>> {
        let handle = self.handle(false)?;
        fs::metadata_of(&handle.file).map(Some).with_call("fstat", &self.path)
    }

    fn is_open(&self) -> bool {
        self.open_handle().is_some() && !self.reopened.load(Ordering::Relaxed)
    }

    fn close(&mut self) {
        locked(&self.handle).take();
    }

    fn target(&self) -> Option<&Path> {
        Some(&self.target)
    }

    fn name(&self) -> &str {
        &self.path
    }
}

#[cfg(test)]
mod tests;
