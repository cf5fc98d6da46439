//! The start of a string that may be too long to be held.

use super::scanner::{Input, ScanError, ScanResult, Scanner};
use super::simd::{skip_string, Skipped};

impl<I: Input> Scanner<I> {
    /// Takes a string whose opening quote comes next, and appends its JSON text to `out`. A long string is cut: its start,
    /// which without escapes still has more than `most` bytes, is appended and closed by a quote.
    pub fn string_start(&mut self, most: usize, out: &mut Vec<u8>) -> ScanResult<(), I> {
        self.at += 1;
        out.push(b'"');
        // A character that is cut has at most three bytes.
        let mut left = most.saturating_add(4);
        loop {
            let from = self.at;
            let skipped = skip_string(self.input.bytes(), from);
            let (Skipped::Closed(at) | Skipped::Open(at) | Skipped::Bad(at)) = skipped;
            self.at = at;
            if left > 0 {
                let end = at - usize::from(matches!(skipped, Skipped::Closed(_)));
                let piece = self.input.bytes().get(from..end).unwrap_or_default();
                left = left.saturating_sub(least_unescaped(piece));
                out.extend_from_slice(piece);
            }
            match skipped {
                Skipped::Closed(_) => break,
                Skipped::Open(_) if self.read_more()? => {}
                Skipped::Open(_) | Skipped::Bad(_) => return Err(ScanError::Malformed),
            }
        }
        out.push(b'"');
        Ok(())
    }
}

/// The least number of bytes that the inside of a string has without escapes. It does not end within an escape.
fn least_unescaped(inside: &[u8]) -> usize {
    let mut length = 0;
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let escape = if rest.get(at + 1) == Some(&b'u') { 6 } else { 2 };
        length += at + 1;
        rest = rest.get(at + escape..).unwrap_or_default();
    }
    length + rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::file_window::FileWindow;
    use crate::json::scanner::tests::Pieces;
    use crate::json::string::string_bytes;
    use crate::testing::tests::count;
    use proptest::prelude::*;

    const PIECES: [&str; 9] =
        ["a", "plain text ", "\u{e9}", "\u{1f600}", "\\n", "\\\\", "\\\"", "\\u00e9", "\\ud83d\\ude00"];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(count("json_texts")))]

        /// Wherever the window and the cut fall, what is left starts as the string does, and says if there is more.
        #[test]
        fn the_start_of_a_string_is_its_own(
            inside in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..60),
            most in 0usize..120,
            first in 1usize..40,
            sizes in prop::collection::vec(1usize..30, 1..4),
        ) {
            let json = format!("\"{}\"", inside.concat());
            let text = format!("{json},");
            let mut scanner = Scanner::new(FileWindow::starting_with(Pieces(text.as_bytes(), sizes, 0), first));
            prop_assert_eq!(scanner.peek().expect("read"), Some(b'"'));
            let mut start = Vec::new();
            scanner.string_start(most, &mut start).expect("a string");
            prop_assert_eq!(scanner.input.dropped() + scanner.at() as u64, json.len() as u64);
            let whole = string_bytes(&json).expect("a string").into_owned();
            let start = string_bytes(&String::from_utf8_lossy(&start)).expect("a string").into_owned();
            prop_assert_eq!(start.get(..most.min(whole.len())), whole.get(..most.min(whole.len())));
            prop_assert_eq!(start.len() > most, whole.len() > most);
        }
    }
}
