//! The catalog's rows of session files: the data that a list shows, and the state of the file from which it was read.

use std::collections::{HashMap, HashSet};
use std::io;

use rusqlite::{params, Connection, OptionalExtension, Transaction};

use super::connection::Catalog;
use super::error::CatalogResult;
use crate::base::memory;
use crate::base::packed::{pack, unpack};
use crate::io::file_fingerprint::{FileFingerprint, Nanos};
use crate::io::session_files::session_files;
use crate::summary::session_summary::{FileKind, SummaryProgress};
use crate::summary::usage::session_usage::SessionUsage;

/// A row of the table `session`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CatalogRow {
    /// The row's id.
    pub row: i64,
    pub fingerprint: FileFingerprint,
    /// When the file was read.
    pub seen: Nanos,
    /// The hash of the head and the tail of the bytes that were read.
    pub head_tail_hash: u64,
    /// Without the usage, which [`usage_of`] reads.
    pub progress: SummaryProgress,
}

/// Whether a row can be used for a file with some fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheValidity {
    /// The file is unchanged.
    Valid,
    /// The file has grown, it ends with an unterminated line, only its change time differs, or its times are too recent
    /// to decide. If its prefix has the same hash, only the rest is read.
    IfSamePrefix,
    /// The file must be read again.
    Invalid,
}

impl CatalogRow {
    /// Whether the row can be used for a file with this fingerprint.
    pub(crate) fn validity(&self, now: &FileFingerprint) -> CacheValidity {
        let FileFingerprint { size, modified, .. } = self.fingerprint;
        if *now == self.fingerprint && self.fingerprint.would_show_change(self.seen) && self.is_whole() {
            return CacheValidity::Valid;
        }
        // A new mode, owner or link changes the change time but not the content. Backups do that every night.
        match now.file_id == self.fingerprint.file_id
            && (now.size > size || now.size == size && now.modified == modified)
        {
            true => CacheValidity::IfSamePrefix,
            false => CacheValidity::Invalid,
        }
    }

    fn is_whole(&self) -> bool {
        self.progress.end == self.fingerprint.size || self.progress.kind == FileKind::NotASession
    }
}

/// The rows of the files in a directory, by file name. None for a row that cannot be unpacked.
pub(crate) fn in_dir(db: &Connection, dir: &str) -> CatalogResult<HashMap<String, Option<CatalogRow>>> {
    let mut statement = db.prepare_cached("SELECT id, name, file FROM session WHERE dir = ?1")?;
    let rows = statement.query_map([dir], |row| {
        let id = row.get(0)?;
        let file = unpack(row.get_ref(2)?.as_blob()?);
        let file = file.map(|(fingerprint, seen, head_tail_hash, progress)| CatalogRow {
            row: id,
            fingerprint,
            seen,
            head_tail_hash,
            progress,
        });
        Ok((row.get(1)?, file))
    })?;
    rows.collect()
}

/// For each file in a directory, by name: its size when it was read, and the session's modification time from its
/// lines.
pub(crate) fn times_in(db: &Connection, dir: &str) -> CatalogResult<HashMap<String, (i64, f64)>> {
    let query = "SELECT name, size, modified FROM session WHERE dir = ?1 AND modified IS NOT NULL";
    let mut statement = db.prepare_cached(query)?;
    let rows = statement.query_map([dir], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    rows.collect()
}

/// The usage of a row's session. None if the catalog does not have it, or contains something else.
pub(crate) fn usage_of(db: &Connection, row: i64) -> CatalogResult<Option<SessionUsage>> {
    let mut statement = db.prepare_cached("SELECT usage FROM session WHERE id = ?1")?;
    let unpacked = statement.query_row([row], |row| Ok(row.get_ref(0)?.as_blob().ok().and_then(unpack))).optional()?;
    Ok(unpacked.flatten().filter(SessionUsage::is_consistent))
}

/// The values of a row for a file that was read, packed.
#[derive(Debug)]
pub(crate) struct PackedFile {
    size: i64,
    modified: Option<f64>,
    file: Vec<u8>,
    usage: Vec<u8>,
}

/// The largest row that is kept, in bytes, without its usage. There is a limit because a first message may be most of
/// its file.
const MAX_FILE_BYTES: usize = 1 << 20;

/// The largest usage of one session that is kept, in bytes. If a session has more, reports read its file.
const MAX_USAGE_BYTES: usize = 16 << 20;

impl PackedFile {
    /// Packs the data that was read from a file with this fingerprint.
    pub(crate) fn of(
        fingerprint: &FileFingerprint,
        seen: Nanos,
        head_tail_hash: u64,
        progress: &SummaryProgress,
    ) -> memory::Result<Self> {
        let file = pack(&(fingerprint, seen, head_tail_hash, progress))?;
        let modified = match &progress.kind {
            FileKind::Session(_, summary) => summary.modified(),
            FileKind::Undetermined | FileKind::NotASession => None,
        };
        Ok(Self { size: fingerprint.size as i64, modified, file, usage: pack(&progress.usage)? })
    }

    /// Whether the row is small enough to be kept. If not, each list reads the file.
    pub(crate) fn is_kept(&self) -> bool {
        self.file.len() <= MAX_FILE_BYTES
    }
}

/// Writes a row, and replaces the row of the file. If another process has read the file later and written its row, the
/// next list reads the file again.
pub(crate) fn put(transaction: &Transaction<'_>, dir: &str, name: &str, packed: &PackedFile) -> CatalogResult<()> {
    // The row gets a new id, so that a process that has read the old row does not use the usage of this one for it.
    let mut put = transaction.prepare_cached(
        "INSERT OR REPLACE INTO session (dir, name, size, modified, file, usage) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let usage = Some(&packed.usage).filter(|usage| usage.len() <= MAX_USAGE_BYTES);
    put.execute(params![dir, name, packed.size, packed.modified, packed.file, usage])?;
    Ok(())
}

/// Deletes the row of a file.
pub(crate) fn forget(transaction: &Transaction<'_>, dir: &str, name: &str) -> CatalogResult<()> {
    transaction.prepare_cached("DELETE FROM session WHERE dir = ?1 AND name = ?2")?.execute([dir, name])?;
    Ok(())
}

/// Deletes the rows of directories that have no session files any more, because no list will check them again. Returns
/// whether there were any. Directories in `listed` are not checked.
pub(crate) fn forget_empty_dirs(catalog: &mut Catalog, listed: &HashSet<&str>) -> CatalogResult<bool> {
    let dirs: Vec<String> = {
        let mut dirs = catalog.db().prepare_cached("SELECT DISTINCT dir FROM session")?;
        let dirs = dirs.query_map([], |row| row.get(0))?;
        dirs.collect::<CatalogResult<_>>()?
    };
    // A directory that cannot be read now may become readable.
    let is_empty = |dir: &str| match session_files(dir) {
        Ok(names) => names.is_empty(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    let empty: Vec<&String> = dirs.iter().filter(|dir| !listed.contains(dir.as_str()) && is_empty(dir)).collect();
    if !empty.is_empty() {
        catalog.write(|transaction| {
            let mut delete = transaction.prepare_cached("DELETE FROM session WHERE dir = ?1")?;
            empty.iter().try_for_each(|dir| delete.execute([dir]).map(|_| ()))
        })?;
    }
    Ok(!empty.is_empty())
}

#[cfg(test)]
mod tests;
