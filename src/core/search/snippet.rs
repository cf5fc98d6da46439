//! Snippets: a part of a text around a match.

use crate::base::fold::fold;

/// How many characters are shown before the match, and from its start on.
const BEFORE: usize = 48;
const AFTER: usize = 128;
/// How many bytes that is at most.
pub const CONTEXT_BYTES: usize = 4 * (BEFORE + AFTER);
/// How many occurrences of a term are considered.
const MAX_MATCHES: usize = 64;

/// The part of a text where most terms are close together, each marked, in one line. `folded` and the terms are folded.
pub fn snippet(text: &str, folded: &str, terms: &[&str], [open, close]: &[String; 2]) -> String {
    let mut matches: Vec<(usize, usize, usize)> = Vec::new();
    for (which, term) in terms.iter().enumerate() {
        let found = memchr::memmem::find_iter(folded.as_bytes(), term.as_bytes()).take(MAX_MATCHES);
        matches.extend(found.map(|at| (at, at + term.len(), which)));
    }
    matches.sort_unstable();
    let best = most_together(&matches, terms.len());
    let matches = in_text(text, folded, &matches);
    let anchor = in_text(text, folded, &[(best, best, 0)]).first().map_or(0, |(at, _)| *at);

    let from =
        text.get(..anchor).unwrap_or_default().char_indices().rev().take(BEFORE).last().map_or(anchor, |(at, _)| at);
    let longest = matches.iter().find(|(at, _)| *at == anchor).map_or(0, |(at, end)| end - at);
    let rest = text.get(anchor..).unwrap_or_default();
    let to = rest.char_indices().nth(AFTER).map_or(text.len(), |(at, _)| anchor + at.max(longest));

    let mut out = Line::default();
    if from > 0 {
        out.text.push('…');
    }
    let mut at = from;
    for &(start, end) in matches.iter().filter(|(start, end)| *start >= from && *end <= to) {
        if end <= at {
            continue;
        }
        let start = start.max(at);
        out.push(text.get(at..start).unwrap_or_default());
        out.mark(open);
        out.push(text.get(start..end).unwrap_or_default());
        out.text.push_str(close);
        at = end;
    }
    out.push(text.get(at..to).unwrap_or_default());
    let mut shown = out.text;
    shown.truncate(shown.trim_end().len());
    if to < text.len() {
        shown.push('…');
    }
    shown
}

/// The first position with most terms close after it. `matches` are sorted.
fn most_together(matches: &[(usize, usize, usize)], terms: usize) -> usize {
    // How often each term is in the window, and how many terms are.
    let mut near = vec![0_usize; terms];
    let mut count = 0;
    let mut ahead = matches.iter().peekable();
    let (mut best, mut most) = (0, 0);
    for &(from, _, first) in matches {
        while let Some((.., which)) = ahead.next_if(|(at, ..)| *at < from + AFTER) {
            if let Some(times) = near.get_mut(*which) {
                count += usize::from(*times == 0);
                *times += 1;
            }
        }
        if count > most {
            (best, most) = (from, count);
        }
        // It leaves the window.
        if let Some(times) = near.get_mut(first) {
            *times -= 1;
            count -= usize::from(*times == 0);
        }
    }
    best
}

/// A line in which each run of white space is one space.
#[derive(Default)]
struct Line {
    text: String,
    in_space: bool,
}

impl Line {
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            let is_space = c.is_whitespace() || c.is_control();
            match is_space {
                false => self.text.push(c),
                true if !self.in_space && !self.text.is_empty() => self.text.push(' '),
                true => {}
            }
            self.in_space = is_space;
        }
    }

    fn mark(&mut self, mark: &str) {
        self.text.push_str(mark);
        self.in_space = false;
    }
}

/// Ranges of the folded text as ranges of the text.
fn in_text(text: &str, folded: &str, matches: &[(usize, usize, usize)]) -> Vec<(usize, usize)> {
    if text.len() == folded.len() && text.is_ascii() {
        return matches.iter().map(|(start, end, _)| (*start, *end)).collect();
    }
    // The offset of each character in the folded text and in the text.
    let mut offsets = Vec::new();
    let mut size = 0;
    for (at, c) in text.char_indices() {
        offsets.push((size, at));
        size += fold(c).len_utf8();
    }
    offsets.push((size, text.len()));
    let at_or_before = |at: usize| {
        let after = offsets.partition_point(|(size, _)| *size <= at);
        offsets.get(after.saturating_sub(1)).map_or(0, |(_, at)| *at)
    };
    let at_or_after = |at: usize| {
        let first = offsets.partition_point(|(size, _)| *size < at);
        offsets.get(first).map_or(text.len(), |(_, at)| *at)
    };
    matches.iter().map(|(start, end, _)| (at_or_before(*start), at_or_after(*end))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::fold::folded;

    fn of(text: &str, terms: &[&str]) -> String {
        snippet(text, &folded(text), terms, &["[".into(), "]".into()])
    }

    #[test]
    fn a_match_is_marked_in_the_letters_of_the_text() {
        assert_eq!(of("Say Hello\n\n  to İstanbul", &["hello", "istanbul"]), "Say [Hello] to İstanbul");
        assert_eq!(of("ΟΔΟΣ x", &["οδοσ"]), "[ΟΔΟΣ] x");
        assert_eq!(of("日本語のテスト", &["本語"]), "日[本語]のテスト");
        assert_eq!(of("aaa", &["aa", "aaa"]), "[aa][a]");
    }

    /// Regression: each place was compared with every other.
    #[test]
    fn the_place_with_most_terms_is_found_in_one_pass() {
        use proptest::prelude::*;
        let plainly = |matches: &[(usize, usize, usize)]| {
            let together = |from: usize| {
                let near = matches.iter().filter(|(at, ..)| (from..from + AFTER).contains(at));
                near.map(|(.., which)| which).collect::<std::collections::HashSet<_>>().len()
            };
            matches.iter().map(|(at, ..)| *at).rev().max_by_key(|at| together(*at)).unwrap_or(0)
        };
        proptest!(|(mut matches in proptest::collection::vec((0_usize..900, 0_usize..3, 0_usize..9), 0..80))| {
            matches.sort_unstable();
            prop_assert_eq!(most_together(&matches, 9), plainly(&matches));
        });
        // Hours, with every other.
        let mut many: Vec<_> = (0..1_000_000).map(|at| (at, at + 1, 0)).collect();
        many.push((2_000_000, 2_000_001, 1));
        many.push((2_000_000 + AFTER - 1, 2_000_001, 0));
        assert_eq!(most_together(&many, 2), 2_000_000);
    }

    #[test]
    fn the_middle_of_a_long_text_is_cut_out() {
        let text = format!("{}needle and thread {}needle", "x ".repeat(300), "é ".repeat(300));
        let shown = of(&text, &["thread", "needle"]);
        assert!(
            shown.starts_with("…x x") && shown.contains("[needle] and [thread]") && shown.ends_with('…'),
            "{shown}"
        );
        assert!(shown.chars().count() < BEFORE + AFTER + 8);
    }
}
