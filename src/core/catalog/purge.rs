//! Purges the texts of sessions that are gone, their words in the index, and what is left of both in the log.
//!
//! It runs in the background, in short transactions with pauses for other writers, and continues where it was stopped. FTS5
//! only marks deleted words and drops them when it merges the segments that hold them. Merging writes the whole index anew, so a
//! large one is not merged after every deletion: what is marked stays pending for a while.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{params, Transaction};

use super::connection::Catalog;
use super::error::CatalogResult;
use super::fts::vocabulary::{delete_unused, unused};
use super::text_rows::ROW_TEXTS;
use crate::base::threads::locked;

/// How many rows of texts, pages of the index and words one transaction deletes: a few tens of milliseconds each.
const ROWS_AT_ONCE: i64 = 32;
const PAGES_AT_ONCE: i32 = 128;
const WORDS_AT_ONCE: usize = 512;

/// A transaction is followed by a pause as long as itself, up to this: other connections ask for the lock in steps of up to 100 ms.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A merge of more transactions than this, which are some 64 MB, is repeated after twenty times the time it took.
const SMALL_MERGE: usize = 32;
const MERGE_SHARE: u32 = 20;

/// A merge of a whole index.
struct Merge {
    end: Instant,
    took: Duration,
    transactions: usize,
}

/// The last merge of each catalog in this process.
static MERGED: Mutex<Option<HashMap<PathBuf, Merge>>> = Mutex::new(None);

fn is_merge_due(last: Option<&Merge>, now: Instant) -> bool {
    last.is_none_or(|last| {
        let since = now.saturating_duration_since(last.end);
        last.transactions <= SMALL_MERGE || since >= last.took.saturating_mul(MERGE_SHARE)
    })
}

/// Runs `work` in a write transaction, and leaves other writers time for theirs.
fn write<T>(catalog: &mut Catalog, work: impl FnOnce(&Transaction<'_>) -> CatalogResult<T>) -> CatalogResult<T> {
    let mut begin = None;
    let value = catalog.write(|transaction| {
        begin = Some(Instant::now());
        work(transaction)
    })?;
    thread::sleep(begin.map_or(Duration::ZERO, |begin| begin.elapsed().min(LONGEST_PAUSE)));
    Ok(value)
}

/// Deletes what is left of sessions that are no longer in the catalog. Does nothing unless something was deleted since the
/// last complete purge.
pub fn purge(catalog: &mut Catalog, stop: &AtomicBool) -> CatalogResult<()> {
    let checkpoints = catalog.counter("pending_checkpoints")?;
    if checkpoints == 0 {
        return Ok(());
    }
    let is_stopped = || stop.load(Ordering::Relaxed);
    while !is_stopped() && delete_texts(catalog)? {}
    let merges = catalog.counter("pending_merges")?;
    let is_merged = merges == 0 || merge_all(catalog, stop)?;
    if !is_stopped() && catalog.checkpoint()? && is_merged {
        // A deletion that was made meanwhile changed the counter and stays pending.
        catalog.write(|transaction| {
            let mut done = transaction.prepare_cached("UPDATE counter SET value = 0 WHERE name = ?1 AND value = ?2")?;
            done.execute(params!["pending_merges", merges])?;
            done.execute(params!["pending_checkpoints", checkpoints])
        })?;
    }
    Ok(())
}

/// Merges the whole index and deletes the words that are in no text any more. False if it was stopped, or not due.
fn merge_all(catalog: &mut Catalog, stop: &AtomicBool) -> CatalogResult<bool> {
    let merged = || locked(&MERGED);
    let (path, begin) = (catalog.file().path().to_owned(), Instant::now());
    if !is_merge_due(merged().get_or_insert_default().get(&path), begin) {
        return Ok(false);
    }
    let is_stopped = || stop.load(Ordering::Relaxed);
    let mut transactions = 1;
    while !is_stopped() && merge(catalog)? {
        transactions += 1;
    }
    let unused = if is_stopped() { Vec::new() } else { unused(catalog.db(), stop)? };
    for words in unused.chunks(WORDS_AT_ONCE) {
        if is_stopped() {
            break;
        }
        write(catalog, |transaction| delete_unused(transaction, words))?;
    }
    if is_stopped() {
        return Ok(false);
    }
    let end = Instant::now();
    merged().get_or_insert_default().insert(path, Merge { end, took: end - begin, transactions });
    Ok(true)
}

/// Deletes some rows of texts that belong to no session. False if there were none.
fn delete_texts(catalog: &mut Catalog) -> CatalogResult<bool> {
    write(catalog, |transaction| {
        let mut orphans = transaction.prepare_cached(
            "SELECT id FROM text INDEXED BY text_by_session WHERE session NOT IN (SELECT id FROM session) LIMIT ?1",
        )?;
        let ids: Vec<i64> = orphans.query_map([ROWS_AT_ONCE], |row| row.get(0))?.collect::<CatalogResult<_>>()?;
        let mut delete_words = transaction.prepare_cached("DELETE FROM word_index WHERE rowid BETWEEN ?1 AND ?2")?;
        let mut delete_row = transaction.prepare_cached("DELETE FROM text WHERE id = ?1")?;
        for id in &ids {
            delete_words.execute([id * ROW_TEXTS, (id + 1) * ROW_TEXTS - 1])?;
            delete_row.execute([id])?;
        }
        if !ids.is_empty() {
            transaction.execute("UPDATE counter SET value = value + 1 WHERE name = 'pending_merges'", [])?;
        }
        Ok(!ids.is_empty())
    })
}

/// Merges some pages of the index. False if nothing was left to merge.
fn merge(catalog: &mut Catalog) -> CatalogResult<bool> {
    write(catalog, |transaction| {
        let before = transaction.total_changes();
        transaction
            .prepare_cached("INSERT INTO word_index (word_index, rank) VALUES ('merge', ?1)")?
            .execute([-PAGES_AT_ONCE])?;
        // The command itself counts as one change.
        Ok(transaction.total_changes() - before > 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a large index was merged after every deletion.
    #[test]
    fn a_large_index_is_not_merged_after_every_deletion() {
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        assert!(is_merge_due(None, now));
        let last = |transactions| Some(Merge { end: now, took: Duration::from_secs(5), transactions });
        assert!(is_merge_due(last(SMALL_MERGE).as_ref(), now), "a small index is merged at once");
        let last = last(SMALL_MERGE + 1);
        assert!(!is_merge_due(last.as_ref(), later(0)));
        assert!(!is_merge_due(last.as_ref(), later(99)));
        assert!(is_merge_due(last.as_ref(), later(100)));
    }
}
