//! Queries. A query is literal: each of its words, which white space separates, must be in a message, in any case; quotes and
//! operators are ordinary characters.

use std::collections::HashSet;

use super::scope::TextScope;
use crate::base::fold::folded;

/// The options of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// How many hits are wanted.
    pub limit: usize,
    /// Marks before and after a match in a snippet.
    pub mark: [String; 2],
    /// The texts that are searched.
    pub scopes: Vec<TextScope>,
    /// The roles whose messages are searched, of [`HIT_ROLES`](super::scope::HIT_ROLES); None for all. Only texts of `scopes` are searched:
    /// with the default ones a `toolResult` has none.
    pub roles: Option<Vec<&'static str>>,
    /// The times between which an entry was made, in ms since 1970: from the first one on, before the second. Entries without a
    /// time are searched only if both are infinite.
    pub time: (f64, f64),
    /// The id or the path of a session that is not searched.
    pub excluded: Option<String>,
    /// Whether copies of an entry in several sessions are one hit.
    pub dedupe: bool,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            limit: 50,
            mark: ["«".into(), "»".into()],
            scopes: TextScope::DEFAULT.into(),
            roles: None,
            time: (f64::NEG_INFINITY, f64::INFINITY),
            excluded: None,
            dedupe: true,
        }
    }
}

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Its distinct words, folded.
    pub(super) words: Vec<String>,
    /// The whole query, folded.
    pub(super) whole: String,
}

impl Query {
    /// A query for every word of a text; None if it is blank.
    pub fn new(text: &str) -> Option<Self> {
        let whole = folded(text.trim());
        let mut seen = HashSet::new();
        let words = whole.split_whitespace().filter(|word| seen.insert(*word)).map(str::to_owned).collect();
        (!whole.is_empty()).then_some(Self { words, whole })
    }

    /// A query for a text as a whole; None if it is blank.
    pub fn phrase(text: &str) -> Option<Self> {
        let whole = folded(text.trim());
        (!whole.is_empty()).then(|| Self { words: vec![whole.clone()], whole })
    }
}
