//! Finds the lines that can contain a hit by their raw bytes, without parsing them.
//!
//! No line with a hit is missed. The prefilter searches for one run of characters from the query's words; each text
//! with a hit contains that run. In a line, the run is written in one of three ways: as it is, in any case, with `\"`,
//! `\\`, `\n` and the like where JSON requires them; or with at least one of its characters as `\uXXXX`; or interrupted
//! by escape sequences of a terminal (which are not part of a text), each with its `\u001b`. So a line is a candidate
//! if it contains the run, or such an escape of one of its characters, or two neighbours of the run with only escape
//! sequences between them.

use std::collections::BTreeSet;

use memchr::memmem::Finder;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::Input;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::base::error::{Error, Result};
use crate::base::escape_sequences::ESC;

/// The longest run, in characters.
const LONGEST_RUN: usize = 32;

/// Finds candidates for a query.
pub(crate) struct Prefilter {
    /// Finds the run. None if every line is a candidate.
    run: Option<Regex>,
    /// The UTF-16 code units of the run's characters, in every case.
    units: BTreeSet<u16>,
    /// The forms in JSON of each two neighbours of the run, without `\uXXXX`; and the last bytes that the first of two
    /// neighbours can have.
    neighbours: Vec<[Vec<String>; 2]>,
    ends: BTreeSet<u8>,
    /// Finds `\u`.
    escaped: Finder<'static>,
}

impl Prefilter {
    /// A prefilter for texts that contain all these words.
    pub(crate) fn of(words: &[String]) -> Result<Self> {
        // U+FFFD is excluded, because any lone surrogate, and any byte sequence that is not UTF-8, is read as U+FFFD.
        let runs = words.iter().flat_map(|word| word.split('\u{fffd}'));
        let run: String =
            runs.max_by_key(|run| run.chars().count()).unwrap_or_default().chars().take(LONGEST_RUN).collect();
        let units = run.chars().flat_map(variants).flat_map(utf16).collect();
        let neighbours: Vec<_> =
            run.chars().zip(run.chars().skip(1)).map(|(left, right)| [written(left), written(right)]).collect();
        let ends = neighbours.iter().flat_map(|[left, _]| left).filter_map(|c| c.bytes().last()).collect();
        let syntax = syntax::Config::new().case_insensitive(true).utf8(false);
        let pattern: String = run.chars().map(in_json).collect();
        let failed = |error| Error::internal(format!("the query has no pattern: {error}"));
        let run = match run.is_empty() {
            true => None,
            false => Some(Regex::builder().syntax(syntax).build(&pattern).map_err(failed)?),
        };
        Ok(Self { run, units, neighbours, ends, escaped: Finder::new(r"\u") })
    }

    /// The candidates in these lines.
    pub(crate) fn candidates<'a>(&'a self, bytes: &'a [u8]) -> Candidates<'a> {
        Candidates { filter: self, bytes, run: self.find_run(bytes, 0), escaped: self.find_escaped(bytes, 0) }
    }

    fn find_run(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let rest = from..bytes.len();
        match &self.run {
            _ if rest.is_empty() => None,
            Some(run) => run.find(Input::new(bytes).range(rest)).map(|found| found.start()),
            None => Some(from),
        }
    }

    /// The first `\uXXXX` at or after `from` that is a character of the run, or that begins escape sequences between
    /// two of its characters. We use a second pass over the bytes instead of one regular expression: that would try
    /// several patterns at every `\u001b`, of which coloured output has many. For 128 MiB the run alone takes 19 ms and
    /// `\u` another 6, but a pattern of both takes 40 to 360, because its shortest alternative decides how many letters
    /// the vectors compare.
    fn find_escaped(&self, bytes: &[u8], from: usize) -> Option<usize> {
        // Without a run every line is a candidate already.
        self.run.as_ref()?;
        let mut places = self.escaped.find_iter(bytes.get(from..)?).map(|at| from + at);
        places.find(|at| match code_unit(bytes, *at) {
            Some(unit) => self.units.contains(&unit) || unit == u16::from(ESC) && self.is_interrupted(bytes, *at),
            None => false,
        })
    }

    /// Whether the escape sequences at a position are between two neighbours of the run.
    fn is_interrupted(&self, bytes: &[u8], at: usize) -> bool {
        let before = bytes.get(..at).unwrap_or_default();
        if !before.last().is_some_and(|end| self.ends.contains(end)) {
            return false;
        }
        let ends = |[left, _]: &&[Vec<String>; 2]| left.iter().any(|c| before.ends_with(c.as_bytes()));
        let mut pairs = self.neighbours.iter().filter(ends);
        match after_sequences(bytes.get(at..).unwrap_or_default()) {
            Some(after) => pairs.any(|[_, right]| right.iter().any(|c| after.starts_with(c.as_bytes()))),
            None => pairs.next().is_some(),
        }
    }
}

/// The code unit of the `\uXXXX` at a position.
fn code_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at + 2..at + 6)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | u16::try_from(char::from(*digit).to_digit(16)?).ok()?))
}

/// Finds the candidates in some lines one after another. It searches for each of its two next positions only once.
pub(crate) struct Candidates<'a> {
    filter: &'a Prefilter,
    bytes: &'a [u8],
    run: Option<usize>,
    escaped: Option<usize>,
}

impl Candidates<'_> {
    /// The first position in a candidate at or after `from`, which must not decrease between calls.
    pub(crate) fn next(&mut self, from: usize) -> Option<usize> {
        if self.run.is_some_and(|at| at < from) {
            self.run = self.filter.find_run(self.bytes, from);
        }
        if self.escaped.is_some_and(|at| at < from) {
            self.escaped = self.filter.find_escaped(self.bytes, from);
        }
        self.run.into_iter().chain(self.escaped).min()
    }
}

/// The bytes after the escape sequences at the start of a part of a JSON string. None if a
/// sequence is a string for the device or contains characters that JSON escapes, because its end is hard to find.
fn after_sequences(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let Some((b'b' | b'B', sequence)) = rest.strip_prefix(br"\u001").and_then(<[u8]>::split_first) else {
            return Some(rest);
        };
        let end = match sequence.first()? {
            b'[' => 1 + sequence.iter().skip(1).position(|byte| !matches!(byte, b' '..=b'?'))?,
            b'(' | b')' | b'*' | b'+' | b'#' | b'%' => 1,
            b']' | b'P' | b'X' | b'^' | b'_' => return None,
            _ => 0,
        };
        match sequence.split_at_checked(end)?.1.split_first()? {
            (b'\\', _) => return None,
            (_, after) => rest = after,
        }
    }
}

/// The forms of a character in JSON in every case, without `\uXXXX`.
fn written(c: char) -> Vec<String> {
    let escaped = match c {
        '"' => r#"\""#,
        '\\' => r"\\",
        '\n' => r"\n",
        '\r' => r"\r",
        '\t' => r"\t",
        '\u{8}' => r"\b",
        '\u{c}' => r"\f",
        // `\/` ends with this character.
        '/' => return vec!["/".into(), r"\/".into()],
        c if c < ' ' => return Vec::new(),
        c => return variants(c).into_iter().map(String::from).collect(),
    };
    vec![escaped.into()]
}

/// A character in upper and lower case.
fn variants(c: char) -> Vec<char> {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    class.case_fold_simple();
    let mut all: Vec<char> = class.iter().flat_map(|range| range.start()..=range.end()).collect();
    // The standard library may know letters of a later version of Unicode.
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
mod tests;
