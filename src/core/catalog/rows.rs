//! The catalog's rows of session files: what a list shows, and the state of the file that it was read from.

use std::collections::{HashMap, HashSet};
use std::io;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{params, Connection, OptionalExtension, Row, Transaction};

use super::connection::Catalog;
use super::error::CatalogResult;
use crate::base::memory::{copy_of, copy_of_bytes};
use crate::base::unparsed_dates::UnparsedDates;
use crate::format::header::{ParentSession, Version};
use crate::io::file_fingerprint::{FileFingerprint, FileId, Nanos};
use crate::io::session_files::session_files;
use crate::summary::session_summary::{FileKind, SessionSummary, SummaryProgress};
use crate::summary::usage::session_usage::SessionUsage;

/// A row of the table `session`.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogRow {
    /// The row's id.
    pub row: i64,
    pub fingerprint: FileFingerprint,
    /// When the file was read.
    pub seen: Nanos,
    /// Without the usage, which [`usage_of`] reads.
    pub progress: SummaryProgress,
    /// The hash of the head and the tail of what was read.
    pub head_tail_hash: u64,
}

/// Whether a row can be used for a file with a certain fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheValidity {
    /// The file is unchanged.
    Valid,
    /// The file has grown, it ends with an unterminated line, only its change time differs, or its times are too recent to tell. If its
    /// prefix has the same hash, only the rest is read.
    IfSamePrefix,
    /// The file is read again.
    Invalid,
}

impl CatalogRow {
    /// Whether the row can be used for a file with this fingerprint.
    pub fn validity(&self, now: &FileFingerprint) -> CacheValidity {
        let FileFingerprint { size, modified, .. } = self.fingerprint;
        if *now == self.fingerprint && self.fingerprint.would_show_change(self.seen) && self.is_whole() {
            return CacheValidity::Valid;
        }
        // A new mode, owner or link sets the change time and leaves the content: backups do that every night.
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

const COLUMNS: &str =
    "id, device, inode, size, modified, changed, seen, read_to, head_tail_hash, file_kind, session_id, cwd, title, \
                       parent, created, active, unparsed_dates, messages, first, name";

/// The rows of the files in a directory, by their names.
pub fn in_dir(db: &Connection, dir: &str) -> CatalogResult<HashMap<String, CatalogRow>> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM session WHERE dir = ?1"))?;
    let rows = statement.query_map([dir], |row| Ok((row.get(19)?, remembered(row)?)))?;
    rows.collect()
}

/// What the calls of a row's session used; None if the catalog does not have it.
pub fn usage_of(db: &Connection, row: i64) -> CatalogResult<Option<SessionUsage>> {
    let mut statement = db.prepare_cached("SELECT usage FROM session WHERE id = ?1")?;
    let unpacked = statement
        .query_row([row], |row| Ok(row.get_ref(0)?.as_blob().ok().and_then(SessionUsage::unpack)))
        .optional()?;
    Ok(unpacked.flatten())
}

fn remembered(row: &Row<'_>) -> CatalogResult<CatalogRow> {
    let number = |column: usize| row.get::<_, i64>(column).map(|number| number as u64);
    let fingerprint = FileFingerprint {
        file_id: FileId { device: number(1)?, inode: number(2)? },
        size: number(3)?,
        modified: row.get(4)?,
        changed: row.get(5)?,
    };
    let file_kind: i64 = row.get(9)?;
    let unparsed_dates = match row.get_ref(16)? {
        ValueRef::Null => UnparsedDates::default(),
        dates => UnparsedDates::from_lines(dates.as_str()?)?,
    };
    let summary = move |version| -> CatalogResult<FileKind> {
        Ok(FileKind::Session(
            version,
            SessionSummary {
                id: bytes(row, 10)?.unwrap_or_default(),
                cwd: bytes(row, 11)?.unwrap_or_default(),
                name: bytes(row, 12)?,
                parent: parent(row.get_ref(13)?)?,
                created: row.get(14)?,
                active: row.get(15)?,
                unparsed_dates,
                message_count: number(17)?,
                first_message: bytes(row, 18)?,
            },
        ))
    };
    let kind = match file_kind {
        0 => FileKind::Undetermined,
        1 => FileKind::NotASession,
        2 => summary(Version::V1)?,
        3 => summary(Version::V2)?,
        _ => summary(Version::Current)?,
    };
    Ok(CatalogRow {
        row: row.get(0)?,
        fingerprint,
        seen: row.get(6)?,
        progress: SummaryProgress { kind, end: number(7)?, ..SummaryProgress::default() },
        head_tail_hash: number(8)?,
    })
}

/// A path is stored as a blob, any other JSON value as text.
fn stored(parent: &ParentSession) -> ValueRef<'_> {
    match parent {
        ParentSession::Path(path) => ValueRef::Blob(path),
        ParentSession::Other(json) => ValueRef::Text(json.as_bytes()),
    }
}

