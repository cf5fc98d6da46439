//! Taking texts out of the catalog that no session has any more, and their words out of the index, a bit at a time: others
//! want to write, too. Nothing of them is left in the end.
//!
//! FTS5 takes words away in two ways. It may look up each word of each text and overwrite it there, which costs many times
//! what indexing it did. Or it may note that they are gone, and leave them out when it writes the index anew. So few texts
//! go the first way, many the second.

use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashSet;
use rusqlite::{params, Connection, Transaction};

use super::fts::vocabulary::{prune, unused};
use super::fts::words::for_index;
use super::text_rows::{broken, row, unicode, ROW_TEXTS};
use super::{Catalog, Outcome};

/// Writing all of the index anew costs as much as overwriting this share of its texts.
const SHARE: usize = 128;
/// A row with texts of so many bytes would be overwritten for too long at once.
const LONG: i64 = 512 << 10;

/// How many bytes of text are overwritten at once, or noted as gone, how many pages of the index are written anew at once,
/// and how many words are taken away at once: a few tens of milliseconds each.
const OVERWRITTEN_AT_ONCE: usize = 8 << 10;
const NOTED_AT_ONCE: usize = 256 << 10;
const PAGES_AT_ONCE: i32 = 128;
const WORDS_AT_ONCE: usize = 512;

/// The texts of sessions that the catalog knows no more, and their sizes.
const ORPHANS: &str = "SELECT id, length(texts) FROM text WHERE session NOT IN (SELECT id FROM session) ORDER BY id";

/// Whether nothing is left of sessions that the catalog knows no more.
pub fn is_clean(db: &Connection) -> Outcome<bool> {
    Ok(!db.prepare_cached(ORPHANS)?.exists([])? && stale(db)? == 0)
}

/// How often texts were noted as gone whose words may still stand in the index.
fn stale(db: &Connection) -> Outcome<i64> {
    db.prepare_cached("SELECT value FROM state WHERE name = 'stale'")?.query_row([], |row| row.get(0))
}

/// Takes away what is left of sessions that the catalog knows no more. Gives in how many steps it was done, between which
/// others may write.
pub fn clean(catalog: &mut Catalog, stop: &AtomicBool) -> Outcome<usize> {
    let (steps, leaves_words) = take_out(catalog, stop)?;
    // Who was stopped before it was done left words, too.
    match leaves_words || stale(catalog.db())? > 0 {
        true => Ok(steps + renew_index(catalog, stop)?),
        false => Ok(steps),
    }
}

/// Takes the rows of texts away. Gives in how many steps, and whether their words still stand in the index.
pub fn take_out(catalog: &mut Catalog, stop: &AtomicBool) -> Outcome<(usize, bool)> {
    let (orphans, all): (Vec<(i64, i64)>, usize) = {
        let db = catalog.db();
        let mut orphans = db.prepare_cached(ORPHANS)?;
        let orphans = orphans.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Outcome<_>>()?;
        let all = db.query_row("SELECT count(*) FROM text", [], |row| row.get::<_, i64>(0))?;
        (orphans, usize::try_from(all).unwrap_or(0))
    };
    let is_long = |(_, size): &(i64, i64)| *size > LONG;
    let many = orphans.len() * SHARE >= all.max(1) || orphans.iter().any(is_long) || stale(catalog.db())? > 0;
    let orphans: Vec<i64> = orphans.into_iter().map(|(id, _)| id).collect();
    let mut rest = orphans.as_slice();
    let mut steps = 0;
    while !rest.is_empty() && !stop.load(Ordering::Relaxed) {
        let gone = Gone::of(catalog.db(), rest, many)?;
        let count = catalog.write(|transaction| gone.forget(transaction, many))?;
        rest = rest.get(count..).unwrap_or_default();
        steps += 1;
    }
    Ok((steps, many && steps > 0))
}

/// Texts that are taken away at once.
#[derive(Default)]
struct Gone {
    /// By their numbers in the index, the words that it was given of each.
    texts: Vec<(i64, String)>,
    words: HashSet<Box<str>>,
    /// The rows of which nothing is left then.
    rows: Vec<i64>,
}

