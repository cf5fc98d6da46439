//! The table `text`: what users and assistants said, names, labels and summaries. A row of the table holds several texts, in
//! file order.

use std::borrow::Cow;

use rusqlite::{params, Connection, OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};

use super::error::CatalogResult;
use crate::summary::searchable_text::{SearchableText, TextKind};

/// From this size on, the next text goes to another row.
const ROW_BYTES: usize = 64 << 10;

/// How many texts a row may have. The rowid of a text in the index is its row's id times this, plus its number in the row.
pub const ROW_TEXTS: i64 = 4096;

/// How many bytes of a text are stored and searched. SQLite refuses a row of 1 GB.
pub const MAX_TEXT_BYTES: usize = 16 << 20;

/// Set in the code of a truncated text's kind.
const CUT_FLAG: u8 = 0x80;

/// The part of a text that is stored.
pub fn cut(text: &[u8]) -> &[u8] {
    if text.len() <= MAX_TEXT_BYTES {
        return text;
    }
    // The cut is not within a character.
    let is_start = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    text.get(..(0..=MAX_TEXT_BYTES).rev().find(is_start).unwrap_or(0)).unwrap_or_default()
}

/// What the column `places` holds for each text.
#[derive(Serialize, Deserialize)]
struct StoredTextHeader<'a> {
    /// Of the text's kind.
    code: u8,
    /// How many bytes the end of its line is after that of the text before it.
    step: u64,
    /// How many bytes are stored.
    size: usize,
    id: &'a [u8],
    timestamp: &'a [u8],
}

/// Texts to be written as one row.
#[derive(Debug, Default)]
pub struct TextRowBuilder {
    places: Vec<u8>,
    texts: Vec<u8>,
    count: usize,
    /// Where the last text's line ends in the file.
    end: u64,
}

impl TextRowBuilder {
    /// Whether it has no text.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the next text needs another row.
    pub fn is_full(&self) -> bool {
        self.texts.len() >= ROW_BYTES || self.count as i64 == ROW_TEXTS
    }

    /// How many bytes of text it holds.
    pub fn size(&self) -> usize {
        self.texts.len()
    }

    /// Adds a text.
    pub fn push(&mut self, text: &SearchableText) {
        let kept = cut(&text.text);
        let code = text.kind.code() | if kept.len() < text.text.len() { CUT_FLAG } else { 0 };
        let (step, size) = (text.end - self.end, kept.len());
        let written = postcard::to_io(
            &StoredTextHeader { code, step, size, id: &text.id, timestamp: &text.timestamp },
            &mut self.places,
        );
        debug_assert!(written.is_ok(), "writing to memory cannot fail");
        self.texts.extend_from_slice(kept);
        self.end = text.end;
        self.count += 1;
    }

    /// The table row that it is written as.
    pub fn as_row(&self) -> TextRow<'_> {
        TextRow { places: &self.places, texts: &self.texts }
    }

    /// Inserts it as a row of a session and gives the row's id. `is_indexed` says that its words are in the index.
    pub fn put(&self, transaction: &Transaction<'_>, session: i64, is_indexed: bool) -> CatalogResult<i64> {
        let mut put = transaction
            .prepare_cached("INSERT INTO text (session, places, texts, is_indexed) VALUES (?1, ?2, ?3, ?4)")?;
        put.insert(params![session, self.places, self.texts, is_indexed])
    }
}

/// A row of the table: several texts.
pub struct TextRow<'a> {
    places: &'a [u8],
    texts: &'a [u8],
}

/// A text of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredText<'a> {
    pub kind: TextKind,
    pub id: &'a [u8],
    pub timestamp: &'a [u8],
    pub text: &'a [u8],
    /// Whether only its beginning is stored.
    pub is_truncated: bool,
    /// Where its line ends in the file.
    pub end: u64,
}

impl<'a> TextRow<'a> {
    /// Reads it from the columns `places` and `texts`.
    fn of(row: &'a Row<'_>) -> CatalogResult<Self> {
        Ok(Self { places: row.get_ref(0)?.as_blob()?, texts: row.get_ref(1)?.as_blob()? })
    }

    /// How many bytes of text it holds.
    pub fn size(&self) -> usize {
        self.texts.len()
    }

    /// Its texts in file order.
    pub fn iter(&self) -> impl Iterator<Item = StoredText<'_>> {
        let (mut places, mut texts) = (self.places, self.texts);
        let mut end = 0u64;
        std::iter::from_fn(move || {
            let (StoredTextHeader { code, step, size, id, timestamp }, later) =
                postcard::take_from_bytes(places).ok()?;
            let (text, rest) = texts.split_at_checked(size)?;
            (places, texts) = (later, rest);
            end = end.checked_add(step)?;
            let kind = TextKind::from_code(code & !CUT_FLAG)?;
            Some(StoredText { kind, id, timestamp, text, is_truncated: code & CUT_FLAG != 0, end })
        })
    }
}

/// Calls `each` with a session's rows of texts in file order, until it returns false.
pub fn of_session(db: &Connection, session: i64, mut each: impl FnMut(&TextRow<'_>) -> bool) -> CatalogResult<()> {
    let mut statement = db.prepare_cached("SELECT places, texts FROM text WHERE session = ?1 ORDER BY id")?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        if !each(&TextRow::of(row)?) {
            break;
        }
    }
    Ok(())
}

/// Calls `work` with a row of texts. None if there is no such row.
pub fn row<T>(db: &Connection, id: i64, work: impl FnOnce(&TextRow<'_>) -> T) -> CatalogResult<Option<T>> {
    let mut statement = db.prepare_cached("SELECT places, texts FROM text WHERE id = ?1")?;
    let mut rows = statement.query([id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(work(&TextRow::of(row)?)))
}

/// The offset in its file up to which a session's texts were ingested; None if another process deleted the row.
pub fn ingested_to(db: &Connection, session: i64) -> CatalogResult<Option<u64>> {
    let mut statement = db.prepare_cached("SELECT texts_to FROM session WHERE id = ?1")?;
    statement.query_row([session], |row| row.get::<_, i64>(0).map(|end| end as u64)).optional()
}

/// Sets how far texts were ingested. False if another connection ingested them meanwhile: then nothing may be written.
pub fn advance_ingest(transaction: &Transaction<'_>, session: i64, from: u64, to: u64) -> CatalogResult<bool> {
    let mut statement =
        transaction.prepare_cached("UPDATE session SET texts_to = ?3 WHERE id = ?1 AND texts_to = ?2")?;
    Ok(statement.execute(params![session, from as i64, to as i64])? == 1)
}

/// A text as UTF-8: lone surrogates become U+FFFD.
pub fn unicode(text: &[u8]) -> Cow<'_, str> {
    crate::base::wtf8::to_string_lossy(text)
}
