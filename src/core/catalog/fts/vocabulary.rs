//! The distinct words of the index, in a table of their own: one pass over it finds the words that contain a given part.

use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem::Finder;
use rusqlite::{Connection, Transaction};

use crate::catalog::error::CatalogResult;

/// Up to how many words that contain a part are looked up; with more of them, searching the texts themselves is faster.
pub const MAX_WORDS: usize = 2_000;

/// After how many words the cancellation flag is read.
const CHECK_EVERY: usize = 4096;

/// Adds words, some of which may be there.
pub fn add<'a>(transaction: &Transaction<'_>, words: impl Iterator<Item = &'a str>) -> CatalogResult<()> {
    let mut put = transaction.prepare_cached("INSERT OR IGNORE INTO word (word) VALUES (?1)")?;
    let mut sorted: Vec<&str> = words.collect();
    sorted.sort_unstable();
    sorted.into_iter().try_for_each(|word| put.execute([word]).map(|_| ()))
}

/// Deletes those of the words that are in no text.
pub fn delete_unused(transaction: &Transaction<'_>, words: &[Box<str>]) -> CatalogResult<()> {
    let mut delete = transaction
        .prepare_cached("DELETE FROM word WHERE word = ?1 AND NOT EXISTS (SELECT 1 FROM word_term WHERE term = ?1)")?;
    words.iter().try_for_each(|word| delete.execute([word]).map(|_| ()))
}

/// The words that are in no text, by one pass over all words and the whole index. Fewer if it was stopped.
pub fn unused(db: &Connection, stop: &AtomicBool) -> CatalogResult<Vec<Box<str>>> {
    // One view of both, each in the order of its bytes.
    let view = db.unchecked_transaction()?;
    let mut words = view.prepare("SELECT word FROM word ORDER BY word")?;
    let mut words = words.query([])?;
    let mut terms = view.prepare("SELECT term FROM word_term")?;
    let mut terms = terms.query([])?;
    let mut term: Option<Box<str>> = None;
    let mut unused = Vec::new();
    let mut count = 0usize;
    while let Some(row) = words.next()? {
        let word = row.get_ref(0)?.as_str()?;
        while term.as_deref().is_none_or(|term| term < word) {
            match terms.next()? {
                Some(row) => term = Some(row.get_ref(0)?.as_str()?.into()),
                None => break,
            }
        }
        if term.as_deref() != Some(word) {
            unused.push(word.into());
        }
        count += 1;
        if count.is_multiple_of(CHECK_EVERY) && stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(unused)
}

/// A part of a word that is searched for.
#[derive(Debug, Clone, Copy)]
pub struct WordPart<'a> {
    pub text: &'a str,
    /// Whether it may be anywhere in a word, or only at its end.
    pub anywhere: bool,
}

/// For each part the words that contain it, or None if there are more than [`MAX_WORDS`]. None if it was cancelled.
pub fn words_containing(
    db: &Connection,
    parts: &[WordPart<'_>],
    cancelled: &AtomicBool,
) -> CatalogResult<Option<Vec<Option<Vec<String>>>>> {
    let finders: Vec<Finder<'_>> = parts.iter().map(|part| Finder::new(part.text.as_bytes())).collect();
    let mut found: Vec<Option<Vec<String>>> = parts.iter().map(|_| Some(Vec::new())).collect();
    let mut statement = db.prepare_cached("SELECT word FROM word")?;
    let mut rows = statement.query([])?;
    let mut count = 0usize;
    while let Some(row) = rows.next()? {
        let word = row.get_ref(0)?.as_str()?;
        for ((part, finder), found) in parts.iter().zip(&finders).zip(&mut found) {
            let contains = match part.anywhere {
                true => finder.find(word.as_bytes()).is_some(),
                false => word.ends_with(part.text),
            };
            if contains {
                match found.as_mut().filter(|words| words.len() < MAX_WORDS) {
                    Some(words) => words.push(word.to_owned()),
                    None => *found = None,
                }
            }
        }
        count += 1;
        if count.is_multiple_of(CHECK_EVERY) && cancelled.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    Ok(Some(found))
}
