//! The first lines of a text, and how many more there are.

/// The beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The inside of a JSON string, up to the end of its last line.
    pub text: &'a [u8],
    /// How many lines are left out.
    pub left_out: usize,
}

impl<'a> Excerpt<'a> {
    /// The first `lines` lines of the inside of a JSON string. Where it has one line more, all of them: telling of it takes a line
    /// as well. `ends_with_break`: a line break at the end begins no line.
    pub fn of(inside: &'a [u8], lines: usize, ends_with_break: bool) -> Self {
        let whole = Self { text: inside, left_out: 0 };
        if lines == usize::MAX {
            return whole;
        }
        let (mut breaks, mut last, mut cut) = (0, 0, inside.len());
        for LineBreak { from, to } in line_breaks(inside) {
            breaks += 1;
            last = to;
            if breaks == lines {
                cut = from;
            }
        }
        let count = breaks + usize::from(!(ends_with_break && breaks > 0 && last == inside.len()));
        match count > lines + 1 {
            true => Self { text: inside.get(..cut).unwrap_or_default(), left_out: count - lines },
            false => whole,
        }
    }
}

/// Where a line ends, and where the next one begins.
struct LineBreak {
    from: usize,
    to: usize,
}

/// The line breaks in the inside of a JSON string: line feeds, with a carriage return before them, and Unicode's separators of lines and
/// paragraphs.
fn line_breaks(inside: &[u8]) -> impl Iterator<Item = LineBreak> + '_ {
    const SEPARATOR: u8 = 0xe2;
    let mut at = 0;
    let mut carriage_return = None;
    std::iter::from_fn(move || loop {
        let from = at + memchr::memchr2(b'\\', SEPARATOR, inside.get(at..)?)?;
        let rest = inside.get(from..)?;
        let (length, is_break, is_return) = match rest {
            [SEPARATOR, 0x80, 0xa8 | 0xa9, ..] => (3, true, false),
            [SEPARATOR, ..] => (1, false, false),
            [_, b'n', ..] => (2, true, false),
            [_, b'r', ..] => (2, false, true),
            [_, b'u', digits @ ..] => {
                let code = digits.get(..4)?.to_ascii_lowercase();
                (6, [&b"000a"[..], b"2028", b"2029"].contains(&&*code), code == b"000d")
            }
            _ => (2, false, false),
        };
        at = from + length;
        let before = carriage_return.take().filter(|range: &std::ops::Range<usize>| range.end == from);
        if is_return {
            carriage_return = Some(from..at);
        }
        if is_break {
            return Some(LineBreak { from: before.map_or(from, |range| range.start), to: at });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(inside: &str, lines: usize, ends_with_break: bool) -> (&str, usize) {
        let Excerpt { text, left_out } = Excerpt::of(inside.as_bytes(), lines, ends_with_break);
        (std::str::from_utf8(text).expect("text"), left_out)
    }

    #[test]
    fn texts_are_cut_at_every_kind_of_line_break() {
        for line_break in ["\\n", "\\r\\n", "\\u000a", "\\u000D\\u000A", "\u{2028}", "\\u2029"] {
            let text = ["a", "b\\\\", "c", "d\\u00e9"].join(line_break);
            let first_two = format!("a{line_break}b\\\\");
            assert_eq!(excerpt(&text, 2, false), (&*first_two, 2), "{line_break}");
            assert_eq!(excerpt(&text, 3, false), (&*text, 0), "{line_break}");
            let ended = format!("{text}{line_break}");
            assert_eq!(excerpt(&ended, 3, true), (&*ended, 0), "{line_break}");
            assert_eq!(excerpt(&ended, 3, false).1, 2, "{line_break}");
        }
    }

    #[test]
    fn what_only_looks_like_a_line_break_is_none() {
        for text in ["a\\\\nb", "a\\\\\\\\nb", "a\\rb\\rc", "\u{2027}\u{202a}\u{e2}", "\\u000b"] {
            assert_eq!(excerpt(text, 0, false), (text, 0), "{text}");
        }
        assert_eq!(excerpt("a\\r\\u0041\\nb\\nc", 1, false), ("a\\r\\u0041", 2));
    }
}
