//! The catalog's texts: what a session's users and assistants said, its names, labels and summaries, a few of them in
//! one row, in file order.

use std::borrow::Cow;

use rusqlite::{params, Connection, OptionalExtension, Row, Transaction};
use xxhash_rust::xxh3::xxh3_64;

use super::Outcome;
use crate::core::texts::{Kind, Text};

/// How many bytes of text a row has before the next begins.
const ROW_BYTES: usize = 64 << 10;

/// How many texts a row may have: a text's number is its row's number times this, and its place in the row.
pub const ROW_TEXTS: i64 = 4096;

/// Texts on their way into one row.
#[derive(Debug, Default)]
pub struct Batch {
    places: Vec<u8>,
    texts: Vec<u8>,
    count: usize,
    /// Where the last text's line ends in the file.
    end: u64,
}

impl Batch {
    /// Whether there is no text in it.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether another text belongs into another row.
    pub fn is_full(&self) -> bool {
        self.texts.len() >= ROW_BYTES || self.count as i64 == ROW_TEXTS
    }

    /// How many bytes of text it holds.
    pub fn size(&self) -> usize {
        self.texts.len()
    }

    /// Takes a text.
    pub fn push(&mut self, text: &Text) {
        self.places.push(text.kind.code());
        push_number(&mut self.places, text.end - self.end);
        push_number(&mut self.places, text.text.len() as u64);
        push_bytes(&mut self.places, &text.id);
        push_bytes(&mut self.places, &text.timestamp);
        self.texts.extend_from_slice(&text.text);
        self.end = text.end;
        self.count += 1;
    }

    /// Writes it as a row of a session.
    pub fn put(&self, transaction: &Transaction<'_>, session: i64) -> Outcome<()> {
        let mut put = transaction.prepare_cached(
            "INSERT INTO text (session, read_to, places, texts, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let checksum = checksum(&self.places, &self.texts) as i64;
        put.execute(params![session, self.end as i64, self.places, self.texts, checksum])?;
        Ok(())
    }
}

fn checksum(places: &[u8], texts: &[u8]) -> u64 {
    xxh3_64(places).rotate_left(1) ^ xxh3_64(texts)
}

/// A row of texts as it was written.
#[derive(Debug)]
pub struct TextRow<'a> {
    places: Cow<'a, [u8]>,
    texts: Cow<'a, [u8]>,
}

/// A text of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed<'a> {
    pub kind: Kind,
    pub id: &'a [u8],
    pub timestamp: &'a [u8],
    pub text: &'a [u8],
    /// Where its line ends in the file.
    pub end: u64,
}

impl<'a> TextRow<'a> {
    /// Takes it from these columns, and the next one. None if it is not what was written.
    fn checked(row: &'a Row<'_>, from: usize) -> Outcome<Option<Self>> {
        let places = row.get_ref(from)?.as_blob()?;
        let texts = row.get_ref(from + 1)?.as_blob()?;
        let is_whole = checksum(places, texts) as i64 == row.get::<_, i64>(from + 2)?;
        Ok(is_whole.then_some(Self { places: Cow::Borrowed(places), texts: Cow::Borrowed(texts) }))
    }

    fn into_owned(self) -> TextRow<'static> {
        TextRow { places: Cow::Owned(self.places.into_owned()), texts: Cow::Owned(self.texts.into_owned()) }
    }

    /// Its texts in file order.
    pub fn iter(&self) -> impl Iterator<Item = Placed<'_>> {
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
            Some(Placed { kind: Kind::from_code(code)?, id, timestamp, text, end })
        })
    }
}

/// Hands on a session's rows of texts in file order, until told to stop. False if a row was not as it was written.
pub fn of_session(db: &Connection, session: i64, mut each: impl FnMut(&TextRow<'_>) -> bool) -> Outcome<bool> {
    let mut statement = db.prepare_cached("SELECT places, texts, checksum FROM text WHERE session = ?1 ORDER BY id")?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        match TextRow::checked(row, 0)? {
            Some(row) if each(&row) => {}
            Some(_) => break,
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// A row of texts, and whose it is.
pub fn row(db: &Connection, id: i64) -> Outcome<Option<(i64, TextRow<'static>)>> {
    let mut statement = db.prepare_cached("SELECT session, places, texts, checksum FROM text WHERE id = ?1")?;
    let found = statement.query_row([id], |row| {
        let session = row.get(0)?;
        Ok(TextRow::checked(row, 1)?.map(|texts| (session, texts.into_owned())))
    });
    Ok(found.optional()?.flatten())
}

/// How far into its file a session's texts were taken; None if another process has taken the row away.
pub fn taken_to(db: &Connection, session: i64) -> Outcome<Option<u64>> {
    let mut statement = db.prepare_cached("SELECT texts_to FROM session WHERE id = ?1")?;
    statement.query_row([session], |row| row.get::<_, i64>(0).map(|end| end as u64)).optional()
}

/// Notes how far texts were taken. False if somebody else took them meanwhile: then nothing may be written.
pub fn advance(transaction: &Transaction<'_>, session: i64, from: u64, to: u64) -> Outcome<bool> {
    let mut statement =
        transaction.prepare_cached("UPDATE session SET texts_to = ?3 WHERE id = ?1 AND texts_to = ?2")?;
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

/// A text as Unicode: lone surrogates become U+FFFD.
pub fn unicode(text: &[u8]) -> Cow<'_, str> {
    crate::core::text::shown(text)
}
