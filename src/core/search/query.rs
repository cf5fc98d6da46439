//! Asking the index. A query is taken literally: every part of it that white space sets apart must stand in a text, in
//! upper or lower case, quotes and operators included. The index gives candidates, the texts decide.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::snippet::snippet;
use super::words::{is_cut, lower, of_query, stretches, Form, Stretch};
use crate::core::catalog::texts::{row, unicode, TextRow, ROW_TEXTS};
use crate::core::catalog::Outcome;
use crate::core::texts::Kind;

/// How many texts with a word are ranked: the newest ones, where there are more.
const RANKED: usize = 20_000;
/// How many words that a part of a word is in are looked for at once.
const WORDS_AT_ONCE: usize = 200;
/// How many such words are looked for at all.
const MOST_WORDS: usize = 20_000;

/// A text that holds what was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The catalog's number of the session.
    pub session: i64,
    /// The entry's id, empty where entries have none.
    pub entry: Vec<u8>,
    pub kind: Kind,
    /// The entry's timestamp, if it is a text.
    pub timestamp: Vec<u8>,
    /// What is around the place, the place marked.
    pub snippet: String,
}

/// How hits are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub limit: usize,
    /// What stands before and after what was found.
    pub mark: [String; 2],
}

/// A query, understood.
#[derive(Debug, Clone)]
pub struct Query {
    terms: Vec<Term>,
    /// All of it, as if it were one term.
    whole: Term,
}

/// A part of a query that white space sets apart.
#[derive(Debug, Clone)]
struct Term {
    /// In lower case.
    text: String,
    stretches: Vec<Stretch>,
}

impl Query {
    /// None if there is nothing to look for.
    pub fn of(text: &str) -> Option<Self> {
        let term = |text: &str| Term { text: folded(text), stretches: stretches(text) };
        let mut terms: Vec<Term> = text.split_whitespace().map(term).collect();
        let mut seen = HashSet::new();
        terms.retain(|term| seen.insert(term.text.clone()));
        (!terms.is_empty()).then(|| Self { terms, whole: term(text.trim()) })
    }

    /// Whether a text in lower case holds every term.
    fn is_in(&self, folded: &str) -> bool {
        self.terms.iter().all(|term| memchr::memmem::find(folded.as_bytes(), term.text.as_bytes()).is_some())
    }

    /// All terms as words that follow each other; None where that says no more than [`Query::as_words`].
    fn in_order(&self) -> Option<String> {
        (self.terms.len() > 1).then(|| self.whole.expression(None, false)).flatten()
    }

    /// Every term as whole words. None if no term has a word.
    fn as_words(&self) -> Option<String> {
        let terms: Vec<String> = self.terms.iter().filter_map(|term| term.expression(None, false)).collect();
        (!terms.is_empty()).then(|| terms.join(" AND "))
    }
}

/// Text in lower case, as terms are compared.
pub fn folded(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => text.chars().flat_map(lower).collect(),
    }
}

impl Term {
    /// What the index is asked for. `first` stands for the first stretch's word; with `goes_on` the last one's may go on.
    fn expression(&self, first: Option<&str>, goes_on: bool) -> Option<String> {
        let mut all: Vec<String> = Vec::new();
        let mut phrase: Vec<&str> = Vec::new();
        let mut open = false;
        let mut flush = |phrase: &mut Vec<&str>, open: bool| {
            if !phrase.is_empty() {
                all.push(format!("\"{}\"{}", phrase.join(" "), if open { " *" } else { "" }));
                phrase.clear();
            }
        };
        for (at, stretch) in self.stretches.iter().enumerate() {
            let (words, may_go_on) = of_query(stretch);
            let cut = stretch.form == Form::Word && is_cut(&stretch.text);
            if cut {
                // A long word may be pieces in the index: what stands beside it is looked for by itself.
                flush(&mut phrase, false);
            }
            match first.filter(|_| at == 0) {
                Some(first) => phrase.push(first),
                None => phrase.extend(words),
            }
            open = may_go_on
                && (goes_on || stretch.form == Form::Run)
                && !(at == 0 && first.is_some() && self.is_one_word());
            if cut {
                flush(&mut phrase, first.is_none());
            }
        }
        flush(&mut phrase, open);
        (!all.is_empty()).then(|| all.join(" AND "))
    }

    fn is_one_word(&self) -> bool {
        matches!(self.stretches.as_slice(), [one] if one.form == Form::Word && one.at_end)
    }

