//! Opens a session from its file, or creates a new one.

use std::io;
use std::path::Path;

use super::session::{Persistence, Session};
use crate::base::error::{part, Error, Result, WithCall};
use crate::base::memory::{copy_of_bytes, MemoryWriter};
use crate::base::options::{Lock, SessionFileOptions};
use crate::base::paths::absolute_text;
use crate::format::header::{NewHeader, Version};
use crate::index::load::{load, Loaded};
use crate::lines::line_span::LineSpan;
use crate::rewrite::migrate::Migrator;
use crate::rewrite::replace::{retried, Backup, Rewrite};
use crate::storage::file::FileStorage;
use crate::storage::memory::MemoryStorage;
use crate::storage::storage::{read_into, Storage};
use crate::summary::header_scan::{first_header, header_of};

/// The result of opening a path. A missing or empty file is not an error here.
#[doc(hidden)]
#[derive(Debug)]
pub enum OpenResult {
    /// The file does not exist. Contains that error.
    Missing(Error),
    /// A file of 0 bytes.
    Empty,
    /// A session.
    Session(Box<Session>),
}

/// The working directory in the header of the session file at a path, WTF-8. None if there is no file or no session, or
/// if its header has none.
pub fn cwd_in_header(path: &str) -> Result<Option<Vec<u8>>> {
    match header_of(Path::new(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        header => Ok(header.with_call("read", path)?.and_then(|header| header.cwd)),
    }
}

impl Session {
    /// Sets the options. An exclusive session takes its lock here, and fails if another process has it.
    #[doc(hidden)]
    pub fn with_options(mut self, options: SessionFileOptions) -> Result<Self> {
        self.options = options;
        self.take_lock()?;
        Ok(self)
    }

    /// A new session. `file` is the path of its future file, which is written with the first message of the user or the
    /// model: its directory must exist ([`make_session_dir`](crate::make_session_dir)), and `file` itself must not.
    /// Until then nothing is written, and a session that is dropped loses its entries. Without `file` the session stays
    /// in memory. An exclusive session takes its lock here. A relative path is resolved.
    ///
    /// # Errors
    ///
    /// `InvalidArgument`: the header's id or time, or the path, cannot be used. `SessionLocked`: another process has
    /// the lock. `System`: the lock cannot be taken.
    pub fn create(file: Option<&Path>, header: &NewHeader<'_>, options: SessionFileOptions) -> Result<Self> {
        let mut line = header.line()?;
        line.push(b'\n');
        let file = file.map(absolute_text).transpose()?;
        let persistence = if file.is_some() { Persistence::File } else { Persistence::Memory };
        let name = file.clone().unwrap_or_default();
        let session = Self::new(Vec::new(), persistence, file).with_options(options)?;
        session.loaded(&name, Box::new(MemoryStorage::new(name.clone(), line)))
    }

    /// Opens the session file at `path`. A file of version 1 or 2 is migrated: [`Persistence::File`] rewrites it and
    /// keeps the original beside it, as `<name>.v1.bak`; the others migrate in memory. A relative path is resolved.
    ///
    /// # Errors
    ///
    /// - `InvalidArgument`: the path is not Unicode.
    /// - `SessionInvalid`: the file is not a session, or is empty.
    /// - `SessionLocked`: another process has the lock.
    /// - `SessionChanged`: others keep writing to the file while it is migrated.
    /// - `System`: the file does not exist (`ENOENT`), or cannot be read or rewritten.
    pub fn open(path: impl AsRef<Path>, persistence: Persistence, options: SessionFileOptions) -> Result<Self> {
        let path = absolute_text(path.as_ref())?;
        match Self::open_if_any(&path, persistence, options)? {
            OpenResult::Missing(error) => Err(error),
            OpenResult::Empty => Err(Error::not_a_session(&path)),
            OpenResult::Session(session) => Ok(*session),
        }
    }

    /// As [`open`](Self::open), but a missing or empty file is an error only with [`Persistence::ReadOnly`].
    #[doc(hidden)]
    pub fn open_if_any(path: &str, persistence: Persistence, options: SessionFileOptions) -> Result<OpenResult> {
        Self::open_at(path, persistence, options).map_err(|error| error.with_path(Some(path)))
    }

    fn open_at(path: &str, persistence: Persistence, options: SessionFileOptions) -> Result<OpenResult> {
        let storage = match FileStorage::open(path) {
            Err(error) if error.is_missing() && persistence != Persistence::ReadOnly => {
                return Ok(OpenResult::Missing(error));
            }
            result => result?,
        };
        if storage.size()? == 0 && persistence != Persistence::ReadOnly {
            return Ok(OpenResult::Empty);
        }
        let mut header = first_header(&storage)?.ok_or_else(|| Error::not_a_session(path))?;
        // The lock is taken before the file is read, so that nobody writes between that and our own writes.
        let mut session = Self::new(Vec::new(), persistence, Some(path.to_owned())).with_options(options)?;
        // Another file may have got the name before the lock was taken.
        let has_its_name = storage.has_its_name()?;
        let storage = if has_its_name { storage } else { FileStorage::open(path)? };
        let mut storage: Box<dyn Storage> = Box::new(storage.with_durability(options.durability));
        if options.lock != Lock::None || !has_its_name {
            // This process may have waited for the lock, and pi migrates a file in place.
            header = first_header(&*storage)?.ok_or_else(|| Error::not_a_session(path))?;
        }
        let version = header.version;
        if version != Version::Current || persistence == Persistence::Memory {
            storage = session.migrated(path, storage, version)?;
        }
        Ok(OpenResult::Session(Box::new(session.loaded(path, storage)?)))
    }

    /// Reads the header and the entries of a storage.
    pub(super) fn loaded(mut self, path: &str, mut storage: Box<dyn Storage>) -> Result<Self> {
        let size = storage.size()?;
        let Some(Loaded { header, header_span, header_line, index, is_unterminated }) = load(&*storage)? else {
            return Err(Error::not_a_session(path));
        };
        storage.set_unterminated(is_unterminated);
        self.id = header.id;
        // The file may have grown while it was read.
        self.size = size.max(index.indexed_end());
        self.storage = Some(storage);
        self.header_span = Some(header_span);
        self.header_text = header_line;
        self.index = index;
        Ok(self)
    }

    fn migrated(&mut self, path: &str, old: Box<dyn Storage>, version: Version) -> Result<Box<dyn Storage>> {
        let in_memory = match self.persistence {
            Persistence::Memory if version == Version::Current => {
                let mut bytes = Vec::new();
                let size = usize::try_from(old.size()?).unwrap_or(usize::MAX);
                read_into(&*old, 0, size, &mut bytes)?;
                return Ok(Box::new(MemoryStorage::new(path.to_owned(), bytes)));
            }
            Persistence::Memory => Some(Migrator::new(version)),
            Persistence::ReadOnly => Some(Migrator::numbered(version)),
            Persistence::File => None,
        };
        if let Some(mut migration) = in_memory {
            let mut bytes = MemoryWriter::default();
            migration.write(&*old, &mut bytes)?;
            return Ok(Box::new(MemoryStorage::new(path.to_owned(), bytes.0)));
        }
        drop(old);
        self.check_lock()?;
        let is_migrated_here = retried(path, "it is migrated", |original| {
            let header = first_header(original.storage())?.ok_or_else(|| Error::not_a_session(path))?;
            if header.version == Version::Current {
                // Another process migrated the file first.
                return Ok(Some(false));
            }
            let replaced = original.replace(Backup::OldVersion, &mut Migrator::new(header.version))?;
            Ok(replaced.map(|_| true))
        })?;
        if is_migrated_here {
            self.history.repaired("migrated to version 3, the original kept beside it");
        }
        Ok(Box::new(FileStorage::open(path)?.with_durability(self.options.durability)))
    }

    /// Writes a header into the empty file from which this new session was opened. False if another process wrote
    /// first. Then it is not a new session.
    #[doc(hidden)]
    pub fn fill_empty_file(&mut self, header_line: &[u8]) -> Result<bool> {
        let Some(path) = self.file.clone().filter(|_| self.persistence == Persistence::File) else {
            return Ok(true);
        };
        self.check_lock()?;
        let mut storage = FileStorage::open(&path)?.with_durability(self.options.durability);
        let mut line = copy_of_bytes(header_line)?;
        let span = storage.append(&mut line)?;
        if span.offset != 0 {
            storage.set_shared();
            storage.rollback_append(span, part(&line, 0..span.len as usize, "the written header")?)?;
            return Ok(false);
        }
        self.move_to_file(storage, vec![Some(LineSpan::of(0, header_line.len()))], Vec::new());
        Ok(true)
    }
}
