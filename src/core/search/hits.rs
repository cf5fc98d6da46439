//! What a search finds.

use std::cmp::Reverse;

use super::query::{Options, Query};
use super::ranking::{Judge, Rank};

use super::snippet::snippet;
use crate::core::catalog::fts::tokenizer::fold_into;
use crate::core::catalog::text_rows::{unicode, Placed};
use crate::core::summary::searchable_text::Kind;

/// How many terms are marked in a snippet.
const MOST_MARKED: usize = 64;

/// A text that holds what was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The place of its session among those that are searched, the newest first.
    pub session: usize,
    /// The entry's id, empty where entries have none.
    pub entry: Vec<u8>,
    pub kind: Kind,
    /// The entry's timestamp, if it is a text.
    pub timestamp: Vec<u8>,
    /// What is around the place, the place marked.
    pub snippet: String,
    /// How well the text holds the query.
    pub rank: Rank,
}

/// Makes hits of texts.
pub struct Maker<'a> {
    query: &'a Query,
    options: &'a Options,
    judge: Judge<'a>,
    lower: String,
}

impl<'a> Maker<'a> {
    /// For a query.
    pub fn new(query: &'a Query, options: &'a Options) -> Self {
        Self { query, options, judge: Judge::new(query), lower: String::new() }
    }

    /// Whether a text holds the query.
    pub fn takes(&mut self, text: &[u8]) -> bool {
        fold_into(&unicode(text), &mut self.lower);
        self.judge.takes(&self.lower)
    }

    /// How well a text holds the query; None if it does not.
    pub fn rank(&mut self, text: &[u8]) -> Option<Rank> {
        fold_into(&unicode(text), &mut self.lower);
        self.judge.rank(&self.lower)
    }

    /// The hit that a text is; None if it does not hold the query.
    pub fn hit(&mut self, session: usize, placed: &Placed<'_>) -> Option<Hit> {
        self.hit_if(session, placed, |_| true)
    }

    /// The same, if its rank is wanted.
    pub fn hit_if(&mut self, session: usize, placed: &Placed<'_>, wants: impl FnOnce(&Rank) -> bool) -> Option<Hit> {
        let rank = self.rank(placed.text).filter(wants)?;
        let terms: Vec<&str> = self.query.texts.iter().take(MOST_MARKED).map(String::as_str).collect();
        Some(Hit {
            session,
            entry: placed.id.to_vec(),
            kind: placed.kind,
            timestamp: placed.timestamp.to_vec(),
            snippet: snippet(&unicode(placed.text), &self.lower, &terms, &self.options.mark),
            rank,
        })
    }
}

/// The place of a text's session, the newest first, and where the text ends in it: of a session, the last comes first.
pub type Place = (usize, Reverse<u64>);

/// The best of what is offered.
pub struct Best<T> {
    most: usize,
    all: Vec<(Rank, Place, T)>,
    /// What the last one had when it was looked, if there were enough.
    worst: Option<Rank>,
}

impl<T> Best<T> {
    /// Keeps so many.
    pub fn new(most: usize) -> Self {
        Self { most, all: Vec::new(), worst: None }
    }

    /// Offers something of a place. What is offered first comes first where nothing else decides.
    pub fn offer(&mut self, rank: Rank, place: Place, what: T) {
        self.all.push((rank, place, what));
        if self.all.len() >= self.most.saturating_mul(2).max(64) {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.all.sort_by(|(left, at, _), (right, other, _)| left.compare(right).then_with(|| at.cmp(other)));
        self.all.truncate(self.most);
        self.worst = self.all.last().filter(|_| self.all.len() == self.most).map(|(rank, ..)| *rank);
    }

    /// Whether something of this rank may be among the best.
    pub fn wants(&self, rank: &Rank) -> bool {
        self.worst.is_none_or(|worst| rank.compare(&worst).is_le())
    }

    /// What is kept, the best first.
    pub fn into_vec(mut self) -> Vec<T> {
        self.sort();
        self.all.into_iter().map(|(.., what)| what).collect()
    }
}
