//! Forking: a session's whole history, with every branch, in a new file under a new header, copied as bytes.

use std::path::Path;

use super::session::{Persistence, Session};
use crate::base::error::{Error, ErrorCode, Result, WithCall};
use crate::base::options::SessionFileOptions;
use crate::base::paths::absolute_text;
use crate::format::entry::{read_line, Line};
use crate::format::header::{NewHeader, Version};
use crate::lines::file_window::WHOLE;
use crate::lines::line_reader::{line_text, LineReader};
use crate::rewrite::migrate::Migrator;
use crate::storage::file::FileStorage;
use crate::storage::new_file::{remove_as_made, NewFile};
use crate::storage::storage::{FileStatus, Storage};
use crate::summary::header_scan::first_header;

/// How often a fork is begun again because its source was replaced.
const TRIES: usize = 8;

/// A session file that can be forked.
#[derive(Debug)]
pub struct ForkSource {
    storage: FileStorage,
    version: Version,
}

impl ForkSource {
    /// Opens the source. A relative path is made absolute.
    ///
    /// # Errors
    ///
    /// `SessionInvalid`: the file is not there, is empty, or is not a session. `System`: it cannot be read. `InvalidArgument`: the path is
    /// not Unicode.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = &absolute_text(path.as_ref())?;
        let unusable = || {
            let text = "Cannot fork: source session file is empty or invalid";
            Error::of_file(ErrorCode::SessionInvalid, text, path)
        };
        let storage = match FileStorage::open(path) {
            Err(error) if error.is_missing() => return Err(unusable()),
            result => result?,
        };
        let header = first_header(&storage)?.ok_or_else(unusable)?;
        Ok(Self { storage, version: header.version })
    }

    /// Writes the fork and opens it: `header`, then every entry, migrated if the source is old. Lines that are not entries stay in the
    /// source. Nothing may be at `target`; a relative path is made absolute. Nothing is added to `header`: its `parent` should be the path
    /// of the source.
    ///
    /// # Errors
    ///
    /// Nothing is at `target` then. `InvalidArgument`: the header's id or time, or the path, cannot be used. `SessionLocked`: another
    /// process has the lock. `System`: the source cannot be read, or the file not be made.
    pub fn write_to(
        &self,
        target: impl AsRef<Path>,
        header: &NewHeader<'_>,
        options: SessionFileOptions,
    ) -> Result<Session> {
        let target = &absolute_text(target.as_ref())?;
        let header = header.line()?;
        let mut newer: Option<Self> = None;
        for left in (0..TRIES).rev() {
            let source = newer.as_ref().unwrap_or(self);
            let out = source.copied_to(target, &header)?;
            // What may fail comes before the file has its name, as far as it can: a retry must find the name free.
            let session = Session::new(Vec::new(), Persistence::File, Some(target.clone())).with_options(options)?;
            let size = out.size();
            let storage = out.finish(options.durability)?;
            // What was copied may have been taken out of another file that has the source's name by now. Whoever takes it out later
            // finds this file.
            if let Some(replacement) = source.replacement().filter(|_| left > 0) {
                remove_as_made(Path::new(target), storage.file_id(), size);
                newer = Some(replacement);
                continue;
            }
            let file_id = storage.file_id();
            let loaded = session.loaded(target, Box::new(storage));
            return loaded.inspect_err(|_| remove_as_made(Path::new(target), file_id, size));
        }
        Err(Error::changed(self.storage.name(), "others keep replacing it while it is forked"))
    }

    /// The session in the file that has taken the name of this one's; None if none has.
    fn replacement(&self) -> Option<Self> {
        let is_replaced = matches!(self.storage.status(true), Ok(FileStatus::Replaced { .. }));
        is_replaced.then(|| Self::open(self.storage.name()).ok()).flatten()
    }

    /// Begins the fork: the header and every entry, in a file that has no name yet.
    fn copied_to(&self, target: &str, header: &[u8]) -> Result<NewFile> {
        let mut out = NewFile::create(target)?;
        out.line(header)?;
        let mut lines = LineReader::new(self.storage.reader(0)?, 0, WHOLE);
        let mut migrator = Some(self.version).filter(|version| *version != Version::Current).map(Migrator::new);
        while let Some(line) = lines.next_line().with_call("read", self.storage.name())? {
            if line.skipped.is_some() {
                continue;
            }
            let migrated = match &mut migrator {
                Some(migrator) => line_text(line.bytes).and_then(|text| migrator.line(&text))?,
                None => None,
            };
            let bytes = migrated.as_deref().unwrap_or(line.bytes);
            let is_entry = |line: Line<'_>| matches!(line, Line::Entry(_));
            if line_text(bytes).and_then(|text| read_line(&text, is_entry))? {
                out.line(bytes.strip_suffix(b"\r").unwrap_or(bytes))?;
            }
        }
        Ok(out)
    }
}
