//! Revalidation: whether a changed file still has the texts that were ingested from it. A new mode, owner or time changes the
//! fingerprint of a file, and so does a copy that replaces it. Comparing the texts costs far less than indexing them again.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::error::CatalogResult;
use super::text_rows::{row, row_ends, Batch, MAX_TEXT_BYTES};
use crate::core::summary::searchable_text::{read_texts, SearchableText};

/// Compares the texts of a file with the rows of a session.
struct Comparison<'a> {
    db: &'a Connection,
    /// The ids of the rows that follow, and where each ends in the file.
    rows: std::vec::IntoIter<(i64, u64)>,
    row: Option<(i64, u64)>,
    /// The current row, built from the file's texts.
    made: Batch,
}

impl Comparison<'_> {
    /// Adds the file's next text. False if the rows before it differ, or there is no row for it.
    fn add(&mut self, text: &SearchableText) -> CatalogResult<bool> {
        while self.row.is_some_and(|(_, end)| text.end > end) {
            if !self.finish_row()? {
                return Ok(false);
            }
        }
        self.made.push(text);
        Ok(self.row.is_some())
    }

    /// Compares the current row and goes on to the next. False if it differs.
    fn finish_row(&mut self) -> CatalogResult<bool> {
        let made = std::mem::take(&mut self.made);
        let Some((id, _)) = self.row else { return Ok(false) };
        self.row = self.rows.next();
        Ok(row(self.db, id, |_, stored| *stored == made.as_row())?.unwrap_or(false))
    }
}

/// Whether the texts in the first `end` bytes of a file are those that the catalog has of a session.
pub fn has_same_texts(
    db: &Connection,
    session: i64,
    (file, end): (&File, u64),
    cancelled: &AtomicBool,
) -> CatalogResult<io::Result<bool>> {
    let mut rows = row_ends(db, session)?.into_iter();
    let mut comparison = Comparison { db, row: rows.next(), rows, made: Batch::default() };
    let mut is_same = Ok(true);
    let differs = AtomicBool::new(false);
    let mut each = |text: SearchableText| {
        if matches!(is_same, Ok(true)) {
            is_same = comparison.add(&text);
        }
        differs.store(!matches!(is_same, Ok(true)), Ordering::Relaxed);
    };
    let most = Some(MAX_TEXT_BYTES);
    if let Err(error) = read_texts(file, (0, end), None, most, &mut Box::default(), &[&differs, cancelled], &mut each) {
        return Ok(Err(error));
    }
    while matches!(is_same, Ok(true)) && comparison.row.is_some() {
        is_same = comparison.finish_row();
    }
    is_same.map(Ok)
}
