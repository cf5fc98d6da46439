//! Queries. A query is literal: a message must contain each of its words, which are separated by white space, in any
//! case. Quotes and operators are ordinary characters.

use std::collections::HashSet;

use crate::base::escape_sequences::plain_parts;
use crate::base::fold::folded;
use crate::format::kind_facts::TextScope;

/// The options of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchOptions {
    /// The largest number of hits.
    pub limit: usize,
    /// The marks before and after a match in a snippet.
    pub mark: [String; 2],
    /// The scopes of the texts that are searched.
    pub scopes: Vec<TextScope>,
    /// The roles whose messages are searched, from [`search_roles`](crate::format::kinds::search_roles); None for all.
    /// Only texts in `scopes` are searched: in the default scopes a `toolResult` has no texts.
    pub roles: Option<Vec<&'static str>>,
    /// Searches only entries of this time, in ms since 1970: from the first on, before the second. Entries without a
    /// time are searched only if both are infinite.
    pub time: (f64, f64),
    /// The largest number of hits of one session.
    pub per_session: usize,
    /// The id or the path of a session that is not searched. The sessions of its subagents are not searched either.
    pub excluded: Option<String>,
    /// The id or the path of the only session that is searched.
    pub only: Option<String>,
    /// Whether the sessions of subagents are searched too.
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
    /// The distinct words of the query, folded.
    pub(super) words: Vec<String>,
    /// The whole query, folded.
    pub(super) whole: String,
}

impl Query {
    /// A query for every word of a text without its escape sequences; None if it is blank.
    pub fn new(text: &str) -> Option<Self> {
        let whole = folded(plain(text).trim());
        let mut seen = HashSet::new();
        let words = whole.split_whitespace().filter(|word| seen.insert(*word)).map(str::to_owned).collect();
        (!whole.is_empty()).then_some(Self { words, whole })
    }

    /// A query for a text as a whole, including the white space at its ends; None if it is blank.
    pub fn phrase(text: &str) -> Option<Self> {
        let whole = folded(&plain(text));
        (!whole.trim().is_empty()).then(|| Self { words: vec![whole.clone()], whole })
    }
}

fn plain(text: &str) -> String {
    plain_parts(text).collect()
}
