//! Text as words of the index. What is said of a text here is said of a query too, so that both meet.
//!
//! A word is a run of letters and digits, in lower case. Scripts that set no spaces between words (Chinese, Japanese,
//! Thai, …) give pairs of neighbouring characters, and each run's last character alone: a query of one character is a
//! pair's beginning, a longer one is made of pairs. Any other character beyond ASCII is a word of its own; ASCII's
//! punctuation only separates. A word of more than [`MAX_WORD_CHARS`] characters gives overlapping pieces: whatever part of it
//! one looks for, up to [`PIECE`] characters, is in one of them.

use std::borrow::Cow;

/// From how many characters on a word is cut into pieces of that length.
pub const MAX_WORD_CHARS: usize = 64;
/// How far the beginnings of two pieces are from each other.
pub const PIECE: usize = MAX_WORD_CHARS / 2;

/// What a word is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Letters and digits.
    Word,
    /// Characters of a script without spaces.
    Unspaced,
    /// One symbol.
    Symbol,
}

/// A run of a text that gives words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRun {
    pub kind: RunKind,
    /// In lower case.
    pub text: String,
    /// Whether it starts where the text starts, and ends where it ends.
    pub at_start: bool,
    pub at_end: bool,
}

/// A character in lower case. The two small sigmas of Greek are one.
pub fn lower(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c })
}

/// Text in lower case, as terms are compared.
pub fn folded(text: &str) -> String {
    let mut out = String::new();
    fold_into(text, &mut out);
    out
}

/// The same, into a string that is used again.
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

/// Whether a script sets no spaces between its words.
fn is_unspaced(c: char) -> bool {
    let in_ranges = matches!(c, '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FF9F}' | '\u{20000}'..='\u{3FFFF}');
    in_ranges && (c.is_alphanumeric() || c < '\u{1800}')
}

/// Whether a character is a letter or digit of a word that spaces set apart.
pub fn is_word_char(c: char) -> bool {
    kind_of(c) == Some(RunKind::Word)
}

fn kind_of(c: char) -> Option<RunKind> {
    if c.is_ascii() {
        c.is_ascii_alphanumeric().then_some(RunKind::Word)
    } else if is_unspaced(c) {
        Some(RunKind::Unspaced)
    } else if c.is_alphanumeric() || c == '\u{307}' {
        // The dot above is what is left of a Turkish capital I in lower case.
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

/// A text as the index's own tokenizer takes it, which splits at everything that is ASCII and no letter or digit.
/// `word` is told of each word, more than once perhaps.
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
    // Only where every place that a long word would cover is one of its letters.
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

/// The words that a run of a query stands for in the index: those that must follow each other, and whether the
/// last of them may go on.
pub fn query_words(run: &TextRun) -> (Vec<&str>, bool) {
    match run.kind {
        RunKind::Symbol => (vec![&run.text], false),
        RunKind::Word => (vec![first_piece(&run.text)], run.at_end),
        RunKind::Unspaced => {
            let mut words: Vec<&str> = pairs(&run.text).collect();
            // Whether a last character ends a run in the text, too, is not known: it may be the first of a pair.
            if run.at_end && words.len() > 1 {
                words.pop();
            }
            let goes_on = run.at_end && words.len() == 1 && run.text.chars().count() == 1;
            (words, goes_on)
        }
    }
}

/// The part of a word that one of its pieces is sure to hold.
fn first_piece(word: &str) -> &str {
    let end = word.char_indices().nth(PIECE).map_or(word.len(), |(at, _)| at);
    word.get(..end).unwrap_or(word)
}

/// Whether a word of a query is looked for by a part of it alone.
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
    fn long_words_are_cut_wherever_they_stand() {
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
        fn every_word_is_told_of(text in "([a-cA-C]{0,90}[ ._é日本Σ]{0,2}){0,6}") {
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