fn parent(stored: ValueRef<'_>) -> CatalogResult<Option<ParentSession>> {
    Ok(match stored {
        ValueRef::Null => None,
        ValueRef::Text(_) => Some(ParentSession::Other(copy_of(stored.as_str()?)?.into_boxed_str())),
        _ => Some(ParentSession::Path(copy_of_bytes(stored.as_blob()?)?)),
    })
}

/// Bytes of a row, in memory that can be refused.
fn bytes(row: &Row<'_>, column: usize) -> CatalogResult<Option<Vec<u8>>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        stored => Ok(Some(copy_of_bytes(stored.as_blob()?)?)),
    }
}

/// The column `file_kind`.
fn code_of(kind: &FileKind) -> i64 {
    match kind {
        FileKind::Undetermined => 0,
        FileKind::NotASession => 1,
        FileKind::Session(Version::V1, _) => 2,
        FileKind::Session(Version::V2, _) => 3,
        FileKind::Session(Version::Current, _) => 4,
    }
}

/// A file that was read, to be written.
#[derive(Debug)]
pub struct Update {
    pub dir: String,
    pub name: String,
    /// Whether the list began with a row of the file.
    pub had_row: bool,
    /// The new content; its id is ignored.
    pub file: CatalogRow,
    /// What the calls of the complete lines used, packed.
    pub usage: Vec<u8>,
}

/// The largest summary that is cached, in bytes: a first message may be most of its file.
pub const MAX_SUMMARY_BYTES: usize = 1 << 20;

/// The largest usage of one session that is cached, in bytes. Reports read the file of a session that has more.
const MAX_USAGE_BYTES: usize = 16 << 20;

/// Whether a summary is small enough to be cached. A file with a larger one is read by each list.
pub fn is_cacheable(summary: &SessionSummary) -> bool {
    let SessionSummary {
        id,
        cwd,
        name,
        parent,
        created,
        unparsed_dates: _,
        active: _,
        message_count: _,
        first_message,
    } = summary;
    let parent = match parent {
        Some(ParentSession::Path(path)) => path.len(),
        Some(ParentSession::Other(json)) => json.len(),
        None => 0,
    };
    let texts = [name, first_message].map(|text| text.as_ref().map_or(0, Vec::len));
    let sizes = [id.len(), cwd.len(), parent, created.as_ref().map_or(0, String::len)];
    sizes.into_iter().chain(texts).sum::<usize>() <= MAX_SUMMARY_BYTES
}

/// Writes a row in place of the one that was there. If another process read the file later and wrote that, the next list reads it again.
pub fn put(transaction: &Transaction<'_>, update: &Update) -> CatalogResult<()> {
    let Update { dir, name, had_row: _, file, usage } = update;
    let summary = file.progress.kind.summary();
    let unparsed_dates = summary.map(|summary| summary.unparsed_dates.to_lines()).transpose()?;
    let unparsed_dates = unparsed_dates.filter(|all| !all.is_empty());
    // Another id than before: who has read the row that was there does not take the usage of this one for its.
    let mut put = transaction.prepare_cached(
        "INSERT OR REPLACE INTO session (dir, name, device, inode, size, modified, changed, seen, read_to, head_tail_hash, file_kind,
           session_id, cwd, title, parent, created, active, unparsed_dates, messages, first, usage)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
    )?;
    let FileFingerprint { file_id: FileId { device, inode }, size, modified, changed } = file.fingerprint;
    put.execute(params![
        dir,
        name,
        device as i64,
        inode as i64,
        size as i64,
        modified,
        changed,
        file.seen,
        file.progress.end as i64,
        file.head_tail_hash as i64,
        code_of(&file.progress.kind),
        summary.map(|summary| &summary.id),
        summary.map(|summary| &summary.cwd),
        summary.and_then(|summary| summary.name.as_ref()),
        summary.and_then(|summary| summary.parent.as_ref()).map(|parent| ToSqlOutput::Borrowed(stored(parent))),
        summary.and_then(|summary| summary.created.as_ref()),
        summary.and_then(|summary| summary.active),
        unparsed_dates,
        summary.map(|summary| summary.message_count as i64),
        summary.and_then(|summary| summary.first_message.as_ref()),
        summary.and(Some(usage)).filter(|usage| usage.len() <= MAX_USAGE_BYTES),
    ])?;
    Ok(())
}

/// Deletes the row of a file.
pub fn forget(transaction: &Transaction<'_>, dir: &str, name: &str) -> CatalogResult<()> {
    transaction.prepare_cached("DELETE FROM session WHERE dir = ?1 AND name = ?2")?.execute([dir, name])?;
    Ok(())
}

/// Deletes the rows of directories that have no session files any more: no list will look there again. Gives whether there were
/// some. The directories of `listed` are not looked at.
pub fn forget_empty_dirs(catalog: &mut Catalog, listed: &HashSet<&str>) -> CatalogResult<bool> {
    let dirs: Vec<String> = {
        let mut dirs = catalog.db().prepare_cached("SELECT DISTINCT dir FROM session")?;
        let dirs = dirs.query_map([], |row| row.get(0))?;
        dirs.collect::<CatalogResult<_>>()?
    };
    // A directory that cannot be read may become readable.
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
