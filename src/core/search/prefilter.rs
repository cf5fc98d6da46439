//! Finds the lines that can hold a hit among raw bytes, without understanding them.
//!
//! No line that holds a hit is missed. Of the query's words one run of characters is looked for, which a text with a hit holds. In
//! the line the run stands as it is, in any case, with `\"`, `\\`, `\n` and the like where JSON requires them; or at least one of
//! its characters is written as `\uXXXX`. So a line is a candidate if it has the run, or such an escape of one of its characters.

use memchr::memmem::Finder;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::Input;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::base::error::{Error, Result};

/// How many characters of a word are looked for.
const LONGEST_RUN: usize = 32;

/// How many bytes a match has at most: each character has no more than `\u001f`.
pub const LONGEST_MATCH: usize = 6 * LONGEST_RUN;

/// Finds candidates for a query.
pub struct Prefilter {
    /// Finds the run; None if every line is a candidate.
    run: Option<Regex>,
    /// The UTF-16 units of the run's characters, in any case.
    units: Vec<u16>,
    escape: Finder<'static>,
}

impl Prefilter {
    /// A prefilter for texts that hold all these words.
    pub fn of(words: &[String]) -> Result<Self> {
        // Any byte sequence that is not UTF-8, and any lone surrogate, is read as U+FFFD.
        let runs = words.iter().flat_map(|word| word.split('\u{fffd}'));
        let run: String =
            runs.max_by_key(|run| run.chars().count()).unwrap_or_default().chars().take(LONGEST_RUN).collect();
        let mut units: Vec<u16> = run.chars().flat_map(variants).flat_map(utf16).collect();
        units.sort_unstable();
        units.dedup();
        let pattern: String = run.chars().map(in_json).collect();
        let run = match run.is_empty() {
            true => None,
            false => {
                let syntax = syntax::Config::new().case_insensitive(true).utf8(false);
                let built =
                    Regex::builder().syntax(syntax).configure(Regex::config().utf8_empty(false)).build(&pattern);
                let failed = |error| Error::internal(format!("the query has no pattern: {error}"));
                Some(built.map_err(failed)?)
            }
        };
        Ok(Self { run, units, escape: Finder::new(b"\\u") })
    }

    /// The candidates in `bytes`, from a position on.
    pub fn candidates<'a>(&'a self, bytes: &'a [u8], from: usize) -> Candidates<'a> {
        Candidates { run: self.run_at(bytes, from), escape: self.escape_at(bytes, from), filter: self, bytes }
    }

    fn run_at(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let Some(run) = &self.run else { return Some(from).filter(|at| *at < bytes.len()) };
        let input = Input::new(bytes).range(from.min(bytes.len())..);
        run.find(input).map(|found| found.start())
    }

    fn escape_at(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let escapes = self.escape.find_iter(bytes.get(from..)?).map(|at| from + at);
        let is_of_run = |at: &usize| {
            let digits = bytes.get(at + 2..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
            digits
                .and_then(|digits| u16::from_str_radix(digits, 16).ok())
                .is_some_and(|unit| self.units.binary_search(&unit).is_ok())
        };
        escapes.into_iter().find(is_of_run)
    }
}

/// The candidates in some bytes.
pub struct Candidates<'a> {
    filter: &'a Prefilter,
    bytes: &'a [u8],
    /// The next positions of either kind; None if there are no more.
    run: Option<usize>,
    escape: Option<usize>,
}

impl Candidates<'_> {
    /// The first position within a candidate at or after `from`, which is not less than in the call before.
    pub fn next(&mut self, from: usize) -> Option<usize> {
        if self.run.is_some_and(|at| at < from) {
            self.run = self.filter.run_at(self.bytes, from);
        }
        if self.escape.is_some_and(|at| at < from) {
            self.escape = self.filter.escape_at(self.bytes, from);
        }
        match (self.run, self.escape) {
            (Some(run), Some(escape)) => Some(run.min(escape)),
            (run, escape) => run.or(escape),
        }
    }
}

