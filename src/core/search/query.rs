//! Parsing queries. A query is literal: each of its terms, separated by white space, must be in a text, in any case;
//! quotes and operators are ordinary characters. The index is asked for a superset of the matches.

use std::collections::HashSet;

use crate::catalog::fts::tokenizer::{folded, is_partial, query_words, text_runs, RunKind, TextRun};
use crate::catalog::fts::vocabulary::WordPart;

/// How many terms the index is asked for; the others are checked in the texts that it finds.
const MAX_TERMS: usize = 64;
/// How many runs of a term, and characters of an unspaced run, the index is asked for.
const MAX_RUNS: usize = 64;
/// How many characters of a term are split into runs.
const MAX_CHARACTERS: usize = 8 << 10;
/// How many terms, the longest, are searched as parts of words.
const MAX_PARTS: usize = 8;

/// The options of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchOptions {
    pub limit: usize,
    /// Marks before and after a match in a snippet.
    pub mark: [String; 2],
}

/// A parsed query.
#[derive(Debug, Clone)]
pub struct Query {
    /// Its distinct terms, folded.
    pub texts: Vec<String>,
    /// The whole query, folded.
    pub whole_text: String,
    terms: Vec<Term>,
    /// The whole query as one term.
    whole: Term,
}

/// A term of a query, as runs.
#[derive(Debug, Clone)]
pub struct Term {
    size: usize,
    runs: Vec<TextRun>,
    /// Whether every text with its words contains it.
    is_exact: bool,
}

impl Query {
    /// Parses a query; None if it has no term.
    pub fn of(text: &str) -> Option<Self> {
        let mut seen = HashSet::new();
        let (mut texts, mut terms) = (Vec::new(), Vec::new());
        for term in text.split_whitespace() {
            let lower = folded(term);
            if seen.insert(lower.clone()) {
                texts.push(lower);
                if terms.len() < MAX_TERMS {
                    terms.push(Term::of(term));
                }
            }
        }
        let whole = text.trim();
        (!texts.is_empty()).then(|| Self { texts, terms, whole_text: folded(whole), whole: Term::of(whole) })
    }

    /// An expression for all terms in order; None if that finds the same as [`Query::as_words`].
    pub fn in_order(&self) -> Option<String> {
        (self.texts.len() > 1).then(|| self.whole.expression(None, false)).flatten()
    }

    /// An expression for all terms as whole words; None if no term has a word.
    pub fn as_words(&self) -> Option<String> {
        let terms: Vec<String> = self.terms.iter().filter_map(|term| term.expression(None, false)).collect();
        (!terms.is_empty()).then(|| terms.join(" AND "))
    }

    /// Whether every text that [`Query::in_order`] or [`Query::as_words`] finds matches.
    pub fn is_exact(&self) -> bool {
        self.terms.len() == self.texts.len() && self.terms.iter().all(|term| term.is_exact)
    }

    /// The terms to search as parts of words.
    pub fn parts(&self) -> Vec<&Term> {
        let mut terms: Vec<&Term> = self.terms.iter().filter(|term| !term.runs.is_empty()).collect();
        terms.sort_by_key(|term| std::cmp::Reverse(term.size));
        terms.truncate(MAX_PARTS);
        terms
    }
}

impl Term {
    fn of(text: &str) -> Self {
        let (start, rest) = match text.char_indices().nth(MAX_CHARACTERS) {
            Some((at, _)) => text.split_at_checked(at).unwrap_or((text, "")),
            None => (text, ""),
        };
        let mut all = text_runs(start);
        if !rest.is_empty() && all.len() > 1 {
            // The last run may continue in the rest.
            all.pop();
        }
        let is_one = all.len() == 1;
        let is_word = |one: &TextRun| one.kind == RunKind::Word && one.at_start && one.at_end && !is_partial(&one.text);
        let is_exact = is_one && rest.is_empty() && all.iter().all(is_word);
        // With fewer runs the index finds more texts.
        all.truncate(MAX_RUNS);
        for run in all.iter_mut().filter(|run| run.kind == RunKind::Unspaced) {
            if let Some((at, _)) = run.text.char_indices().nth(MAX_RUNS) {
                run.text.truncate(at);
                // The run continues in the text.
                run.at_end = true;
            }
        }
        Self { size: start.len(), runs: all, is_exact }
    }

    /// The FTS5 expression. `first` replaces the first run's word; with `goes_on` the last word is a prefix.
    pub fn expression(&self, first: Option<&str>, goes_on: bool) -> Option<String> {
        let mut all: Vec<String> = Vec::new();
        let mut phrase: Vec<&str> = Vec::new();
        let mut open = false;
        let mut flush = |phrase: &mut Vec<&str>, open: bool| {
            if !phrase.is_empty() {
                all.push(format!("\"{}\"{}", phrase.join(" "), if open { " *" } else { "" }));
                phrase.clear();
            }
        };
        for (at, run) in self.runs.iter().enumerate() {
            let (words, may_go_on) = query_words(run);
            let cut = run.kind == RunKind::Word && is_partial(&run.text);
            if cut {
                // A long word may be stored as pieces, and then it forms no phrase with its neighbours.
                flush(&mut phrase, false);
            }
            match first.filter(|_| at == 0) {
                Some(first) => phrase.push(first),
                None => phrase.extend(words),
            }
            open = may_go_on
                && (goes_on || run.kind == RunKind::Unspaced)
                && !(at == 0 && first.is_some() && self.is_one_word());
            if cut {
                flush(&mut phrase, first.is_none());
            }
        }
        flush(&mut phrase, open);
        (!all.is_empty()).then(|| all.join(" AND "))
    }

    fn is_one_word(&self) -> bool {
        matches!(self.runs.as_slice(), [one] if one.kind == RunKind::Word && one.at_end)
    }

    /// What a word must contain to match the term's first run; None if that run cannot be a part of a longer word.
    pub fn opening(&self) -> Option<WordPart<'_>> {
        let first = self.runs.first().filter(|first| first.kind == RunKind::Word && first.at_start)?;
        let (words, _) = query_words(first);
        Some(WordPart { text: words.first()?, anywhere: first.at_end || is_partial(&first.text) })
    }
}
