//! Taking the texts of sessions into the catalog, a bit at a time: nothing is held while a file is read, and whatever
//! was done stays done.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::rows::{self, Remembered};
use super::texts::{advance, taken_to, Batch};
use super::{Catalog, Outcome};
use crate::core::info::Content;
use crate::core::stamp::{fingerprint, Stamp};
use crate::core::texts::{read_texts, Read, Text};

/// How many bytes of text are written at once: few enough that other writers need not wait long.
const WRITTEN_AT_ONCE: usize = 8 << 20;

/// A session whose texts are not all in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    pub session: i64,
    pub dir: String,
    pub name: String,
    /// How many bytes of its file are still to be read.
    pub bytes: u64,
}

/// The sessions whose texts are not all in the catalog, those first that were changed longest ago: what is taken last
/// counts as the newest.
pub fn lacking(db: &Connection, dir: Option<&str>) -> Outcome<Vec<Lacking>> {
    let mut statement = db.prepare_cached(
        "SELECT id, dir, name, read_to - texts_to FROM session
         WHERE state > 1 AND texts_to < read_to AND (?1 IS NULL OR dir = ?1) ORDER BY modified, dir, name",
    )?;
    let rows = statement.query_map([dir], |row| {
        Ok(Lacking { session: row.get(0)?, dir: row.get(1)?, name: row.get(2)?, bytes: row.get::<_, i64>(3)? as u64 })
    })?;
    rows.collect()
}

/// What became of taking a session's texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// All that was lacking is there.
    All,
    /// The file, or the row, is no longer what it was: the next list will see to it.
    Changed,
    Cancelled,
}

/// Takes the texts that a session lacks.
pub fn take(
    catalog: &mut Catalog,
    lacking: &Lacking,
    buffer: &mut Box<[u8]>,
    cancelled: &AtomicBool,
) -> Outcome<io::Result<Taken>> {
    let Some(row) = rows::of_file(catalog.db(), &lacking.dir, &lacking.name)? else {
        return Ok(Ok(Taken::Changed));
    };
    let Content::Session(version, _) = row.known.content else {
        return Ok(Ok(Taken::Changed));
    };
    let mut from = taken_to(catalog.db(), row.row)?;
    let file = match File::open(Path::new(&lacking.dir).join(&lacking.name)) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    // Until everything is read, what there is so much of that it is written in between.
    loop {
        match still_is(&file, &row) {
            Ok(true) => {}
            Ok(false) => return Ok(Ok(Taken::Changed)),
            Err(error) => return Ok(Err(error)),
        }
        let mut batches = vec![Batch::default()];
        let mut size = 0;
        let mut to = row.known.end;
        let full = AtomicBool::new(false);
        let mut each = |text: Text| {
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
            if size >= WRITTEN_AT_ONCE || cancelled.load(Ordering::Relaxed) {
                to = text.end;
                full.store(true, Ordering::Relaxed);
            }
        };
        let version = (from > 0).then_some(version);
        match read_texts(&file, (from, row.known.end), version, false, buffer, &full, &mut each) {
            Ok(Read::To(_) | Read::Cancelled) => {}
            Err(error) => return Ok(Err(error)),
        }
        if cancelled.load(Ordering::Relaxed) {
            return Ok(Ok(Taken::Cancelled));
        }
        // Read while it was changed, it may be a bit of both.
        match still_is(&file, &row) {
            Ok(true) => {}
            Ok(false) => return Ok(Ok(Taken::Changed)),
            Err(error) => return Ok(Err(error)),
        }
        let written = catalog.write(|transaction| {
            if !advance(transaction, row.row, from, to)? {
                return Ok(false);
            }
            for batch in batches.iter().filter(|batch| !batch.is_empty()) {
                batch.put(transaction, row.row)?;
            }
            Ok(true)
        })?;
        if !written {
            return Ok(Ok(Taken::Changed));
        }
        if to >= row.known.end {
            return Ok(Ok(Taken::All));
        }
        from = to;
    }
}

/// Whether a file still begins with what was read of it.
fn still_is(file: &File, row: &Remembered) -> io::Result<bool> {
    let now = Stamp::of(&file.metadata()?);
    let same_file = now.is_same_file(&row.stamp) && now.size >= row.known.end;
    Ok(same_file && fingerprint(file, row.known.end)? == row.print)
}

/// Takes away what is left of sessions that the catalog knows no more, a bit at a time. True if there may be more.
pub fn clean(catalog: &mut Catalog) -> Outcome<bool> {
    catalog.write(|transaction| {
        let mut orphans = transaction.prepare_cached(
            "SELECT id, length(places) FROM text WHERE session NOT IN (SELECT id FROM session) LIMIT 64",
        )?;
        let ids: Vec<i64> = orphans.query_map([], |row| row.get(0))?.collect::<Outcome<_>>()?;
        for id in &ids {
            crate::core::search::index::forget(transaction, *id)?;
            transaction.prepare_cached("DELETE FROM text WHERE id = ?1")?.execute([id])?;
        }
        Ok(ids.len() == 64)
    })
}