    /// The word that may be the end of a longer one, or any part of it.
    fn opening(&self) -> Option<&Stretch> {
        self.stretches.first().filter(|first| first.form == Form::Word && first.at_start)
    }

    /// Words of the index that hold the term's first word where it may stand, the shortest first.
    fn words_around(&self, db: &Connection) -> Outcome<Option<Vec<String>>> {
        let Some(first) = self.opening() else { return Ok(None) };
        let (words, _) = of_query(first);
        let Some(word) = words.first() else { return Ok(None) };
        let anywhere = first.at_end || is_cut(&first.text);
        let mut statement = db.prepare_cached(
            "SELECT word FROM word WHERE CASE WHEN ?2 THEN instr(word, ?1) ELSE substr(word, -length(?1)) = ?1 END
             ORDER BY length(word), word LIMIT ?3",
        )?;
        let found = statement.query_map(rusqlite::params![word, anywhere, MOST_WORDS as i64], |row| row.get(0))?;
        found.collect::<Outcome<Vec<String>>>().map(Some)
    }

    fn is_short(&self) -> bool {
        self.text.chars().count() < 3
    }
}

/// Looks a query up.
pub struct Search<'a> {
    pub db: &'a Connection,
    pub query: &'a Query,
    /// The sessions that are searched, and the place of each when the newest comes first.
    pub sessions: &'a HashMap<i64, usize>,
    pub options: &'a Options,
    pub cancelled: &'a AtomicBool,
}

