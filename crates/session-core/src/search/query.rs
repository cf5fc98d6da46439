//! Queries. A query is literal: each of its words, which white space separates, must be in a message, in any case; quotes and
//! operators are ordinary characters.

use std::collections::HashSet;

use crate::base::escape_sequences::plain_parts;
use crate::base::fold::folded;
use crate::format::kind_facts::TextScope;

/// The options of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// How many hits are wanted.
    pub limit: usize,
    /// Marks before and after a match in a snippet.
    pub mark: [String; 2],
    /// The texts that are searched.
    pub scopes: Vec<TextScope>,
    /// The roles whose messages are searched, of [`search_roles`](crate::format::kinds::search_roles); None for all. Only texts of `scopes` are searched:
    /// with the default ones a `toolResult` has none.
    pub roles: Option<Vec<&'static str>>,
    /// The times between which an entry was made, in ms since 1970: from the first one on, before the second. Entries without a
    /// time are searched only if both are infinite.
    pub time: (f64, f64),
    /// How many hits of each session are wanted.
    pub per_session: usize,
    /// The id or the path of a session that is not searched; nor are the sessions of its subagents.
    pub excluded: Option<String>,
    /// The id or the path of the one session that is searched.
    pub only: Option<String>,
    /// Whether the sessions of subagents are searched.
    pub subagents: bool,
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
            per_session: usize::MAX,
            excluded: None,
            only: None,
            subagents: true,
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
    /// A query for every word of a text, whose escape sequences are ignored; None if it is blank.
    pub fn new(text: &str) -> Option<Self> {
        let whole = folded(plain(text).trim());
        let mut seen = HashSet::new();
        let words = whole.split_whitespace().filter(|word| seen.insert(*word)).map(str::to_owned).collect();
        (!whole.is_empty()).then_some(Self { words, whole })
    }

    /// A query for a text as a whole, with the white space at its ends; None if it is blank.
    pub fn phrase(text: &str) -> Option<Self> {
        let whole = folded(&plain(text));
        (!whole.trim().is_empty()).then(|| Self { words: vec![whole.clone()], whole })
    }
}

fn plain(text: &str) -> String {
    plain_parts(text).collect()
}
