//! Searches with the index. It gives candidates, which are checked against the texts. Where the index cannot narrow a query
//! down, all texts are scanned, those of the newest sessions first.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::hits::{Hit, HitBuilder, TopK};
use super::query::{Query, SearchOptions, Term};
use super::ranking::Rank;
use crate::catalog::error::{corrupt, CatalogResult};
use crate::catalog::fts::vocabulary::words_containing;
use crate::catalog::text_rows::{row, StoredText, ROW_TEXTS};

/// How many texts with whole words are ranked: those that were indexed last.
pub const MAX_RANKED: usize = 20_000;
/// How many scanned texts are ranked: those of the newest sessions.
pub const MAX_SCANNED: usize = 5_000;
/// How many words one expression combines.
const WORDS_AT_ONCE: usize = 50;
/// With more candidates, scanning the texts is as fast.
const MAX_CANDIDATES: usize = 200_000;
/// With this few candidates, no other term is looked up.
const NARROW_ENOUGH: usize = 2_000;

/// A search with the index.
pub struct Search<'a> {
    pub db: &'a Connection,
    pub query: &'a Query,
    /// The row ids of the searched sessions, and the position of each, the newest first.
    pub sessions: &'a HashMap<i64, usize>,
    pub options: &'a SearchOptions,
    pub cancelled: &'a AtomicBool,
}

/// The position of the session of each searched row of texts.
type RowSessions = HashMap<i64, usize>;

