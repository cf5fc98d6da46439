//! The tokenizer: texts and queries as words of the index.
//!
//! A word is a run of letters and digits, folded to lower case. Runs of scripts without spaces between words (Chinese,
//! Japanese, Thai, …) are stored as pairs of neighbouring characters, followed by the last character: a query of one character
//! is the prefix of a pair, a longer one is a phrase of pairs. Any other character beyond ASCII is one word; ASCII
//! punctuation only separates. A word longer than [`MAX_WORD_CHARS`] is stored as overlapping pieces, so that every part of it
//! with at most [`PIECE`] characters is in one of them.

use std::borrow::Cow;

/// Longer words are split into pieces of this many characters.
pub const MAX_WORD_CHARS: usize = 64;
/// The distance between the starts of two pieces.
pub const PIECE: usize = MAX_WORD_CHARS / 2;

/// What a run consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Letters and digits.
    Word,
    /// Characters of a script without spaces.
    Unspaced,
    /// One symbol.
    Symbol,
}

/// A run of characters that becomes one or more words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRun {
    pub kind: RunKind,
    /// Folded.
    pub text: String,
    /// Whether it is at the start of the text, and at its end.
    pub at_start: bool,
    pub at_end: bool,
}

/// Folds a character to lower case, and both small sigmas of Greek to one.
pub fn lower(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c })
}

/// Folds a text.
pub fn folded(text: &str) -> String {
    let mut out = String::new();
    fold_into(text, &mut out);
    out
}

/// The same, into a reused string.
pub fn fold_into(text: &str, out: &mut String) {
    out.clear();
    out.reserve(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let (ascii, odd) = rest.split_at_checked(plain).unwrap_or((rest, ""));
        let from = out.len();
        out.push_str(ascii);
        out.get_mut(from..).unwrap_or_default().make_ascii_lowercase();
        let mut chars = odd.chars();
        rest = chars.as_str();
        while let Some(c) = chars.next().filter(|c| !c.is_ascii()) {
            out.extend(lower(c));
            rest = chars.as_str();
        }
    }
}

/// Whether the character's script has no spaces between words.
fn is_unspaced(c: char) -> bool {
    let in_ranges = matches!(c, '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FF9F}' | '\u{20000}'..='\u{3FFFF}');
    in_ranges && (c.is_alphanumeric() || c < '\u{1800}')
}

/// Whether a character belongs to a [`RunKind::Word`].
pub fn is_word_char(c: char) -> bool {
    kind_of(c) == Some(RunKind::Word)
}

fn kind_of(c: char) -> Option<RunKind> {
    if c.is_ascii() {
        c.is_ascii_alphanumeric().then_some(RunKind::Word)
    } else if is_unspaced(c) {
        Some(RunKind::Unspaced)
    } else if c.is_alphanumeric() || c == '\u{307}' {
        // A Turkish capital I with a dot folds to an i and a combining dot above.
        Some(RunKind::Word)
    } else if c.is_whitespace() || c.is_control() {
        None
    } else {
        Some(RunKind::Symbol)
    }
}

/// The runs of a text, in order.
pub fn text_runs(text: &str) -> Vec<TextRun> {
    let mut all: Vec<TextRun> = Vec::new();
    let mut open: Option<RunKind> = None;
    for (at, c) in text.char_indices() {
        let kind = kind_of(c);
        match (kind, all.last_mut()) {
            (Some(now), Some(last)) if open == Some(now) && now != RunKind::Symbol => last.text.extend(lower(c)),
            (Some(kind), _) => {
                all.push(TextRun { kind, text: lower(c).collect(), at_start: at == 0, at_end: false });
            }
            (None, _) => {}
        }
        open = kind;
    }
    if let (Some(_), Some(last)) = (open, all.last_mut()) {
        last.at_end = true;
    }
    all
}

/// A text for FTS5's `ascii` tokenizer, which splits at ASCII characters other than letters and digits. Calls `word` for each
/// word, some of them several times.
pub fn index_words<'a>(text: &'a str, word: &mut dyn FnMut(&str)) -> Cow<'a, str> {
    if text.is_ascii() && !has_long_word(text.as_bytes()) {
        let mut small = [0u8; MAX_WORD_CHARS];
        for run in text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric()) {
            if let Some(into) = small.get_mut(..run.len()).filter(|_| !run.is_empty()) {
                into.copy_from_slice(run);
                into.make_ascii_lowercase();
                word(std::str::from_utf8(into).unwrap_or_default());
            }
        }
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for run in text_runs(text) {
        match run.kind {
            RunKind::Word => {
                for piece in pieces(&run.text) {
                    word(piece);
                    push(&mut out, piece);
                }
            }
            RunKind::Unspaced => {
                for pair in pairs(&run.text) {
                    push(&mut out, pair);
                }
            }
            RunKind::Symbol => push(&mut out, &run.text),
        }
    }
    Cow::Owned(out)
}

