//! Every word of the index, for finding those that a part of a word is in. The catalog keeps their number and the sum of
//! their hashes: a word that is missing would hide the texts that it is in.

use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashSet;
use memchr::memmem::Finder;
use rusqlite::{params, Connection, Transaction};
use xxhash_rust::xxh3::xxh3_64;

use crate::core::catalog::text_rows::broken;
use crate::core::catalog::Outcome;

/// How many words that hold a part are worth looking for: with more of them, the texts themselves are looked through.
pub const MOST_WORDS: usize = 2_000;

/// How many words are passed over before it is looked whether that is still wanted.
const LOOK_EVERY: usize = 4096;

fn number(db: &Connection, name: &str) -> Outcome<i64> {
    db.prepare_cached("SELECT value FROM state WHERE name = ?1")?.query_row([name], |row| row.get(0))
}

fn change(transaction: &Transaction<'_>, name: &str, by: i64) -> Outcome<()> {
    let sum = number(transaction, name)?.wrapping_add(by);
    transaction.prepare_cached("UPDATE state SET value = ?2 WHERE name = ?1")?.execute(params![name, sum])?;
    Ok(())
}

fn hash(word: &str) -> i64 {
    xxh3_64(word.as_bytes()) as i64
}

/// How often words were taken away.
pub fn prunes(db: &Connection) -> Outcome<i64> {
    number(db, "prunes")
}

/// Adds words, some of which may be there.
pub fn add<'a>(transaction: &Transaction<'_>, words: impl Iterator<Item = &'a str>) -> Outcome<()> {
    let mut put = transaction.prepare_cached("INSERT OR IGNORE INTO word (word) VALUES (?1)")?;
    let mut sorted: Vec<&str> = words.collect();
    sorted.sort_unstable();
    let (mut count, mut sum) = (0, 0i64);
    for word in sorted {
        if put.execute([word])? == 1 {
            count += 1;
            sum = sum.wrapping_add(hash(word));
        }
    }
    if count == 0 {
        return Ok(());
    }
    change(transaction, "words", count)?;
    change(transaction, "words_sum", sum)
}

/// Takes those of some words away that are in no text any more.
pub fn prune(transaction: &Transaction<'_>, words: &HashSet<Box<str>>) -> Outcome<()> {
    let mut is_used = transaction.prepare_cached("SELECT 1 FROM word_place WHERE term = ?1 LIMIT 1")?;
    let mut delete = transaction.prepare_cached("DELETE FROM word WHERE word = ?1")?;
    let (mut count, mut sum) = (0, 0i64);
    for word in words {
        if !is_used.exists([word])? && delete.execute([word])? == 1 {
            count += 1;
            sum = sum.wrapping_add(hash(word));
        }
    }
    if count == 0 {
        return Ok(());
    }
    change(transaction, "words", -count)?;
    change(transaction, "words_sum", sum.wrapping_neg())?;
    change(transaction, "prunes", 1)
}

/// The words that are in no text, by one pass over all words and all of the index. Fewer if it was stopped.
pub fn unused(db: &Connection, stop: &AtomicBool) -> Outcome<Vec<Box<str>>> {
    // One view of both, and both in the order of their bytes.
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
        if count.is_multiple_of(LOOK_EVERY) && stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(unused)
}

/// A part of a word that is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    pub text: &'a str,
    /// Whether it may stand anywhere in a word, or at its end alone.
    pub anywhere: bool,
}

/// For each part the words that hold it, or none where there are more than [`MOST_WORDS`]. One pass over all words. None
/// if it was cancelled; an error if words are missing.
pub fn around(
    db: &Connection,
    parts: &[Part<'_>],
    cancelled: &AtomicBool,
) -> Outcome<Option<Vec<Option<Vec<String>>>>> {
    let finders: Vec<Finder<'_>> = parts.iter().map(|part| Finder::new(part.text.as_bytes())).collect();
    let mut found: Vec<Option<Vec<String>>> = parts.iter().map(|_| Some(Vec::new())).collect();
    let mut statement = db.prepare_cached("SELECT word FROM word")?;
    let mut rows = statement.query([])?;
    let (mut count, mut sum) = (0usize, 0i64);
    while let Some(row) = rows.next()? {
        let word = row.get_ref(0)?.as_str()?;
        count += 1;
        sum = sum.wrapping_add(hash(word));
        for ((part, finder), found) in parts.iter().zip(&finders).zip(&mut found) {
            let holds = match part.anywhere {
                true => finder.find(word.as_bytes()).is_some(),
                false => word.ends_with(part.text),
            };
            if holds {
                match found.as_mut().filter(|words| words.len() < MOST_WORDS) {
                    Some(words) => words.push(word.to_owned()),
                    None => *found = None,
                }
            }
        }
        if count.is_multiple_of(LOOK_EVERY) && cancelled.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    match (number(db, "words")?, number(db, "words_sum")?) == (count as i64, sum) {
        true => Ok(Some(found)),
        false => Err(broken("words are missing")),
    }
}