impl Gone {
    /// The first texts of some rows, as many as are taken away at once.
    fn of(db: &Connection, ids: &[i64], many: bool) -> Outcome<Self> {
        let mut gone = Self::default();
        let mut size = 0;
        let most = if many { NOTED_AT_ONCE } else { OVERWRITTEN_AT_ONCE };
        for &id in ids {
            let taken = row(db, id, |_, texts| -> Outcome<bool> {
                for (number, text) in (id * ROW_TEXTS..).zip(texts.iter()) {
                    // Some were taken away before, and some never were in it.
                    if !is_indexed(db, number)? {
                        continue;
                    }
                    if size >= most {
                        return Ok(false);
                    }
                    size += text.text.len();
                    let words = &mut gone.words;
                    let mut each = |word: &str| {
                        if !many && !words.contains(word) {
                            words.insert(word.into());
                        }
                    };
                    gone.texts.push((number, for_index(&unicode(text.text), &mut each).into_owned()));
                }
                Ok(true)
            })?;
            // Another process may have taken it away.
            if !taken.unwrap_or(Ok(true))? {
                break;
            }
            gone.rows.push(id);
        }
        Ok(gone)
    }

    /// Takes them away, and gives how many rows are gone with them.
    fn forget(&self, transaction: &Transaction<'_>, many: bool) -> Outcome<usize> {
        if !many {
            secure(transaction, true)?;
        }
        // The index takes a text away by what it was given of it.
        let mut delete = transaction
            .prepare_cached("INSERT INTO word_index (word_index, rowid, words) VALUES ('delete', ?1, ?2)")?;
        for (number, words) in &self.texts {
            // Another process may have been quicker.
            if is_indexed(transaction, *number)? {
                delete.execute(params![number, words])?;
            }
        }
        match many {
            true => {
                transaction.prepare_cached("UPDATE state SET value = value + 1 WHERE name = 'stale'")?.execute([])?;
            }
            false => {
                // Only now: while it adds texts, it would look for some of them in vain.
                transaction.execute("INSERT INTO word_index (word_index) VALUES ('flush')", [])?;
                secure(transaction, false)?;
                prune(transaction, &self.words)?;
            }
        }
        let mut is_left = transaction.prepare_cached("SELECT 1 FROM word_index_docsize WHERE id BETWEEN ?1 AND ?2")?;
        let mut forget = transaction.prepare_cached("DELETE FROM text WHERE id = ?1")?;
        let mut count = 0;
        for id in &self.rows {
            // Another process may have indexed it after it was looked at: then it is looked at again.
            if is_left.exists([id * ROW_TEXTS, (id + 1) * ROW_TEXTS - 1])? {
                break;
            }
            forget.execute([id])?;
            count += 1;
        }
        match count == 0 && self.texts.is_empty() {
            // The index has more of a row than the row: another look would not change that.
            true => Err(broken("texts are missing")),
            false => Ok(count),
        }
    }
}

/// Whether the index has a text.
fn is_indexed(db: &Connection, number: i64) -> Outcome<bool> {
    db.prepare_cached("SELECT 1 FROM word_index_docsize WHERE id = ?1")?.exists([number])
}

/// Sets whether the index overwrites what it takes away.
fn secure(transaction: &Transaction<'_>, is_on: bool) -> Outcome<()> {
    let mut set =
        transaction.prepare_cached("INSERT INTO word_index (word_index, rank) VALUES ('secure-delete', ?1)")?;
    set.execute([is_on])?;
    Ok(())
}

/// Has the index written anew without what was noted as gone, and takes away the words that are in no text any more. Gives
/// in how many steps.
fn renew_index(catalog: &mut Catalog, stop: &AtomicBool) -> Outcome<usize> {
    let noted = stale(catalog.db())?;
    let mut steps = 0;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(steps);
        }
        steps += 1;
        let changes = catalog.write(|transaction| {
            let before = transaction.total_changes();
            transaction
                .prepare_cached("INSERT INTO word_index (word_index, rank) VALUES ('merge', ?1)")?
                .execute([-PAGES_AT_ONCE])?;
            Ok(transaction.total_changes() - before)
        })?;
        // One is the command itself: it found nothing to do.
        if changes < 2 {
            break;
        }
    }
    let unused: Vec<Box<str>> = unused(catalog.db(), stop)?;
    for some in unused.chunks(WORDS_AT_ONCE) {
        if stop.load(Ordering::Relaxed) {
            return Ok(steps);
        }
        steps += 1;
        // Those that came back meanwhile are seen to be used.
        let words = some.iter().cloned().collect();
        catalog.write(|transaction| prune(transaction, &words))?;
    }
    if stop.load(Ordering::Relaxed) {
        return Ok(steps);
    }
    // What was noted since is for the next one.
    catalog.write(|transaction| {
        transaction.execute("UPDATE state SET value = 0 WHERE name = 'stale' AND value = ?1", [noted])
    })?;
    Ok(steps + 1)
}
