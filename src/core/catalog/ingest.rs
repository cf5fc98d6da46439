//! Ingesting the texts of sessions into the catalog, in chunks: no lock is held while a file is read, and each chunk is
//! committed by itself.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, Row, Transaction};

use super::connection::Catalog;
use super::error::CatalogResult;
use super::revalidation::has_same_texts;
use super::rows::{self, CatalogRow};
use super::text_rows::{advance_ingest, ingested_before, ingested_to, Batch, MAX_TEXT_BYTES};
use crate::core::format::header::Version;
use crate::core::io::file_version::FileFingerprint;
use crate::core::io::fs::read_at;
use crate::core::io::head_tail_hash::head_tail_hash;
use crate::core::io::open::{self, Access};
use crate::core::io::session_files::session_files;
use crate::core::summary::searchable_text::{read_texts, Completion, SearchableText};
use crate::core::summary::session_summary::FileKind;

/// How many bytes of text one transaction writes, so that other writers do not wait long.
const CHUNK_BYTES: usize = 4 << 20;

/// A session with texts that are not in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingSession {
    pub session: i64,
    pub dir: String,
    pub name: String,
}

/// The sessions with texts that are not in the catalog, the least recently modified first. A session whose last line has no
/// newline is always one of them: the line may still grow.
pub fn pending(db: &Connection, dir: Option<&str>) -> CatalogResult<Vec<PendingSession>> {
    let mut statement = db.prepare_cached(
        "SELECT id, dir, name FROM session
         WHERE state > 1 AND texts_to < size AND (?1 IS NULL OR dir = ?1) ORDER BY modified, dir, name",
    )?;
    let rows = statement.query_map([dir], as_pending)?;
    rows.collect()
}

/// The sessions whose texts were ingested from an earlier state of their file.
fn unverified(db: &Connection) -> CatalogResult<Vec<PendingSession>> {
    let mut statement =
        db.prepare_cached("SELECT id, dir, name FROM session WHERE texts_before > 0 ORDER BY modified, dir, name")?;
    let rows = statement.query_map([], as_pending)?;
    rows.collect()
}

fn as_pending(row: &Row<'_>) -> CatalogResult<PendingSession> {
    Ok(PendingSession { session: row.get(0)?, dir: row.get(1)?, name: row.get(2)? })
}

/// Compares ingested texts with files that changed. The purge deletes texts that differ.
pub fn revalidate_pending(catalog: &mut Catalog, stop: &AtomicBool) -> CatalogResult<()> {
    for session in unverified(catalog.db())? {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        // Texts of a file that cannot be read stay unverified.
        let _ = begin(catalog, &session, stop)?;
    }
    Ok(())
}

/// The result of ingesting a session's texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IngestOutcome {
    /// All pending texts are in the catalog.
    Complete,
    /// The file or the row has changed: the next list updates the row.
    Changed,
    Cancelled,
}

/// A session whose texts are being ingested.
pub struct IngestStart {
    row: CatalogRow,
    version: Version,
    /// The offset from which on texts are pending.
    pub from: u64,
    /// The file is open only while it is read: a search has many of these, and file descriptors are few.
    path: PathBuf,
}

/// Some texts of a session, ready to be written.
pub struct IngestChunk {
    row: i64,
    from: u64,
    /// Where to read on.
    pub to: u64,
    /// Rows of texts.
    pub batches: Vec<Batch>,
    /// Whether this is the last chunk.
    pub is_last: bool,
}

/// The result of reading some texts.
pub enum ReadOutcome {
    Chunk(IngestChunk),
    Changed,
    Cancelled,
}