/// A character in upper and lower case.
fn variants(c: char) -> Vec<char> {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    class.case_fold_simple();
    let mut all: Vec<char> = class.iter().flat_map(|range| range.start()..=range.end()).collect();
    // The standard library may know letters of a later Unicode.
    all.extend(c.to_uppercase());
    all
}

fn utf16(c: char) -> Vec<u16> {
    c.encode_utf16(&mut [0; 2]).to_vec()
}

/// The pattern of a character in a JSON string.
fn in_json(c: char) -> String {
    match c {
        '"' => r#"\\""#.into(),
        '\\' => r"\\\\".into(),
        '/' => r"\\?/".into(),
        '\n' => r"\\n".into(),
        '\r' => r"\\r".into(),
        '\t' => r"\\t".into(),
        '\u{8}' => r"\\b".into(),
        '\u{c}' => r"\\f".into(),
        c if c < ' ' => format!(r"\\u{:04x}", c as u32),
        c => {
            let variants: Vec<_> =
                variants(c).iter().map(|c| regex_syntax::escape(c.encode_utf8(&mut [0; 4]))).collect();
            format!("(?:{})", variants.join("|"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::fold::{fold, folded};
    use crate::json::short_string_bytes;
    use proptest::prelude::*;

    /// A character as a writer may write it.
    fn written() -> impl Strategy<Value = String> {
        prop_oneof![
            6 => prop::sample::select(vec!["a", "K", "\u{212a}", "s", "ſ", "Σ", "ς", "é", "É", "日", "🙂", "\\n", "\\\"", "\\\\", "\\/", "/", " ", "ı", "İ"]).prop_map(str::to_owned),
            2 => prop::sample::select(vec!['a', 'K', '\u{212a}', 'ſ', 'Σ', 'é', '日', '\n', '"', '\\', '\0']).prop_map(|c| format!("\\u{:04x}", c as u32)),
            1 => prop::sample::select(vec!['A', 'k', '日', 'É', '\u{1f}']).prop_map(|c| format!("\\u{:04X}", c as u32)),
            1 => Just("\\ud83d\\ude42".to_owned()),
            1 => Just("\\uD83D".to_owned()),
            1 => Just("\u{fffd}".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn no_text_that_holds_the_words_is_missed(
            pieces in prop::collection::vec(written(), 1..12),
            from in 0usize..12,
            length in 1usize..5,
            upper in any::<bool>(),
        ) {
            let json = format!("\"{}\"", pieces.concat());
            let text = short_string_bytes(&json).expect("a string");
            let text = crate::base::wtf8::to_string_lossy(&text).into_owned();
            let part: String = text.chars().skip(from).take(length).collect();
            let part = if upper { part.to_uppercase() } else { part };
            let word = folded(&part);
            if !word.is_empty() && folded(&text).contains(&word) {
                let filter = Prefilter::of(&[word]).expect("a filter");
                prop_assert!(filter.candidates(json.as_bytes(), 0).next(0).is_some(), "{part:?} in {json}");
            }
        }
    }

    #[test]
    fn a_folded_character_is_looked_for_in_every_case() {
        let mut missed: Vec<char> = (0..=0x2_ffff).filter_map(char::from_u32).collect();
        missed.retain(|c| fold(*c) != *c && !variants(fold(*c)).contains(c));
        assert_eq!(missed, []);
    }

    #[test]
    fn escapes_of_other_characters_are_no_candidates() {
        let filter = Prefilter::of(&["panic".into()]).expect("a filter");
        for (json, is_candidate) in [
            (r#""no \u001b[31m such""#, false),
            (r#""PaNiC""#, true),
            (r#""p\u0061nic""#, true),
            (r#""p\u0041nic""#, true),
            (r#""pan\nic""#, false),
            (r#""\u006"#, false),
        ] {
            assert_eq!(filter.candidates(json.as_bytes(), 0).next(0).is_some(), is_candidate, "{json}");
        }
    }
}
