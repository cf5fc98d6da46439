//! Finds the lines that can hold a hit among raw bytes, without understanding them.
//!
//! No line that holds a hit is missed. Of the query's words one run of characters is looked for, which a text with a hit holds. In
//! the line the run stands as it is, in any case, with `\"`, `\\`, `\n` and the like where JSON requires them; or at least one of
//! its characters is written as `\uXXXX`. So a line is a candidate if it has the run, or such an escape of one of its characters.

use std::collections::BTreeSet;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::Input;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::base::error::{Error, Result};

/// How many characters of a word are looked for.
const LONGEST_RUN: usize = 32;

/// Finds candidates for a query.
pub struct Prefilter {
    /// Finds the run, or an escape of one of its characters; None if every line is a candidate.
    pattern: Option<Regex>,
}

impl Prefilter {
    /// A prefilter for texts that hold all these words.
    pub fn of(words: &[String]) -> Result<Self> {
        // Any byte sequence that is not UTF-8, and any lone surrogate, is read as U+FFFD.
        let runs = words.iter().flat_map(|word| word.split('\u{fffd}'));
        let run: String =
            runs.max_by_key(|run| run.chars().count()).unwrap_or_default().chars().take(LONGEST_RUN).collect();
        if run.is_empty() {
            return Ok(Self { pattern: None });
        }
        let escapes: BTreeSet<String> =
            run.chars().flat_map(variants).flat_map(utf16).map(|unit| format!("{unit:04x}")).collect();
        let escapes = Vec::from_iter(escapes).join("|");
        let run: String = run.chars().map(in_json).collect();
        let syntax = syntax::Config::new().case_insensitive(true).utf8(false);
        let pattern = Regex::builder().syntax(syntax).build(&format!(r"{run}|\\(?-i:u)(?:{escapes})"));
        let failed = |error| Error::internal(format!("the query has no pattern: {error}"));
        Ok(Self { pattern: Some(pattern.map_err(failed)?) })
    }

    /// The first position within a candidate at or after `from`.
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let rest = from..bytes.len();
        match &self.pattern {
            _ if rest.is_empty() => None,
            Some(pattern) => pattern.find(Input::new(bytes).range(rest)).map(|found| found.start()),
            None => Some(from),
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
    use crate::json::string_bytes;
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
            let text = string_bytes(&json).expect("memory").expect("a string");
            let text = crate::base::wtf8::to_string_lossy(&text).into_owned();
            let part: String = text.chars().skip(from).take(length).collect();
            let part = if upper { part.to_uppercase() } else { part };
            let word = folded(&part);
            if !word.is_empty() && folded(&text).contains(&word) {
                let filter = Prefilter::of(&[word]).expect("a filter");
                prop_assert!(filter.find(json.as_bytes(), 0).is_some(), "{part:?} in {json}");
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
            assert_eq!(filter.find(json.as_bytes(), 0).is_some(), is_candidate, "{json}");
        }
    }
}