impl Search<'_> {
    /// The hits, the best first: the query's words in order, in any order, as beginnings of words, as other parts of words; within
    /// each tier by BM25, then the newest session first. None if it was cancelled.
    pub fn run(&self) -> CatalogResult<Option<Vec<Hit>>> {
        let row_sessions = self.row_sessions()?;
        let mut hits: Vec<Hit> = Vec::new();
        let mut seen = HashSet::new();
        for expression in self.query.in_order().into_iter().chain(self.query.as_words()) {
            self.take_words(&expression, &row_sessions, &mut seen, &mut hits)?;
        }
        if hits.len() < self.options.limit && !self.is_cancelled() {
            let candidates = self.candidates(&row_sessions)?;
            self.scan_texts(candidates, &row_sessions, &seen, &mut hits)?;
        }
        Ok((!self.is_cancelled()).then_some(hits))
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The rows of texts of the searched sessions.
    fn row_sessions(&self) -> CatalogResult<RowSessions> {
        let mut row_sessions = HashMap::new();
        let mut texts = self.db.prepare_cached("SELECT session, id FROM text INDEXED BY text_by_session")?;
        let mut rows = texts.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(session) = self.sessions.get(&row.get(0)?) {
                row_sessions.insert(row.get(1)?, *session);
            }
        }
        Ok(row_sessions)
    }

    /// Calls `work` with the text of a rowid of the index.
    fn text<T>(&self, id: i64, work: impl FnOnce(&StoredText<'_>) -> T) -> CatalogResult<T> {
        let at = usize::try_from(id.rem_euclid(ROW_TEXTS)).unwrap_or(0);
        let found = row(self.db, id.div_euclid(ROW_TEXTS), |texts| texts.iter().nth(at).map(|text| work(&text)))?;
        found.flatten().ok_or_else(|| corrupt("a text is missing"))
    }

    /// Adds the best texts that an expression of whole words finds, until there are enough hits.
    fn take_words(
        &self,
        expression: &str,
        row_sessions: &RowSessions,
        seen: &mut HashSet<i64>,
        hits: &mut Vec<Hit>,
    ) -> CatalogResult<()> {
        if hits.len() >= self.options.limit || self.is_cancelled() {
            return Ok(());
        }
        let mut statement = self.db.prepare_cached(
            "SELECT rowid, bm25(word_index) FROM word_index WHERE word_index MATCH ?1 ORDER BY rowid DESC",
        )?;
        let mut builder = HitBuilder::new(self.query, self.options);
        let is_exact = self.query.is_exact();
        let most = MAX_RANKED.max(self.options.limit);
        let mut rows = statement.query([expression])?;
        let mut found: Vec<(f64, usize, i64)> = Vec::new();
        // Candidates in the current row of texts.
        let mut waiting: Vec<(f64, usize, i64)> = Vec::new();
        loop {
            let next: Option<(i64, f64)> = match rows.next()? {
                Some(row) => Some((row.get(0)?, row.get(1)?)),
                None => None,
            };
            let in_row = |id: i64| id.div_euclid(ROW_TEXTS);
            let is_other = |id: i64| waiting.last().is_some_and(|(.., last)| in_row(*last) != in_row(id));
            if !is_exact && next.is_none_or(|(id, _)| is_other(id)) {
                self.verify(&mut waiting, &mut builder)?;
                found.append(&mut waiting);
            }
            let Some((id, weight)) = next.filter(|_| found.len() < most && !self.is_cancelled()) else { break };
            if let Some(session) = row_sessions.get(&in_row(id)) {
                if is_exact { &mut found } else { &mut waiting }.push((weight, *session, id));
            }
        }
        drop(rows);
        // FTS5's BM25 is negative: smaller is better. The sort is stable, so that later texts stay first.
        found.sort_by(|(a, left, _), (b, right, _)| a.total_cmp(b).then_with(|| left.cmp(right)));
        for (_, session, id) in found {
            if hits.len() >= self.options.limit || self.is_cancelled() {
                break;
            }
            if seen.insert(id) {
                hits.extend(self.text(id, |text| builder.hit(session, text))?);
            }
        }
        Ok(())
    }

    /// Keeps the candidates, all in one row of texts, that match.
    fn verify(&self, candidates: &mut Vec<(f64, usize, i64)>, builder: &mut HitBuilder<'_>) -> CatalogResult<()> {
        let Some((.., first)) = candidates.first() else { return Ok(()) };
        let wanted: HashSet<i64> = candidates.iter().map(|(.., id)| id.rem_euclid(ROW_TEXTS)).collect();
        let held = row(self.db, first.div_euclid(ROW_TEXTS), |texts| {
            let texts = texts.iter().enumerate().map(|(at, text)| (at as i64, text));
            let held = texts.filter(|(at, text)| wanted.contains(at) && builder.takes(text.text));
            held.map(|(at, _)| at).collect::<HashSet<i64>>()
        })?;
        let held = held.ok_or_else(|| corrupt("texts are missing"))?;
        candidates.retain(|(.., id)| held.contains(&id.rem_euclid(ROW_TEXTS)));
        Ok(())
    }

    /// The texts that may contain the terms as parts of words, sorted; None if they are many, or the index cannot tell.
    fn candidates(&self, row_sessions: &RowSessions) -> CatalogResult<Option<Vec<i64>>> {
        let terms = self.query.parts();
        let parts: Vec<_> = terms.iter().filter_map(|term| term.opening()).collect();
        let mut words = match parts.is_empty() {
            true => Vec::new(),
            false => match words_containing(self.db, &parts, self.cancelled)? {
                Some(words) => words,
                None => return Ok(None),
            },
        }
        .into_iter();
        // The term in the fewest words first.
        let mut alternatives: Vec<(usize, Vec<String>)> = Vec::new();
        for term in terms {
            let containing = match term.opening() {
                Some(_) => words.next().flatten(),
                None => Some(Vec::new()),
            };
            if let Some(containing) = containing {
                alternatives.push((containing.len(), alternatives_of(term, &containing)));
            }
        }
        alternatives.sort_by_key(|(count, _)| *count);
        let mut found: Option<Vec<i64>> = None;
        for (_, alternatives) in alternatives {
            if let Some(one) = self.union(&alternatives, row_sessions)? {
                found = Some(match found {
                    None => one,
                    Some(all) => all.into_iter().filter(|id| one.binary_search(id).is_ok()).collect(),
                });
            }
            if found.as_ref().is_some_and(|found| found.len() <= NARROW_ENOUGH) || self.is_cancelled() {
                break;
            }
        }
        Ok(found)
    }

    /// The texts that match any of these expressions, sorted; None if they are many.
    fn union(&self, alternatives: &[String], row_sessions: &RowSessions) -> CatalogResult<Option<Vec<i64>>> {
        let mut statement = self.db.prepare_cached("SELECT rowid FROM word_index WHERE word_index MATCH ?1")?;
        let mut found = Vec::new();
        for alternatives in alternatives.chunks(WORDS_AT_ONCE) {
            let mut rows = statement.query([alternatives.join(" OR ")])?;
            while let Some(row) = rows.next()? {
                let id: i64 = row.get(0)?;
                if row_sessions.contains_key(&id.div_euclid(ROW_TEXTS)) {
                    found.push(id);
                }
                if found.len() > 2 * MAX_CANDIDATES || self.is_cancelled() {
                    return Ok(None);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok((found.len() <= MAX_CANDIDATES).then_some(found))
    }

    /// Adds the best of the candidates, or of all texts, that match and were not seen.
    fn scan_texts(
        &self,
        candidates: Option<Vec<i64>>,
        row_sessions: &RowSessions,
        seen: &HashSet<i64>,
        hits: &mut Vec<Hit>,
    ) -> CatalogResult<()> {
        let mut rows: Vec<(usize, Reverse<i64>)> = match &candidates {
            None => row_sessions.iter().map(|(id, session)| (*session, Reverse(*id))).collect(),
            Some(candidates) => {
                let mut ids: Vec<i64> = candidates.iter().map(|id| id.div_euclid(ROW_TEXTS)).collect();
                ids.dedup();
                ids.into_iter().filter_map(|id| Some((*row_sessions.get(&id)?, Reverse(id)))).collect()
            }
        };
        rows.sort_unstable();
        let mut builder = HitBuilder::new(self.query, self.options);
        let mut best: TopK<(usize, i64)> = TopK::new(self.options.limit - hits.len());
        let most = MAX_SCANNED.max(self.options.limit);
        let mut count = 0;
        for (session, Reverse(id)) in rows {
            if count >= most || self.is_cancelled() {
                break;
            }
            let is_candidate = |number: i64| {
                !seen.contains(&number) && candidates.as_ref().is_none_or(|all| all.binary_search(&number).is_ok())
            };
            let ranked: Option<Vec<(Rank, i64)>> = row(self.db, id, |texts| {
                let numbered = texts.iter().enumerate().map(|(at, text)| (id * ROW_TEXTS + at as i64, text));
                let wanted = numbered.filter(|(number, _)| is_candidate(*number));
                wanted.filter_map(|(number, text)| Some((builder.rank(text.text)?, number))).collect()
            })?;
            // The last text of a session is its newest.
            for (rank, number) in ranked.ok_or_else(|| corrupt("texts are missing"))?.into_iter().rev() {
                count += 1;
                best.offer(rank, (session, Reverse(0)), (session, number));
            }
        }
        for (session, id) in best.into_vec() {
            if self.is_cancelled() {
                break;
            }
            hits.extend(self.text(id, |text| builder.hit(session, text))?);
        }
        Ok(())
    }
}

/// Expressions for a term: by itself, and with each of the words that contain its beginning.
fn alternatives_of(term: &Term, containing: &[String]) -> Vec<String> {
    let alternatives = containing.iter().filter_map(|word| term.expression(Some(word), true));
    term.expression(None, true).into_iter().chain(alternatives).map(|alternative| format!("({alternative})")).collect()
}