impl Search<'_> {
    /// The hits, the best first: the query's words in its own order, then anywhere in a text, then as parts of words;
    /// among these by how often and how densely they stand there (BM25), then the newest session's. None if it was cancelled.
    pub fn run(&self) -> Outcome<Option<Vec<Hit>>> {
        let mut hits: Vec<Hit> = Vec::new();
        let mut seen = HashSet::new();
        let Some(words) = self.query.as_words() else {
            return self.look_through();
        };
        let owners = self.owners()?;
        let mut texts = Texts::new(self.db);
        for expression in self.query.in_order().into_iter().chain([words]) {
            self.take(&expression, &owners, &mut texts, &mut seen, &mut hits)?;
        }
        if hits.len() < self.options.limit && !self.is_cancelled() {
            for expression in self.parts()? {
                self.take(&expression, &owners, &mut texts, &mut seen, &mut hits)?;
            }
        }
        Ok((!self.is_cancelled()).then_some(hits))
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Expressions that find terms as parts of words, those of the shortest words first.
    fn parts(&self) -> Outcome<Box<dyn Iterator<Item = String> + '_>> {
        let terms = &self.query.terms;
        let indexed: Vec<&Term> = terms.iter().filter(|term| !term.stretches.is_empty()).collect();
        if let [term] = indexed.as_slice() {
            let term: &Term = term;
            let beginning = term.expression(None, true);
            let Some(around) = term.words_around(self.db)? else {
                return Ok(Box::new(beginning.into_iter()));
            };
            let batches: Vec<Vec<String>> = around.chunks(WORDS_AT_ONCE).map(<[String]>::to_vec).collect();
            let around = batches.into_iter().map(move |words| {
                let each = words.iter().filter_map(|word| term.expression(Some(word), true));
                each.map(|one| format!("({one})")).collect::<Vec<_>>().join(" OR ")
            });
            return Ok(Box::new(beginning.into_iter().chain(around)));
        }
        // Short terms are in so many words that the long ones find the texts alone.
        let has_long = indexed.iter().any(|term| !term.is_short());
        let mut all = Vec::new();
        for term in indexed.iter().filter(|term| !has_long || !term.is_short()) {
            let mut ways: Vec<String> = term.expression(None, true).into_iter().collect();
            for word in term.words_around(self.db)?.unwrap_or_default().iter().take(5 * WORDS_AT_ONCE) {
                ways.extend(term.expression(Some(word), true));
            }
            all.push(format!("({})", ways.iter().map(|way| format!("({way})")).collect::<Vec<_>>().join(" OR ")));
        }
        Ok(Box::new(Some(all.join(" AND ")).filter(|all| !all.is_empty()).into_iter()))
    }

    /// Which session each row of texts is of.
    fn owners(&self) -> Outcome<HashMap<i64, i64>> {
        let mut statement = self.db.prepare_cached("SELECT id, session FROM text")?;
        let mut rows = statement.query([])?;
        let mut owners = HashMap::new();
        while let Some(row) = rows.next()? {
            let session = row.get(1)?;
            if self.sessions.contains_key(&session) {
                owners.insert(row.get(0)?, session);
            }
        }
        Ok(owners)
    }

    /// The texts that an expression finds, the best first.
    fn candidates(&self, expression: &str, owners: &HashMap<i64, i64>) -> Outcome<Vec<i64>> {
        let mut statement = self.db.prepare_cached(
            "SELECT rowid, bm25(word_index) FROM word_index WHERE word_index MATCH ?1 ORDER BY rowid DESC",
        )?;
        let mut rows = statement.query([expression])?;
        let mut found: Vec<(f64, usize, i64)> = Vec::new();
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let owner = owners.get(&id.div_euclid(ROW_TEXTS)).and_then(|session| self.sessions.get(session));
            if let Some(place) = owner {
                found.push((row.get(1)?, *place, id));
            }
            if found.len() == RANKED || self.is_cancelled() {
                break;
            }
        }
        // SQLite's BM25 is the smaller the better. They come the last ones first, and the sort keeps that.
        found.sort_by(|(a, left, _), (b, right, _)| a.total_cmp(b).then_with(|| left.cmp(right)));
        Ok(found.into_iter().map(|(.., id)| id).collect())
    }

    /// Takes of what an expression finds those texts that hold the query, until there are enough.
    fn take(
        &self,
        expression: &str,
        owners: &HashMap<i64, i64>,
        texts: &mut Texts<'_>,
        seen: &mut HashSet<i64>,
        hits: &mut Vec<Hit>,
    ) -> Outcome<()> {
        if hits.len() >= self.options.limit || self.is_cancelled() {
            return Ok(());
        }
        for id in self.candidates(expression, owners)? {
            if !seen.insert(id) {
                continue;
            }
            if let Some((session, row)) = texts.row(id.div_euclid(ROW_TEXTS))? {
                hits.extend(self.hit(session, row, id.rem_euclid(ROW_TEXTS) as usize));
            }
            if hits.len() >= self.options.limit || self.is_cancelled() {
                break;
            }
        }
        Ok(())
    }

    fn hit(&self, session: i64, row: &TextRow<'_>, at: usize) -> Option<Hit> {
        let placed = row.iter().nth(at)?;
        let text = unicode(placed.text);
        let lower = folded(&text);
        if !self.query.is_in(&lower) {
            return None;
        }
        let terms: Vec<&str> = self.query.terms.iter().map(|term| term.text.as_str()).collect();
        Some(Hit {
            session,
            entry: placed.id.to_vec(),
            kind: placed.kind,
            timestamp: placed.timestamp.to_vec(),
            snippet: snippet(&text, &lower, &terms, &self.options.mark),
        })
    }

    /// Looks through the texts themselves, the newest first: for queries without a word.
    fn look_through(&self) -> Outcome<Option<Vec<Hit>>> {
        let mut hits = Vec::new();
        let place = |session: i64| self.sessions.get(&session).copied().unwrap_or(usize::MAX);
        let mut ids: Vec<_> = self.owners()?.into_iter().map(|(id, session)| (place(session), Reverse(id))).collect();
        ids.sort_unstable();
        for (_, Reverse(id)) in ids {
            if self.is_cancelled() {
                return Ok(None);
            }
            if let Some((session, row)) = row(self.db, id)? {
                let count = row.iter().count();
                hits.extend((0..count).rev().filter_map(|at| self.hit(session, &row, at)));
            }
            if hits.len() >= self.options.limit {
                break;
            }
        }
        hits.truncate(self.options.limit);
        Ok(Some(hits))
    }
}

/// Rows of texts, the last ones kept.
struct Texts<'a> {
    db: &'a Connection,
    rows: HashMap<i64, Option<(i64, TextRow<'static>)>>,
}

impl<'a> Texts<'a> {
    fn new(db: &'a Connection) -> Self {
        Self { db, rows: HashMap::new() }
    }

    fn row(&mut self, id: i64) -> Outcome<Option<(i64, &TextRow<'static>)>> {
        if !self.rows.contains_key(&id) {
            if self.rows.len() >= 64 {
                self.rows.clear();
            }
            self.rows.insert(id, row(self.db, id)?);
        }
        Ok(self.rows.get(&id).and_then(Option::as_ref).map(|(session, texts)| (*session, texts)))
    }
}
