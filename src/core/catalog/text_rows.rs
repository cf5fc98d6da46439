//! The table `text`: what users and assistants said, names, labels and summaries. A row of the table holds several texts, in
//! file order.

use std::borrow::Cow;

use rusqlite::{params, Connection, OptionalExtension, Row, Transaction};

use super::error::CatalogResult;
use crate::core::summary::searchable_text::{SearchableText, TextKind};

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
    cut_to(text, MAX_TEXT_BYTES)
}

fn cut_to(text: &[u8], most: usize) -> &[u8] {
    if text.len() <= most {
        return text;
    }
    // The cut is not within a character.
    let is_start = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    text.get(..(0..=most).rev().find(is_start).unwrap_or(0)).unwrap_or_default()
}

/// Texts to be written as one row.
#[derive(Debug, Default)]
pub struct Batch {
    places: Vec<u8>,
    texts: Vec<u8>,
    count: usize,
    /// Where the last text's line ends in the file.
    end: u64,
}

impl Batch {
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
        self.places.push(text.kind.code() | if kept.len() < text.text.len() { CUT_FLAG } else { 0 });
        push_number(&mut self.places, text.end - self.end);
        push_number(&mut self.places, kept.len() as u64);
        push_bytes(&mut self.places, &text.id);
        push_bytes(&mut self.places, &text.timestamp);
        self.texts.extend_from_slice(kept);
        self.end = text.end;
        self.count += 1;
    }

    /// The table row that it is written as.
    pub fn as_row(&self) -> TextRow<'_> {
        TextRow { places: Cow::Borrowed(&self.places), texts: Cow::Borrowed(&self.texts) }
    }

    /// Inserts it as a row of a session and gives the row's id. `is_indexed` says that its words are in the index.
    pub fn put(&self, transaction: &Transaction<'_>, session: i64, is_indexed: bool) -> CatalogResult<i64> {
        let mut put = transaction.prepare_cached(
            "INSERT INTO text (session, read_to, places, texts, is_indexed) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        put.insert(params![session, self.end as i64, self.places, self.texts, is_indexed])
    }
}

/// A row of the table: several texts.
#[derive(Debug, PartialEq, Eq)]
pub struct TextRow<'a> {
    places: Cow<'a, [u8]>,
    texts: Cow<'a, [u8]>,
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
    /// Reads it from [`COLUMNS`].
    fn of(row: &'a Row<'_>) -> CatalogResult<Self> {
        let (places, texts) = (row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob()?);
        Ok(Self { places: Cow::Borrowed(places), texts: Cow::Borrowed(texts) })
    }

    /// How many bytes of text it holds.
    pub fn size(&self) -> usize {
        self.texts.len()
    }

    /// Its texts in file order.
    pub fn iter(&self) -> impl Iterator<Item = StoredText<'_>> {
        let mut places = &*self.places;
        let mut texts = &*self.texts;
        let mut end = 0;
        std::iter::from_fn(move || {
            let (&code, rest) = places.split_first()?;
            places = rest;
            end += take_number(&mut places)?;
            let size = usize::try_from(take_number(&mut places)?).ok()?;
            let id = take_bytes(&mut places)?;
            let timestamp = take_bytes(&mut places)?;
            let (text, rest) = texts.split_at_checked(size)?;
            texts = rest;
            let kind = TextKind::from_code(code & !CUT_FLAG)?;
            Some(StoredText { kind, id, timestamp, text, is_truncated: code & CUT_FLAG != 0, end })
        })
    }
}

const COLUMNS: &str = "session, places, texts";

/// Calls `each` with a session's rows of texts in file order, until it returns false.
pub fn of_session(db: &Connection, session: i64, mut each: impl FnMut(&TextRow<'_>) -> bool) -> CatalogResult<()> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM text WHERE session = ?1 ORDER BY id"))?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        if !each(&TextRow::of(row)?) {
            break;
        }
    }
    Ok(())
}

/// Calls `work` with a row of texts and the session it belongs to. None if there is no such row.
pub fn row<T>(db: &Connection, id: i64, work: impl FnOnce(i64, &TextRow<'_>) -> T) -> CatalogResult<Option<T>> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM text WHERE id = ?1"))?;
    let mut rows = statement.query([id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(work(row.get(0)?, &TextRow::of(row)?)))
}

/// The offset in its file up to which a session's texts were ingested; None if another process deleted the row.
pub fn ingested_to(db: &Connection, session: i64) -> CatalogResult<Option<u64>> {
    let mut statement = db.prepare_cached("SELECT texts_to FROM session WHERE id = ?1")?;
    statement.query_row([session], |row| row.get::<_, i64>(0).map(|end| end as u64)).optional()
}

/// The same for texts that were ingested from an earlier state of the file, and may still be in it.
pub fn ingested_before(db: &Connection, session: i64) -> CatalogResult<Option<u64>> {
    let mut statement = db.prepare_cached("SELECT texts_before FROM session WHERE id = ?1 AND texts_before > 0")?;
    statement.query_row([session], |row| row.get::<_, i64>(0).map(|end| end as u64)).optional()
}

/// The ids of a session's rows of texts, and where each ends in the file, in file order.
pub fn row_ends(db: &Connection, session: i64) -> CatalogResult<Vec<(i64, u64)>> {
    let mut statement = db.prepare_cached("SELECT id, read_to FROM text WHERE session = ?1 ORDER BY id")?;
    let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
    rows.collect()
}

/// Sets how far texts were ingested. False if another connection ingested them meanwhile: then nothing may be written.
pub fn advance_ingest(transaction: &Transaction<'_>, session: i64, from: u64, to: u64) -> CatalogResult<bool> {
    let mut statement = transaction
        .prepare_cached("UPDATE session SET texts_to = ?3 WHERE id = ?1 AND texts_to = ?2 AND texts_before = 0")?;
    Ok(statement.execute(params![session, from as i64, to as i64])? == 1)
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let size = usize::try_from(take_number(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(size)?;
    *bytes = rest;
    Some(taken)
}

/// A text as UTF-8: lone surrogates become U+FFFD.
pub fn unicode(text: &[u8]) -> Cow<'_, str> {
    crate::core::base::wtf8::to_string_lossy(text)
}
