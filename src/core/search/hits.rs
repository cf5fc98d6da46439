//! Hits of a search.

use std::cmp::Reverse;

use super::query::{Query, SearchOptions};
use super::ranking::{Matcher, Rank};

use super::snippet::snippet;
use crate::catalog::fts::tokenizer::fold_into;
use crate::catalog::text_rows::{unicode, StoredText};
use crate::summary::searchable_text::TextKind;

/// How many terms a snippet marks.
const MAX_MARKED: usize = 64;

/// A text that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The position of its session, the newest first.
    pub session: usize,
    /// The entry's id, empty where entries have none.
    pub entry: Vec<u8>,
    pub kind: TextKind,
    /// The entry's timestamp, if it is a text.
    pub timestamp: Vec<u8>,
    /// The text around the match, the match marked.
    pub snippet: String,
    /// How well the text matches.
    pub rank: Rank,
}

/// Makes hits from texts.
pub struct HitBuilder<'a> {
    query: &'a Query,
    options: &'a SearchOptions,
    matcher: Matcher<'a>,
    lower: String,
}

impl<'a> HitBuilder<'a> {
    /// A builder for a query.
    pub fn new(query: &'a Query, options: &'a SearchOptions) -> Self {
        Self { query, options, matcher: Matcher::new(query), lower: String::new() }
    }

    /// Whether a text matches.
    pub fn takes(&mut self, text: &[u8]) -> bool {
        fold_into(&unicode(text), &mut self.lower);
        self.matcher.takes(&self.lower)
    }

    /// How well a text matches; None if it does not.
    pub fn rank(&mut self, text: &[u8]) -> Option<Rank> {
        fold_into(&unicode(text), &mut self.lower);
        self.matcher.rank(&self.lower)
    }

    /// The hit for a text; None if it does not match.
    pub fn hit(&mut self, session: usize, stored: &StoredText<'_>) -> Option<Hit> {
        self.hit_if(session, stored, |_| true)
    }

    /// The same, if `wants` accepts its rank.
    pub fn hit_if(
        &mut self,
        session: usize,
        stored: &StoredText<'_>,
        wants: impl FnOnce(&Rank) -> bool,
    ) -> Option<Hit> {
        let rank = self.rank(stored.text).filter(wants)?;
        let terms: Vec<&str> = self.query.texts.iter().take(MAX_MARKED).map(String::as_str).collect();
        Some(Hit {
            session,
            entry: stored.id.to_vec(),
            kind: stored.kind,
            timestamp: stored.timestamp.to_vec(),
            snippet: snippet(&unicode(stored.text), &self.lower, &terms, &self.options.mark),
            rank,
        })
    }
}

/// The position of a text's session, and the offset where the text ends: within a session the last text comes first.
pub type HitOrder = (usize, Reverse<u64>);

/// The best of all offered items.
pub struct TopK<T> {
    most: usize,
    all: Vec<(Rank, HitOrder, T)>,
    /// The rank of the last kept item when they were sorted, if there were enough.
    worst: Option<Rank>,
}

impl<T> TopK<T> {
    /// Keeps this many items.
    pub fn new(most: usize) -> Self {
        Self { most, all: Vec::new(), worst: None }
    }

    /// Offers an item. Of equal items the first offered comes first.
    pub fn offer(&mut self, rank: Rank, order: HitOrder, what: T) {
        self.all.push((rank, order, what));
        if self.all.len() >= self.most.saturating_mul(2).max(64) {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.all.sort_by(|(left, at, _), (right, other, _)| left.compare(right).then_with(|| at.cmp(other)));
        self.all.truncate(self.most);
        self.worst = self.all.last().filter(|_| self.all.len() == self.most).map(|(rank, ..)| *rank);
    }

    /// Whether an item of this rank may be kept.
    pub fn wants(&self, rank: &Rank) -> bool {
        self.worst.is_none_or(|worst| rank.compare(&worst).is_le())
    }

    /// The kept items, the best first.
    pub fn into_vec(mut self) -> Vec<T> {
        self.sort();
        self.all.into_iter().map(|(.., what)| what).collect()
    }
}
