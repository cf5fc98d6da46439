use std::io::Read;

use super::*;
use crate::json::reader::tests::near_json;
use crate::lines::file_window::FileWindow;
use crate::testing::tests::count;
use proptest::prelude::*;

/// A source that returns its bytes in pieces of these sizes, in a cycle.
pub struct Pieces<'a>(pub &'a [u8], pub Vec<usize>, pub usize);

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let size = self.1[self.2 % self.1.len()].min(into.len()).min(self.0.len());
        self.2 += 1;
        let (piece, rest) = self.0.split_at(size);
        into[..size].copy_from_slice(piece);
        self.0 = rest;
        Ok(size)
    }
}

/// The value's text and its end; None if it is not JSON.
fn in_memory(text: &str) -> Option<(Vec<u8>, u64)> {
    let mut scanner = Scanner::new(text);
    let value = scanner.value(usize::MAX).ok()??.to_vec();
    Some((value, scanner.at() as u64))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("json_texts")))]

    /// If a window cuts a value anywhere, the value is scanned as in one piece.
    #[test]
    fn a_window_scans_what_memory_scans(
        text in near_json(),
        first in 1usize..40,
        pieces in prop::collection::vec(1usize..30, 1..4),
    ) {
        // In a window a newline ends the value.
        let text = text.replace('\n', " ");
        let source = || Pieces(text.as_bytes(), pieces.clone(), 0);
        let mut scanner = Scanner::new(FileWindow::starting_with(source(), first));
        let value = scanner.value(usize::MAX).ok().flatten().map(<[u8]>::to_vec);
        let kept = value.map(|value| (value, scanner.input.dropped() + scanner.at() as u64));
        prop_assert_eq!(&kept, &in_memory(&text));
        let mut scanner = Scanner::new(FileWindow::starting_with(source(), first));
        let skipped = scanner.skip_value().ok().map(|()| scanner.input.dropped() + scanner.at() as u64);
        prop_assert_eq!(skipped, kept.map(|(_, end)| end));
    }
}

#[test]
fn a_value_is_kept_up_to_the_limit_and_skipped_beyond_it() {
    let long = format!("[\"{}\",1] ,", "x".repeat(3 << 20));
    let scan = |limit| {
        let mut scanner = Scanner::new(FileWindow::new(long.as_bytes(), Box::default()));
        let found = scanner.value(limit).expect("JSON").map(<[u8]>::len);
        (found, scanner.input.dropped() + scanner.at() as u64, scanner.input.bytes().len())
    };
    let end = long.len() as u64 - 2;
    let (kept, at, _) = scan(4 << 20);
    assert_eq!((kept, at), (Some(long.len() - 2), end));
    let (kept, at, in_memory) = scan(1 << 20);
    assert_eq!((kept, at), (None, end));
    assert!(in_memory <= 1 << 20, "{in_memory}");
}

#[test]
fn a_failed_scan_stops_at_the_byte_that_does_not_fit() {
    for (text, at) in [
        ("{\"a\":tru}", 8),
        ("[1,]", 3),
        ("{\"a\" 1}", 5),
        ("\"ab\u{1}\"", 3),
        ("\"ab\\x\"", 4),
        ("\"\\u12g4\"", 5),
        ("[-x]", 2),
        ("{\"half of it{\"type\"", 14),
    ] {
        let mut scanner = Scanner::new(text);
        assert_eq!((scanner.skip_value(), scanner.at()), (Err(ScanError::Malformed), at), "{text}");
    }
}
