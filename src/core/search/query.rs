//! A query, understood. It is taken literally: every part of it that white space sets apart must stand in a text, in
//! upper or lower case, quotes and operators included. What the index is asked for finds at least those texts.

use std::collections::HashSet;

use crate::core::catalog::fts::tokenizer::{folded, is_partial, query_words, text_runs, RunKind, TextRun};
use crate::core::catalog::fts::vocabulary::WordPart;

/// How many terms of a query the index is asked for; what is left of them is looked for in the texts it finds.
const MAX_TERMS: usize = 64;
/// How many runs of a term the index is asked for, and how many characters of a run.
const MAX_RUNS: usize = 64;
/// How many characters of a term are looked at for that.
const MAX_CHARACTERS: usize = 8 << 10;
/// How many terms are looked for as parts of words: the longest.
const MAX_PARTS: usize = 8;

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
    /// Its different terms, in lower case.
    pub texts: Vec<String>,
    /// All of it, in lower case.
    pub whole_text: String,
    terms: Vec<Term>,
    /// All of it, as if it were one term.
    whole: Term,
}

/// A part of a query that white space sets apart, as the index knows it.
#[derive(Debug, Clone)]
pub struct Term {
    size: usize,
    runs: Vec<TextRun>,
    /// Whether a text with its words is sure to hold it.
    is_exact: bool,
}

impl Query {
    /// None if there is nothing to look for.
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

    /// All terms as words that follow each other; None where that says no more than [`Query::as_words`].
    pub fn in_order(&self) -> Option<String> {
        (self.texts.len() > 1).then(|| self.whole.expression(None, false)).flatten()
    }

    /// Every term as whole words. None if no term has a word.
    pub fn as_words(&self) -> Option<String> {
        let terms: Vec<String> = self.terms.iter().filter_map(|term| term.expression(None, false)).collect();
        (!terms.is_empty()).then(|| terms.join(" AND "))
    }

    /// Whether every text that [`Query::in_order`] or [`Query::as_words`] finds holds the query.
    pub fn is_exact(&self) -> bool {
        self.terms.len() == self.texts.len() && self.terms.iter().all(|term| term.is_exact)
    }

    /// The terms that are looked for as parts of words.
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
            // It may go on in the rest.
            all.pop();
        }
        let is_one = all.len() == 1;
        let is_word = |one: &TextRun| one.kind == RunKind::Word && one.at_start && one.at_end && !is_partial(&one.text);
        let is_exact = is_one && rest.is_empty() && all.iter().all(is_word);
        // With fewer of them the index finds more.
        all.truncate(MAX_RUNS);
        for run in all.iter_mut().filter(|run| run.kind == RunKind::Unspaced) {
            if let Some((at, _)) = run.text.char_indices().nth(MAX_RUNS) {
                run.text.truncate(at);
                // The text goes on.
                run.at_end = true;
            }
        }
        Self { size: start.len(), runs: all, is_exact }
    }

    /// What the index is asked for. `first` stands for the first run's word; with `goes_on` the last one's may go on.
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
                // A long word may be pieces in the index: what stands beside it is looked for by itself.
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

    /// What a word must hold to be the term's first; None if the first one cannot be a part of a longer word that began
    /// before it.
    pub fn opening(&self) -> Option<WordPart<'_>> {
        let first = self.runs.first().filter(|first| first.kind == RunKind::Word && first.at_start)?;
        let (words, _) = query_words(first);
        Some(WordPart { text: words.first()?, anywhere: first.at_end || is_partial(&first.text) })
    }
}
