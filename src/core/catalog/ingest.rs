//! Ingesting the texts of sessions into the catalog, in chunks: no lock is held while a file is read, and each chunk is
//! committed by itself.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, Transaction};

use super::connection::Catalog;
use super::error::CatalogResult;
use super::rows::{self, CatalogRow};
use super::text_rows::{advance_ingest, ingested_to, TextRowBuilder, MAX_TEXT_BYTES};
use crate::format::header::Version;
use crate::io::file_fingerprint::FileFingerprint;
use crate::io::head_tail_hash::head_tail_hash;
use crate::io::open::{self, Access};
use crate::io::session_files::session_files;
use crate::summary::searchable_text::{read_texts, SearchableText};
use crate::summary::session_summary::FileKind;

/// How many bytes of text one transaction writes, so that other writers do not wait long.
const CHUNK_BYTES: usize = 4 << 20;

/// A session with texts that are not in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingSession {
    pub session: i64,
    pub dir: String,
    pub name: String,
}

/// The sessions with complete lines whose texts are not in the catalog, the least recently modified first.
pub fn pending(db: &Connection) -> CatalogResult<Vec<PendingSession>> {
    let mut statement = db.prepare_cached(
        "SELECT id, dir, name FROM session WHERE file_kind IN (2, 3, 4) AND texts_to < read_to ORDER BY modified, dir, name",
    )?;
    let rows = statement
        .query_map([], |row| Ok(PendingSession { session: row.get(0)?, dir: row.get(1)?, name: row.get(2)? }))?;
    rows.collect()
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
    pub batches: Vec<TextRowBuilder>,
    /// Whether this is the last chunk.
    pub is_last: bool,
}

/// Finds where the pending texts of a session begin. None if none is pending, or its row is gone.
pub fn begin(catalog: &Catalog, pending: &PendingSession) -> CatalogResult<Option<IngestStart>> {
    // One snapshot: another process may be writing the row.
    let view = catalog.db().unchecked_transaction()?;
    let Some(row) = rows::of_file(&view, &pending.dir, &pending.name)? else { return Ok(None) };
    let FileKind::Session(version, _) = row.progress.kind else { return Ok(None) };
    let from = ingested_to(&view, row.row)?.filter(|from| *from < row.progress.end);
    let path = Path::new(&pending.dir).join(&pending.name);
    Ok(from.map(|from| IngestStart { row, version, from, path }))
}

impl IngestStart {
    /// Reads the next chunk of texts, from this offset on. None if the file changed, or this was cancelled.
    pub fn read(&self, from: u64, buffer: &mut Box<[u8]>, cancelled: &AtomicBool) -> io::Result<Option<IngestChunk>> {
        let Self { row, version, path, .. } = self;
        let file = &open::regular(path, Access::Read)?;
        if !has_same_prefix(file, row)? {
            return Ok(None);
        }
        let mut batches = vec![TextRowBuilder::default()];
        let mut size = 0;
        let mut to = row.progress.end;
        let full = AtomicBool::new(false);
        let mut each = |text: SearchableText| {
            if full.load(Ordering::Relaxed) {
                return;
            }
            size += text.text.len();
            if batches.last().is_none_or(TextRowBuilder::is_full) {
                batches.push(TextRowBuilder::default());
            }
            if let Some(last) = batches.last_mut() {
                last.push(&text);
            }
            if size >= CHUNK_BYTES {
                to = text.end;
                full.store(true, Ordering::Relaxed);
            }
        };
        let version = (from > 0).then_some(*version);
        let most = Some(MAX_TEXT_BYTES);
        // A last line without its newline may still grow: searches and texts read it from the file.
        read_texts(file, (from, row.progress.end), version, most, buffer, &[&full, cancelled], &mut each)?;
        // A file that changed while it was read proves nothing.
        if cancelled.load(Ordering::Relaxed) || !has_same_prefix(file, row)? {
            return Ok(None);
        }
        batches.retain(|batch| !batch.is_empty());
        Ok(Some(IngestChunk { row: row.row, from, to, batches, is_last: to >= row.progress.end }))
    }
}

impl IngestChunk {
    /// Writes the chunk by calling `put` for each row. False if another connection ingested these texts meanwhile.
    pub fn write(
        &self,
        transaction: &Transaction<'_>,
        mut put: impl FnMut(usize, &TextRowBuilder, i64) -> CatalogResult<()>,
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

/// Ingests the pending texts of a session. If its file changed, or cannot be read, they stay pending.
pub fn ingest_session(
    catalog: &mut Catalog,
    pending: &PendingSession,
    buffer: &mut Box<[u8]>,
    cancelled: &AtomicBool,
) -> CatalogResult<()> {
    let Some(start) = begin(catalog, pending)? else { return Ok(()) };
    let mut from = start.from;
    while let Ok(Some(chunk)) = start.read(from, buffer, cancelled) {
        let is_written = catalog.write(|transaction| {
            chunk.write(transaction, |_, batch, row| batch.put(transaction, row, false).map(|_| ()))
        })?;
        if !is_written || chunk.is_last {
            break;
        }
        from = chunk.to;
    }
    Ok(())
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
