//! The full-text index over the catalog's texts: a contentless FTS5 table.

use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashSet;
use rusqlite::{params, Connection, Transaction};

use super::tokenizer::index_words;
use super::vocabulary;
use crate::catalog::connection::Catalog;
use crate::catalog::error::CatalogResult;
use crate::catalog::text_rows::{row, unicode, TextRow, ROW_TEXTS};

/// How many bytes of text one transaction indexes, so that other writers do not wait long.
const INDEXED_AT_ONCE: usize = 8 << 20;

/// How many words are cached as known, so that they need no lookup.
const KNOWN_WORDS: usize = 1 << 20;

/// Adds texts to the index. It caches which words the table `word` has.
#[derive(Default)]
pub struct Indexer {
    known: HashSet<Box<str>>,
    /// SQLite's data version when these words were known.
    version: i64,
}

/// The tokenized texts of some rows, and their distinct words.
struct TokenizedRows {
    texts: Vec<(i64, Vec<String>)>,
    words: HashSet<Box<str>>,
}

impl Indexer {
    /// Forgets what is known if another connection has written since: it may have deleted words.
    pub fn refresh(&mut self, db: &Connection) -> CatalogResult<()> {
        let version = db.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        if version != self.version || self.known.len() > KNOWN_WORDS {
            self.known.clear();
        }
        self.version = version;
        Ok(())
    }

    /// Adds the words that are not known yet to the table.
    pub fn add(&self, transaction: &Transaction<'_>, words: &HashSet<Box<str>>) -> CatalogResult<()> {
        vocabulary::add(transaction, words.iter().map(|word| &**word).filter(|word| !self.known.contains(*word)))
    }

    /// Caches words that were added.
    pub fn learn(&mut self, words: HashSet<Box<str>>) {
        self.known.extend(words);
    }

    /// Indexes the texts of a session that are not indexed yet. False if it was cancelled.
    pub fn index(&mut self, catalog: &mut Catalog, session: i64, cancelled: &AtomicBool) -> CatalogResult<bool> {
        while !cancelled.load(Ordering::Relaxed) {
            let rows: Vec<i64> = {
                let db = catalog.db();
                let mut statement = db.prepare_cached(
                    "SELECT id FROM text WHERE session = ?1 AND is_indexed = 0 ORDER BY id LIMIT 128",
                )?;
                let rows = statement.query_map([session], |row| row.get(0))?;
                rows.collect::<CatalogResult<_>>()?
            };
            if rows.is_empty() {
                return Ok(true);
            }
            let tokenized = tokenize(catalog, &rows, cancelled)?;
            catalog.write(|transaction| {
                self.refresh(transaction)?;
                for (id, texts) in &tokenized.texts {
                    put(transaction, *id, texts)?;
                }
                self.add(transaction, &tokenized.words)
            })?;
            self.learn(tokenized.words);
        }
        Ok(false)
    }
}

/// The words of each text of a row; adds them to `words`.
pub fn tokenized(texts: &TextRow<'_>, words: &mut HashSet<Box<str>>) -> Vec<String> {
    let mut each = |word: &str| {
        if !words.contains(word) {
            words.insert(word.into());
        }
    };
    texts.iter().map(|text| index_words(&unicode(text.text), &mut each).into_owned()).collect()
}

fn tokenize(catalog: &Catalog, rows: &[i64], cancelled: &AtomicBool) -> CatalogResult<TokenizedRows> {
    let mut tokenized = TokenizedRows { texts: Vec::new(), words: HashSet::new() };
    let mut size = 0;
    for &id in rows {
        let texts = row(catalog.db(), id, |texts| {
            size += texts.size();
            self::tokenized(texts, &mut tokenized.words)
        })?;
        // Another process may have deleted it.
        tokenized.texts.extend(texts.map(|texts| (id, texts)));
        if size >= INDEXED_AT_ONCE || cancelled.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(tokenized)
}

fn put(transaction: &Transaction<'_>, id: i64, texts: &[String]) -> CatalogResult<()> {
    // Another process may have indexed or deleted it.
    let mut mark = transaction.prepare_cached("UPDATE text SET is_indexed = 1 WHERE id = ?1 AND is_indexed = 0")?;
    if mark.execute([id])? == 0 {
        return Ok(());
    }
    put_words(transaction, id, texts)
}

/// Adds the texts of a row, already tokenized.
pub fn put_words(transaction: &Transaction<'_>, id: i64, texts: &[String]) -> CatalogResult<()> {
    let mut insert = transaction.prepare_cached("INSERT INTO word_index (rowid, words) VALUES (?1, ?2)")?;
    for (at, words) in texts.iter().enumerate() {
        insert.execute(params![id * ROW_TEXTS + at as i64, words])?;
    }
    Ok(())
}
