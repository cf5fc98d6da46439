//! Purging: deletes the texts of sessions that are gone, their words from the index, and what is left of both in the log.
//!
//! It runs in the background, in short transactions, and starts again where it was stopped. FTS5 only marks deleted words
//! and drops them when it merges the segments that hold them, so every purge ends with a merge of the whole index.

use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::params;

use super::connection::Catalog;
use super::error::CatalogResult;
use super::fts::vocabulary::{delete_unused, unused};
use super::text_rows::ROW_TEXTS;

/// How many rows of texts, pages of the index and words one transaction deletes: a few tens of milliseconds each.
const ROWS_AT_ONCE: i64 = 32;
const PAGES_AT_ONCE: i32 = 128;
const WORDS_AT_ONCE: usize = 512;

/// Deletes what is left of sessions that are no longer in the catalog. Does nothing unless something was deleted since the
/// last complete purge.
pub fn purge(catalog: &mut Catalog, stop: &AtomicBool) -> CatalogResult<()> {
    let checkpoints = catalog.state("pending_checkpoints")?;
    if checkpoints == 0 {
        return Ok(());
    }
    let is_stopped = || stop.load(Ordering::Relaxed);
    while !is_stopped() && delete_texts(catalog)? {}
    let merges = catalog.state("pending_merges")?;
    if merges > 0 {
        while !is_stopped() && merge(catalog)? {}
        let unused = if is_stopped() { Vec::new() } else { unused(catalog.db(), stop)? };
        for words in unused.chunks(WORDS_AT_ONCE) {
            if is_stopped() {
                break;
            }
            catalog.write(|transaction| delete_unused(transaction, words))?;
        }
    }
    if !is_stopped() && catalog.checkpoint()? {
        // A deletion that came meanwhile changed the counter and stays pending.
        catalog.write(|transaction| {
            let mut done = transaction.prepare_cached("UPDATE state SET value = 0 WHERE name = ?1 AND value = ?2")?;
            done.execute(params!["pending_merges", merges])?;
            done.execute(params!["pending_checkpoints", checkpoints])
        })?;
    }
    Ok(())
}

/// Deletes some rows of texts that belong to no session. False if there were none.
fn delete_texts(catalog: &mut Catalog) -> CatalogResult<bool> {
    catalog.write(|transaction| {
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
            transaction.execute("UPDATE state SET value = value + 1 WHERE name = 'pending_merges'", [])?;
        }
        Ok(!ids.is_empty())
    })
}

/// Merges some pages of the index. False if nothing was left to merge.
fn merge(catalog: &mut Catalog) -> CatalogResult<bool> {
    catalog.write(|transaction| {
        let before = transaction.total_changes();
        transaction
            .prepare_cached("INSERT INTO word_index (word_index, rank) VALUES ('merge', ?1)")?
            .execute([-PAGES_AT_ONCE])?;
        // The command itself counts as one change.
        Ok(transaction.total_changes() - before > 1)
    })
}
