//! Forking: a session's whole history in a new file under a new header, moved as bytes.

use super::entry::{read_line, Damage, Line};
use super::error::{Error, Result};
use super::lines::{LineReader, WHOLE};
use super::migrate::Migrator;
use super::session::first_header;
use super::storage::{Durability, FileStorage, NewFile, Storage};

/// A session file that can be forked.
pub struct Source {
    storage: FileStorage,
    version: super::header::Version,
}

impl Source {
    /// Opens the source at an absolute path.
    pub fn open(path: &str) -> Result<Self> {
        let storage = match FileStorage::open(path) {
            Err(error) if error.is_missing() => return Err(Error::fork_source(path)),
            result => result?,
        };
        let header = first_header(&storage)?.ok_or_else(|| Error::fork_source(path))?;
        Ok(Self { storage, version: header.version })
    }

    /// Writes the fork: the new header, then every entry, migrated if the source is old. Lines that do not parse stay
    /// in the source.
    pub fn write_to(&self, target: &str, header_line: &[u8], durability: Durability) -> Result<()> {
        let mut out = NewFile::create(target)?;
        out.line(header_line)?;
        let fail = |error| Error::io("read", self.storage.name(), error);
        let mut lines = LineReader::new(self.storage.reader(0)?, 0, WHOLE);
        let mut migrator = Migrator::new(self.version);
        while let Some(line) = lines.next_line().map_err(fail)? {
            let text = line.text();
            let migrated = match self.version {
                super::header::Version::Current => None,
                _ => migrator.line(&text),
            };
            let bytes = migrated.as_deref().unwrap_or(line.bytes);
            if is_kept(&String::from_utf8_lossy(bytes)) {
                out.line(bytes.strip_suffix(b"\r").unwrap_or(bytes))?;
            }
        }
        out.finish(durability).map(drop)
    }
}

/// Entries are kept, and so is other JSON that says something.
fn is_kept(line: &str) -> bool {
    read_line(line, |read| match read {
        Line::Entry(_) | Line::Damaged(Damage::NoId) => true,
        Line::Damaged(Damage::NotAnObject) => !matches!(line.trim(), "null" | "false" | "0" | "-0" | "\"\""),
        Line::Damaged(Damage::NotJson) | Line::Header | Line::Blank => false,
    })
}
