//! Matches a message with a query: every word must be in one of its texts.

use std::cmp::Reverse;

use memchr::memmem::Finder;

use super::query::Query;
use super::snippet::snippet;
use crate::base::escape_sequences::without_sequences;
use crate::base::fold::fold_into;
use crate::base::memory;
use crate::format::kind_facts::TextScope;

/// How well a message matches. The best is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchTier {
    /// The message contains the whole query; a query of one word as a whole word.
    Exact,
    /// All words of the query are whole words of the message.
    Words,
    /// Some words of the query are only parts of words.
    Parts,
}

/// How many words of a query a snippet marks at most.
const MAX_MARKED: usize = 64;

/// Matches messages with a query, one text after another.
pub(crate) struct Matcher<'a> {
    query: &'a Query,
    mark: &'a [String; 2],
    words: Vec<Finder<'a>>,
    /// Finds the whole query, if it has several words.
    whole: Option<Finder<'a>>,
    folded: String,
    found: MessageMatch,
}

/// The words that were found in a message so far.
#[derive(Debug, Default)]
struct MessageMatch {
    /// For each word its best match; None if it was not found.
    words: Vec<Option<MatchTier>>,
    has_whole: bool,
    /// The text with the most words: their number, its snippet and its scope.
    best: Option<(usize, String, TextScope)>,
}

/// A message that contains every word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    pub tier: MatchTier,
    pub snippet: String,
    /// The scope of the text in the snippet.
    pub scope: TextScope,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(query: &'a Query, mark: &'a [String; 2]) -> Self {
        let words = query.words.iter().map(|word| Finder::new(word.as_bytes())).collect();
        let whole = (query.words.len() > 1).then(|| Finder::new(query.whole.as_bytes()));
        Self { query, mark, words, whole, folded: String::new(), found: MessageMatch::default() }
    }

    /// Starts a new message.
    pub(crate) fn begin(&mut self) {
        self.found.words.clear();
        self.found.words.resize(self.words.len(), None);
        (self.found.has_whole, self.found.best) = (false, None);
    }

    /// Searches one more text of the message. Its escape sequences are removed first.
    pub(crate) fn add(&mut self, text: &str, scope: TextScope) -> memory::Result<()> {
        let Self { query, mark, words, whole, folded, found } = self;
        let text = &*without_sequences(text)?;
        fold_into(text, folded)?;
        let mut count = 0;
        for (word, known) in words.iter().zip(&mut found.words) {
            if let Some(tier) = tier_of(folded, word) {
                count += 1;
                *known = Some(known.map_or(tier, |known| known.min(tier)));
            }
        }
        if count == 0 {
            return Ok(());
        }
        let is_whole = |whole: &Finder<'_>| tier_of(folded, whole) == Some(MatchTier::Words);
        let has_whole = count == words.len() && whole.as_ref().is_some_and(is_whole);
        // The snippet shows the exact phrase rather than its single words.
        let is_better = found.best.as_ref().is_none_or(|(most, ..)| count > *most) || has_whole && !found.has_whole;
        found.has_whole |= has_whole;
        if is_better {
            let terms: Vec<&str> = match has_whole {
                true => vec![&query.whole],
                false => query.words.iter().take(MAX_MARKED).map(String::as_str).collect(),
            };
            found.best = Some((count, snippet(text, folded, &terms, mark), scope));
        }
        Ok(())
    }

    /// The match of the message; None if a word is in none of its texts.
    pub(crate) fn finish(&mut self) -> Option<Match> {
        let worst = self.found.words.iter().copied().collect::<Option<Vec<_>>>()?.into_iter().max()?;
        let (_, snippet, scope) = self.found.best.take()?;
        let is_exact = self.found.has_whole || worst == MatchTier::Words && self.whole.is_none();
        Some(Match { tier: if is_exact { MatchTier::Exact } else { worst }, snippet, scope })
    }
}

/// How well a folded text contains a word; None if it does not.
fn tier_of(folded: &str, word: &Finder<'_>) -> Option<MatchTier> {
    let mut matches = word.find_iter(folded.as_bytes()).peekable();
    matches.peek()?;
    let is_word = matches.any(|at| is_whole(folded, at, at + word.needle().len()));
    Some(if is_word { MatchTier::Words } else { MatchTier::Parts })
}

/// Whether a part of a text begins and ends at ends of words.
fn is_whole(text: &str, from: usize, to: usize) -> bool {
    let (before, found, after) = (text.get(..from), text.get(from..to), text.get(to..));
    let [before, found, after] = [before, found, after].map(Option::unwrap_or_default);
    let joins =
        |left: Option<char>, right: Option<char>| left.is_some_and(is_word_char) && right.is_some_and(is_word_char);
    !joins(before.chars().next_back(), found.chars().next()) && !joins(found.chars().next_back(), after.chars().next())
}

/// Whether a character belongs to a word: a letter or digit of a script that separates words by spaces.
fn is_word_char(c: char) -> bool {
    let is_unspaced = matches!(c, '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FF9F}' | '\u{20000}'..='\u{3FFFF}');
    c.is_alphanumeric() && !is_unspaced
}

/// The sort key of a hit in its session: the better match first, then the later entry.
pub(crate) type HitOrder = (MatchTier, Reverse<u64>);

#[cfg(test)]
mod tests;