/// Finds where the pending texts of a session begin, after comparing those that were ingested from an earlier state of its
/// file. None if nothing is pending, the file changed since it was listed, or this was cancelled.
pub fn begin(
    catalog: &mut Catalog,
    pending: &PendingSession,
    cancelled: &AtomicBool,
) -> CatalogResult<io::Result<Option<IngestStart>>> {
    // One snapshot: another process may be writing the row.
    let (mut row, taken, before) = {
        let view = catalog.db().unchecked_transaction()?;
        let Some(row) = rows::of_file(&view, &pending.dir, &pending.name)? else {
            return Ok(Ok(None));
        };
        let (taken, before) = (ingested_to(&view, row.row)?, ingested_before(&view, row.row)?);
        (row, taken, before)
    };
    let FileKind::Session(version, _) = row.progress.kind else {
        return Ok(Ok(None));
    };
    let Some(mut from) = taken.filter(|from| *from < row.fingerprint.size) else {
        return Ok(Ok(None));
    };
    let path = Path::new(&pending.dir).join(&pending.name);
    if let Some(before) = before {
        let file = match open::regular(&path, Access::Read) {
            Ok(file) => file,
            Err(error) => return Ok(Err(error)),
        };
        let is_same = match has_same_texts(catalog.db(), row.row, (&file, before), cancelled)? {
            Ok(is_same) => is_same,
            Err(error) => return Ok(Err(error)),
        };
        // A file that changed while it was read proves nothing.
        if cancelled.load(Ordering::Relaxed) || !has_same_prefix(&file, &row).unwrap_or(false) {
            return Ok(Ok(None));
        }
        let decided = catalog.write(|transaction| decide(transaction, pending, &row, before, is_same))?;
        let Some(number) = decided else { return Ok(Ok(None)) };
        from = if number == row.row { before } else { 0 };
        row.row = number;
    }
    let goes_on = match from {
        0 => true,
        from => match open::regular(&path, Access::Read) {
            Ok(file) => is_line_end(&file, from).unwrap_or(false),
            Err(error) => return Ok(Err(error)),
        },
    };
    if !goes_on {
        // The last line had no newline when it was ingested, and has grown since.
        let renewed = catalog.write(|transaction| match advance_ingest(transaction, row.row, from, 0)? {
            true => rows::rekey(transaction, row.row).map(Some),
            false => Ok(None),
        })?;
        let Some(number) = renewed else { return Ok(Ok(None)) };
        (row.row, from) = (number, 0);
    }
    Ok(Ok(Some(IngestStart { row, version, from, path })))
}

/// Writes the result of comparing a file with its texts. Returns the row's id, a new one if the texts differ, so that the purge
/// deletes them. None if the row changed meanwhile.
fn decide(
    transaction: &Transaction<'_>,
    pending: &PendingSession,
    row: &CatalogRow,
    before: u64,
    is_same: bool,
) -> CatalogResult<Option<i64>> {
    let now = rows::of_file(transaction, &pending.dir, &pending.name)?;
    if now.as_ref() != Some(row) || ingested_before(transaction, row.row)? != Some(before) {
        return Ok(None);
    }
    match is_same {
        true => rows::revalidate(transaction, row.row).map(|()| Some(row.row)),
        false => rows::rekey(transaction, row.row).map(Some),
    }
}

impl IngestStart {
    /// Reads the next chunk of texts, from this offset on.
    pub fn read(&self, from: u64, buffer: &mut Box<[u8]>, cancelled: &AtomicBool) -> io::Result<ReadOutcome> {
        let Self { row, version, path, .. } = self;
        let file = &open::regular(path, Access::Read)?;
        if !has_same_prefix(file, row)? {
            return Ok(ReadOutcome::Changed);
        }
        let mut batches = vec![Batch::default()];
        let mut size = 0;
        let mut to = row.progress.end.max(from);
        let full = AtomicBool::new(false);
        let mut each = |text: SearchableText| {
            if full.load(Ordering::Relaxed) {
                return;
            }
            size += text.text.len();
            if batches.last().is_none_or(Batch::is_full) {
                batches.push(Batch::default());
            }
            if let Some(last) = batches.last_mut() {
                last.push(&text);
            }
            // After the complete lines there is at most one more.
            to = to.max(text.end);
            if size >= CHUNK_BYTES {
                to = text.end;
                full.store(true, Ordering::Relaxed);
            }
        };
        let version = (from > 0).then_some(*version);
        let most = Some(MAX_TEXT_BYTES);
        match read_texts(file, (from, row.fingerprint.size), version, most, buffer, &[&full, cancelled], &mut each)? {
            Completion::Complete | Completion::Cancelled => {}
        }
        if cancelled.load(Ordering::Relaxed) {
            return Ok(ReadOutcome::Cancelled);
        }
        // A file that changed while it was read proves nothing.
        if !has_same_prefix(file, row)? {
            return Ok(ReadOutcome::Changed);
        }
        batches.retain(|batch| !batch.is_empty());
        Ok(ReadOutcome::Chunk(IngestChunk { row: row.row, from, to, batches, is_last: to >= row.progress.end }))
    }
}

