//! Matches texts with a query, and ranks them.

use memchr::memmem::{find_iter, Finder};

use super::query::Query;
use crate::catalog::fts::tokenizer::is_word_char;

/// How a text matches, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchTier {
    /// The query's words, in its order.
    InOrder,
    /// All terms are words.
    Words,
    /// All terms begin words.
    Beginnings,
    /// Some are inside words.
    Parts,
}

/// A tier, and the weight within it: more is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    pub tier: MatchTier,
    pub weight: f64,
}

impl Rank {
    /// Orders the better one first.
    pub fn compare(&self, other: &Self) -> std::cmp::Ordering {
        self.tier.cmp(&other.tier).then_with(|| other.weight.total_cmp(&self.weight))
    }
}

/// How many terms get a prepared finder, and count for the rank.
const MAX_FINDERS: usize = 64;
/// How many occurrences of a term are counted.
const MAX_MATCHES: usize = 64;
/// BM25's constants, and the assumed mean number of words in a text.
const K1: f64 = 1.2;
const B: f64 = 0.75;
const MEAN_WORDS: f64 = 100.0;

/// Matches texts with a query.
pub struct Matcher<'a> {
    finders: Vec<Finder<'a>>,
    /// Terms without a finder.
    rest: &'a [String],
    whole: Option<Finder<'a>>,
}

impl<'a> Matcher<'a> {
    /// A matcher for a query.
    pub fn new(query: &'a Query) -> Self {
        let (own, rest) = query.texts.split_at_checked(MAX_FINDERS).unwrap_or((&query.texts, &[]));
        let whole = (query.texts.len() > 1).then(|| Finder::new(query.whole_text.as_bytes()));
        Self { finders: own.iter().map(|term| Finder::new(term.as_bytes())).collect(), rest, whole }
    }

    /// Whether a folded text contains every term.
    pub fn takes(&self, folded: &str) -> bool {
        let text = folded.as_bytes();
        self.finders.iter().all(|finder| finder.find(text).is_some())
            && self.rest.iter().all(|term| find_iter(text, term.as_bytes()).next().is_some())
    }

    /// How well a folded text matches; None if it does not.
    pub fn rank(&self, folded: &str) -> Option<Rank> {
        if !self.takes(folded) {
            return None;
        }
        let longness = 1.0 - B + B * words_in(folded) as f64 / MEAN_WORDS;
        let mut tier = MatchTier::Words;
        let mut weight = 0.0;
        for finder in &self.finders {
            let mut best = MatchTier::Parts;
            let mut often = 0.0;
            for at in finder.find_iter(folded.as_bytes()).take(MAX_MATCHES) {
                best = best.min(match_tier(folded, at, finder.needle()));
                often += 1.0;
            }
            tier = tier.max(best);
            weight += often * (K1 + 1.0) / (often + K1 * longness);
        }
        let is_whole = |finder: &Finder<'_>| {
            let mut matches = finder.find_iter(folded.as_bytes()).take(MAX_MATCHES);
            matches.any(|at| match_tier(folded, at, finder.needle()) == MatchTier::Words)
        };
        if tier == MatchTier::Words && self.whole.as_ref().is_some_and(is_whole) {
            tier = MatchTier::InOrder;
        }
        Some(Rank { tier, weight })
    }
}

/// The approximate number of words in a text.
fn words_in(text: &str) -> usize {
    let mut count = 0;
    let mut in_word = false;
    for byte in text.bytes() {
        let is_word_char = byte.is_ascii_alphanumeric() || !byte.is_ascii();
        count += usize::from(is_word_char && !in_word);
        in_word = is_word_char;
    }
    count
}

/// Whether an occurrence is whole words, begins a word, or is inside one.
fn match_tier(text: &str, at: usize, what: &[u8]) -> MatchTier {
    let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
    let (found, after) = rest.split_at_checked(what.len()).unwrap_or((rest, ""));
    let joins =
        |left: Option<char>, right: Option<char>| left.is_some_and(is_word_char) && right.is_some_and(is_word_char);
    match (
        joins(before.chars().next_back(), found.chars().next()),
        joins(found.chars().next_back(), after.chars().next()),
    ) {
        (false, false) => MatchTier::Words,
        (false, true) => MatchTier::Beginnings,
        (true, _) => MatchTier::Parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fts::tokenizer::folded;

    fn tier(query: &str, text: &str) -> Option<MatchTier> {
        let query = Query::of(query).expect("a query");
        Matcher::new(&query).rank(&folded(text)).map(|rank| rank.tier)
    }

    #[test]
    fn words_come_before_parts() {
        for (query, text, want) in [
            ("red green", "see Red green.", Some(MatchTier::InOrder)),
            ("red green", "green and red", Some(MatchTier::Words)),
            ("red green", "reddish green", Some(MatchTier::Beginnings)),
            ("red green", "rediscovered evergreen", Some(MatchTier::Parts)),
            ("red", "colored", Some(MatchTier::Parts)),
            ("red", "blue", None),
            ("本", "日本語", Some(MatchTier::Words)),
            (".", "a.b", Some(MatchTier::Words)),
        ] {
            assert_eq!(tier(query, text), want, "{query} in {text}");
        }
    }

    #[test]
    fn dense_texts_weigh_more() {
        let query = Query::of("rank").expect("a query");
        let matcher = Matcher::new(&query);
        let weight = |text: &str| matcher.rank(text).expect("held").weight;
        assert!(weight("rank rank rank") > weight("rank"));
        assert!(weight("rank") > weight(&format!("rank {}", "x ".repeat(2000))));
    }
}
