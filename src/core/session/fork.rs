//! Forking: a session's whole history in a new file under a new header, moved as bytes.

use super::open::OpenResult;
use super::session::{Persistence, Session};
use crate::core::base::error::{Error, Result};
use crate::core::base::options::Options;
use crate::core::format::entry::{read_line, Damage, Line};
use crate::core::index::copy::copy_lines;
use crate::core::index::load::{load, DamagedLine, Index};
use crate::core::io::line_reader::{LineReader, WHOLE};
use crate::core::io::line_span::LineSpan;
use crate::core::rewrite::migrate::Migrator;
use crate::core::storage::file::FileStorage;
use crate::core::storage::new_file::NewFile;
use crate::core::storage::storage::{bytes_at, Storage};
use crate::core::summary::header_scan::first_header;

/// A session file that can be forked.
pub struct ForkSource {
    storage: FileStorage,
    version: crate::core::format::header::Version,
}

impl ForkSource {
    /// Opens the source at an absolute path.
    pub fn open(path: &str) -> Result<Self> {
        let storage = match FileStorage::open(path) {
            Err(error) if error.is_missing() => return Err(Error::fork_source(path)),
            result => result?,
        };
        let header = first_header(&storage)?.ok_or_else(|| Error::fork_source(path))?;
        Ok(Self { storage, version: header.version })
    }

    /// Writes the fork and opens it: the new header, then every entry, migrated if the source is old. Lines that do
    /// not parse stay in the source. `id` is the new header's.
    pub fn write_to(&self, target: &str, id: Vec<u8>, header_line: &[u8], options: Options) -> Result<Session> {
        match self.version {
            crate::core::format::header::Version::Current => self.copy_to(target, id, header_line, options),
            _ => self.migrate_to(target, header_line, options),
        }
    }

    fn copy_to(&self, target: &str, id: Vec<u8>, header_line: &[u8], options: Options) -> Result<Session> {
        let Some(loaded) = load(&self.storage)? else {
            return Err(Error::fork_source(self.storage.name()));
        };
        let mut index = loaded.index;
        let mut odd = kept_damaged_lines(&self.storage, &index)?.into_iter().peekable();
        let out = NewFile::create(target)?;
        let copy = copy_lines(Some(&self.storage), &index, out, options.durability, |copier| {
            let header = copier.write(header_line);
            let mut places = Vec::with_capacity(index.tree.len());
            let mut damaged = Vec::new();
            for (row, place) in index.placed() {
                while let Some(line) = odd.next_if(|line| line.offset < place.offset) {
                    damaged.push((places.len() + damaged.len(), copier.keep_line(place_of(&line)), line.damage));
                }
                places.extend(copier.keep(row));
            }
            for line in odd {
                damaged.push((places.len() + damaged.len(), copier.keep_line(place_of(&line)), line.damage));
            }
            Ok((header, places, damaged))
        });
        let (storage, (header, places, damaged)) = copy?;
        // Lines are counted from 1, and the header is the first.
        let renumbered = |(before, place, damage): (usize, LineSpan, Damage)| {
            let number = before as u64 + 2;
            DamagedLine { number, offset: place.offset, len: u64::from(place.len), damage }
        };
        index.move_to(header, places, damaged.into_iter().map(renumbered).collect());
        Session::of_file(id, target, storage, header, index).with_options(options)
    }

    fn migrate_to(&self, target: &str, header_line: &[u8], options: Options) -> Result<Session> {
        let mut out = NewFile::create(target)?;
        out.line(header_line)?;
        let fail = |error| Error::io("read", self.storage.name(), error);
        let mut lines = LineReader::new(self.storage.reader(0)?, 0, WHOLE);
        let mut migrator = Migrator::new(self.version);
        while let Some(line) = lines.next_line().map_err(fail)? {
            if line.skipped.is_some() {
                // It stays in the source, as every line that is no JSON does.
                continue;
            }
            let migrated = migrator.line(&line.text());
            let bytes = migrated.as_deref().unwrap_or(line.bytes);
            if is_kept(&String::from_utf8_lossy(bytes)) {
                out.line(bytes.strip_suffix(b"\r").unwrap_or(bytes))?;
            }
        }
        out.finish(options.durability)?;
        match Session::open(target, Persistence::File, options)? {
            OpenResult::Session(session) => Ok(*session),
            OpenResult::Missing | OpenResult::Empty => Err(Error::changed(target, "the fork is gone")),
        }
    }
}

/// The damaged lines that are copied, in order.
fn kept_damaged_lines(storage: &FileStorage, index: &Index) -> Result<Vec<DamagedLine>> {
    let mut kept = Vec::new();
    for line in index.damaged() {
        let keep = match line.damage {
            Damage::NotJson | Damage::TooLong => false,
            Damage::NoId => true,
            Damage::NotAnObject => {
                let bytes = bytes_at(storage, place_of(line))?;
                is_kept(&String::from_utf8_lossy(&bytes))
            }
        };
        if keep {
            kept.push(line.clone());
        }
    }
    Ok(kept)
}

/// The place of a line that is JSON, and so none of those too long for one.
fn place_of(line: &DamagedLine) -> LineSpan {
    LineSpan::of(line.offset, line.len as usize)
}

/// Entries are copied, and so is other JSON, values that are false in JavaScript aside.
fn is_kept(line: &str) -> bool {
    read_line(line, |read| match read {
        Line::Entry(_) | Line::Damaged(Damage::NoId) => true,
        Line::Damaged(Damage::NotAnObject) => !matches!(line.trim(), "null" | "false" | "0" | "-0" | "\"\""),
        Line::Damaged(Damage::NotJson | Damage::TooLong) | Line::Header | Line::Blank => false,
    })
}