impl IngestChunk {
    /// Writes the chunk by calling `put` for each row. False if another connection ingested these texts meanwhile.
    pub fn write(
        &self,
        transaction: &Transaction<'_>,
        mut put: impl FnMut(usize, &Batch, i64) -> CatalogResult<()>,
    ) -> CatalogResult<bool> {
        if !advance_ingest(transaction, self.row, self.from, self.to)? {
            return Ok(false);
        }
        for (at, batch) in self.batches.iter().enumerate() {
            put(at, batch, self.row)?;
        }
        Ok(true)
    }
}

/// Ingests the pending texts of a session.
pub fn ingest_session(
    catalog: &mut Catalog,
    pending: &PendingSession,
    buffer: &mut Box<[u8]>,
    cancelled: &AtomicBool,
) -> CatalogResult<io::Result<IngestOutcome>> {
    let start = match begin(catalog, pending, cancelled)? {
        Ok(Some(start)) => start,
        Ok(None) => return Ok(Ok(IngestOutcome::Changed)),
        Err(error) => return Ok(Err(error)),
    };
    let mut from = start.from;
    loop {
        let chunk = match start.read(from, buffer, cancelled) {
            Ok(ReadOutcome::Chunk(chunk)) => chunk,
            Ok(ReadOutcome::Changed) => return Ok(Ok(IngestOutcome::Changed)),
            Ok(ReadOutcome::Cancelled) => return Ok(Ok(IngestOutcome::Cancelled)),
            Err(error) => return Ok(Err(error)),
        };
        let put = |transaction: &Transaction<'_>| {
            chunk.write(transaction, |_, batch, row| batch.put(transaction, row, false).map(|_| ()))
        };
        if !catalog.write(put)? {
            return Ok(Ok(IngestOutcome::Changed));
        }
        if chunk.is_last {
            return Ok(Ok(IngestOutcome::Complete));
        }
        from = chunk.to;
    }
}

/// Whether a line ends before this offset, or at it.
pub(crate) fn is_line_end(file: &File, at: u64) -> io::Result<bool> {
    let mut around = [b'\n'; 2];
    let read = read_at(file, at - 1, &mut around)?;
    Ok(around.get(..read).unwrap_or_default().contains(&b'\n') || read < 2)
}

/// Whether the file still begins with what the row was read from.
fn has_same_prefix(file: &File, row: &CatalogRow) -> io::Result<bool> {
    let now = FileFingerprint::of(&file.metadata()?);
    let same_file = now.is_same_file(&row.fingerprint) && now.size >= row.fingerprint.size;
    Ok(same_file && head_tail_hash(file, row.progress.end)? == row.head_tail_hash)
}

/// Deletes the rows of directories without session files: no list will look there again.
pub fn forget_empty_dirs(catalog: &mut Catalog) -> CatalogResult<()> {
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
    for dir in dirs.iter().filter(|dir| is_empty(dir)) {
        catalog.write(|transaction| transaction.execute("DELETE FROM session WHERE dir = ?1", [dir]))?;
    }
    Ok(())
}
