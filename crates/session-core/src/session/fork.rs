//! Forks a session: copies its whole history, with every branch, to a new file under a new header, as bytes.

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

/// How often a fork starts over because its source was replaced while it was copied. If it happens this often in a row,
/// a program replaces the source all the time.
const TRIES: usize = 8;

/// A session file that can be forked.
#[derive(Debug)]
pub struct ForkSource {
    storage: FileStorage,
    version: Version,
}

impl ForkSource {
    /// Opens the source. A relative path is resolved.
    ///
    /// # Errors
    ///
    /// `SessionInvalid`: the file does not exist, is empty, or is not a session. `System`: it cannot be read.
    /// `InvalidArgument`: the path is not Unicode.
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

    /// Writes the fork and opens it: `header`, then every entry, migrated if the source has an old version. Lines that
    /// are not entries are not copied. `target` must not exist; a relative path is resolved. `header` is written
    /// unchanged: its `parent` should be the path of the source.
    ///
    /// # Errors
    ///
    /// After an error nothing exists at `target`. `InvalidArgument`: the header's id or time, or the path, cannot be
    /// used. `SessionLocked`: another process has the lock. `System`: the source cannot be read, or the file cannot be
    /// created.
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
            // As far as possible, everything that may fail happens before the file has its name, because a retry must
            // find the name free.
            let session = Session::new(Vec::new(), Persistence::File, Some(target.clone())).with_options(options)?;
            let size = out.size();
            let storage = out.finish(options.durability)?;
            // Another file may have the source's name by now, and may no longer contain something that was copied (a
            // redaction). A redaction that starts later finds this file.
            if let Some(replacement) = source.replacement().filter(|_| left > 0) {
                remove_as_made(Path::new(target), storage.file_id(), size);
                newer = Some(replacement);
                continue;
            }
            let file_id = storage.file_id();
            let loaded = session.loaded(target, Box::new(storage));
            return loaded.inspect_err(|_| remove_as_made(Path::new(target), file_id, size));
        }
        Err(Error::changed(self.storage.name(), "others keep replacing it while it is forked; try again later"))
    }

    /// The session in the file that has taken the name of this file; None if no file has.
    fn replacement(&self) -> Option<Self> {
        let is_replaced = matches!(self.storage.status(true), Ok(FileStatus::Replaced { .. }));
        is_replaced.then(|| Self::open(self.storage.name()).ok()).flatten()
    }

    /// Begins the fork: writes the header and every entry to a file that has no name yet.
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