fn push(out: &mut String, word: &str) {
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

fn has_long_word(text: &[u8]) -> bool {
    // A long word covers at least one of the positions that are checked.
    let mut at = MAX_WORD_CHARS;
    while let Some(byte) = text.get(at) {
        if byte.is_ascii_alphanumeric() {
            let before =
                text.get(..at).unwrap_or_default().iter().rev().take_while(|b| b.is_ascii_alphanumeric()).count();
            let after = text.get(at..).unwrap_or_default().iter().take_while(|b| b.is_ascii_alphanumeric()).count();
            if before + after > MAX_WORD_CHARS {
                return true;
            }
        }
        at += MAX_WORD_CHARS;
    }
    false
}

/// A word, or the pieces of a long one.
fn pieces(word: &str) -> Vec<&str> {
    let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
    if starts.len() <= MAX_WORD_CHARS {
        return vec![word];
    }
    (0..starts.len().saturating_sub(PIECE))
        .step_by(PIECE)
        .filter_map(|from| {
            let end = starts.get(from + MAX_WORD_CHARS).copied().unwrap_or(word.len());
            word.get(*starts.get(from)?..end)
        })
        .collect()
}

/// The pairs of neighbouring characters in a run, and its last character.
fn pairs(run: &str) -> impl Iterator<Item = &str> {
    run.char_indices().filter_map(|(at, c)| {
        let rest = run.get(at + c.len_utf8()..)?;
        let second = rest.chars().next().map_or(0, char::len_utf8);
        run.get(at..at + c.len_utf8() + second)
    })
}

/// The phrase that finds a run of a query, and whether its last word is a prefix.
pub fn query_words(run: &TextRun) -> (Vec<&str>, bool) {
    match run.kind {
        RunKind::Symbol => (vec![&run.text], false),
        RunKind::Word => (vec![first_piece(&run.text)], run.at_end),
        RunKind::Unspaced => {
            let mut words: Vec<&str> = pairs(&run.text).collect();
            // In the text, the last character may be the first of another pair.
            if run.at_end && words.len() > 1 {
                words.pop();
            }
            let goes_on = run.at_end && words.len() == 1 && run.text.chars().count() == 1;
            (words, goes_on)
        }
    }
}

/// The part of a word that is sure to be in one of its pieces.
fn first_piece(word: &str) -> &str {
    let end = word.char_indices().nth(PIECE).map_or(word.len(), |(at, _)| at);
    word.get(..end).unwrap_or(word)
}

/// Whether only a part of a query's word is searched for.
pub fn is_partial(word: &str) -> bool {
    word.chars().nth(PIECE).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn indexed(text: &str) -> String {
        index_words(text, &mut |_| {}).into_owned()
    }

    #[test]
    fn words_pairs_and_symbols() {
        assert_eq!(indexed("Straße—Ωμέγας 日本語! ok"), "straße — ωμέγασ 日本 本語 語 ok");
        assert_eq!(indexed("plain_text, Unchanged"), "plain_text, Unchanged");
        let mut words = Vec::new();
        index_words("plain_text, Unchanged", &mut |word| words.push(word.to_owned()));
        assert_eq!(words, ["plain", "text", "unchanged"]);
    }

    #[test]
    fn long_words_are_cut_wherever_they_are() {
        for before in 0..70 {
            let word: String = (0..150u8).map(|n| char::from(b'a' + n % 26)).collect();
            let text = format!("{} {word}.", "x".repeat(before));
            let words = indexed(&text);
            assert!(words.split(' ').all(|word| word.len() <= MAX_WORD_CHARS), "{before}");
            for from in 0..150 - PIECE {
                let part = &word[from..from + PIECE];
                assert!(words.split(' ').any(|word| word.contains(part)), "{before} {from}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_word_is_reported(text in "([a-cA-C]{0,90}[ ._é日本Σ]{0,2}){0,6}") {
            let mut told = std::collections::HashSet::new();
            let words = index_words(&text, &mut |word| { told.insert(word.to_owned()); }).into_owned();
            for word in words.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
                let is_run = word.chars().all(is_unspaced);
                prop_assert!(is_run || told.contains(&word.to_lowercase()), "{word}");
            }
        }

        #[test]
        fn folding_is_lower_case_of_each_character(text in "[a-zA-Z .ÄÖßİΣςκ日本🙂\u{130}]{0,40}") {
            let want: String = text.chars().flat_map(lower).collect();
            prop_assert_eq!(folded(&text), want);
        }
    }
}
