//! Snippets: the part of a text around a match.

/// How many characters are shown before the start of the match, and from its start on.
const BEFORE: usize = 48;
const AFTER: usize = 128;
/// How many occurrences of a term are considered.
const MAX_MATCHES: usize = 64;

/// The part of a text in which most terms are close together, with marks, in one line. `folded` is the folded text; the
/// terms are folded too.
pub(crate) fn snippet(text: &str, folded: &str, terms: &[&str], [open, close]: &[String; 2]) -> String {
    let mut matches: Vec<(usize, usize, usize)> = Vec::new();
    for (which, term) in terms.iter().enumerate() {
        let found = memchr::memmem::find_iter(folded.as_bytes(), term.as_bytes()).take(MAX_MATCHES);
        matches.extend(found.map(|at| (at, at + term.len(), which)));
    }
    matches.sort_unstable();
    let anchor = most_together(&matches, terms.len());

    let before = folded.get(..anchor).unwrap_or_default();
    let from = before.char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at);
    let longest = matches.iter().find(|(at, ..)| *at == anchor).map_or(0, |(at, end, _)| end - at);
    let rest = folded.get(anchor..).unwrap_or_default();
    let to = rest.char_indices().nth(AFTER).map_or(folded.len(), |(at, _)| anchor + at.max(longest));
    // Translates parts of the folded text to the original text, character by character. The parts must be taken in
    // order.
    let mut left = text.chars();
    let mut take = |from: usize, to: usize| {
        let count = folded.get(from..to).unwrap_or_default().chars().count();
        let before = left.as_str();
        if count > 0 {
            left.nth(count - 1);
        }
        before.get(..before.len() - left.as_str().len()).unwrap_or_default()
    };
    take(0, from);

    let mut out = OneLine::default();
    if from > 0 {
        out.text.push('…');
    }
    let mut at = from;
    for &(start, end, _) in matches.iter().filter(|(start, end, _)| *start >= from && *end <= to) {
        if end <= at {
            continue;
        }
        let start = start.max(at);
        out.push(take(at, start));
        out.mark(open);
        out.push(take(start, end));
        out.text.push_str(close);
        at = end;
    }
    out.push(take(at, to));
    let mut shown = out.text;
    shown.truncate(shown.trim_end().len());
    if to < folded.len() {
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
struct OneLine {
    text: String,
    in_space: bool,
}

impl OneLine {
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

#[cfg(test)]
mod tests;
