//! The index of words over the catalog's texts: FTS5, which keeps words and where they stand, but no text.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{params, Transaction};

use super::words::for_index;
use crate::core::catalog::texts::{row, unicode, ROW_TEXTS};
use crate::core::catalog::{Catalog, Outcome};

/// How many bytes of text are indexed at once: few enough that other writers need not wait long.
const INDEXED_AT_ONCE: usize = 4 << 20;

/// How many words are remembered as known, so that they need not be looked up.
const KNOWN_WORDS: usize = 1 << 20;

/// Indexes texts, some at a time.
#[derive(Default)]
pub struct Indexer {
    known: HashSet<Box<str>>,
}

impl Indexer {
    /// Indexes what a session has of texts that are not. False if it was cancelled before all was done.
    pub fn index(&mut self, catalog: &mut Catalog, session: i64, cancelled: &AtomicBool) -> Outcome<bool> {
        loop {
            if cancelled.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let rows: Vec<i64> = {
                let db = catalog.db();
                let mut statement = db
                    .prepare_cached("SELECT id FROM text WHERE session = ?1 AND is_indexed = 0 ORDER BY id LIMIT 64")?;
                let rows = statement.query_map([session], |row| row.get(0))?;
                rows.collect::<Outcome<_>>()?
            };
            if rows.is_empty() {
                return Ok(true);
            }
            let mut batch = Vec::new();
            let mut size = 0;
            let mut fresh: HashSet<Box<str>> = HashSet::new();
            for id in rows {
                let mut prepared = Vec::new();
                // A row that is broken has nothing to index.
                if let Some((_, texts)) = row(catalog.db(), id)? {
                    for placed in texts.iter() {
                        let text = unicode(placed.text);
                        let words = for_index(&text, &mut |word| {
                            if !self.known.contains(word) && !fresh.contains(word) {
                                fresh.insert(word.into());
                            }
                        });
                        size += text.len();
                        prepared.push(words.into_owned());
                    }
                }
                batch.push((id, prepared));
                if size >= INDEXED_AT_ONCE || cancelled.load(Ordering::Relaxed) {
                    break;
                }
            }
            catalog.write(|transaction| {
                for (id, texts) in &batch {
                    put(transaction, *id, texts)?;
                }
                let mut put_word = transaction.prepare_cached("INSERT OR IGNORE INTO word (word) VALUES (?1)")?;
                let mut sorted: Vec<&str> = fresh.iter().map(|word| &**word).collect();
                sorted.sort_unstable();
                for word in sorted {
                    put_word.execute([word])?;
                }
                Ok(())
            })?;
            if self.known.len() + fresh.len() > KNOWN_WORDS {
                self.known.clear();
            }
            self.known.extend(fresh);
        }
    }
}

fn put(transaction: &Transaction<'_>, id: i64, texts: &[String]) -> Outcome<()> {
    // Another process may have been quicker, or have taken the row away.
    let mut mark = transaction.prepare_cached("UPDATE text SET is_indexed = 1 WHERE id = ?1 AND is_indexed = 0")?;
    if mark.execute([id])? == 0 {
        return Ok(());
    }
    let mut insert = transaction.prepare_cached("INSERT INTO word_index (rowid, words) VALUES (?1, ?2)")?;
    for (at, words) in texts.iter().enumerate() {
        insert.execute(params![id * ROW_TEXTS + at as i64, words])?;
    }
    Ok(())
}

/// Takes a row of texts out of the index.
pub fn forget(transaction: &Transaction<'_>, id: i64) -> Outcome<()> {
    let mut delete = transaction.prepare_cached("DELETE FROM word_index WHERE rowid >= ?1 AND rowid < ?2")?;
    delete.execute([id * ROW_TEXTS, (id + 1) * ROW_TEXTS])?;
    Ok(())
}
