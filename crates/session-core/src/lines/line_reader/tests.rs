use super::*;
use crate::lines::file_window::WHOLE;
use proptest::prelude::*;

/// Returns a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.1.min(self.0.len()).min(into.len());
        let (now, later) = self.0.split_at(size);
        into[..size].copy_from_slice(now);
        self.0 = later;
        Ok(size)
    }
}

proptest! {
    #[test]
    fn lines_are_what_a_split_gives(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200), step in 1usize..9, chunk in 1usize..16) {
        let mut reader = LineReader::new(Trickle(&bytes, step), 7, chunk);
        let mut seen = Vec::new();
        while let Some(line) = reader.next_line().expect("no error") {
            prop_assert_eq!(&bytes[line.offset as usize - 7..][..line.bytes.len()], line.bytes);
            seen.extend_from_slice(line.bytes);
            if line.is_terminated {
                seen.push(b'\n');
            }
            prop_assert!(!line.bytes.contains(&b'\n'));
        }
        prop_assert_eq!(seen, bytes);
    }

    #[test]
    fn what_is_passed_over_is_told_and_what_follows_is_read(bytes in proptest::collection::vec(prop_oneof![1 => Just(b'\n'), 1 => Just(0), 9 => Just(b'x')], 0..400), step in 1usize..9, chunk in 1usize..16) {
        let mut reader = LineReader::new(Trickle(&bytes, step), 7, chunk).with_limits(32, 16);
        let mut at = 7;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let line = reader.next_line().expect("no error").expect("a line");
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            prop_assert_eq!((line.offset, line.length(), line.end()), (at, text.len() as u64, at + piece.len() as u64));
            at = line.end();
            match line.skipped {
                None => {
                    prop_assert_eq!(line.bytes, text);
                    // The last read into a buffer may reach beyond the border.
                    prop_assert!(text.len() <= 32 + WHOLE);
                }
                Some((Damage::NotJson, _)) => prop_assert!(text.len() >= 16 && text.contains(&0)),
                Some((why, _)) => {
                    prop_assert_eq!(why, Damage::TooLong);
                    prop_assert!(text.len() > 32);
                }
            }
            prop_assert!(text.len() < 16 + 16 || !text[..16].contains(&0) || line.skipped.is_some());
        }
        prop_assert_eq!(reader.next_line().expect("no error"), None);
    }
}

/// Returns this many bytes, then a newline and `end`.
struct Run(u64, &'static [u8]);

impl Read for Run {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = into.len().min(self.0 as usize);
        into[..size].fill(0);
        self.0 -= size as u64;
        if size > 0 || into.is_empty() {
            return Ok(size);
        }
        self.1.read(into)
    }
}

#[test]
fn a_line_is_torn_if_it_is_unterminated_and_not_json() {
    let torn = |bytes, is_terminated, skipped| {
        let line = RawLine { offset: 0, bytes, is_terminated, skipped };
        line.is_torn().expect("memory")
    };
    assert!(torn(b"{\"id\":", false, None) && torn(b" ", false, None));
    assert!(torn(b"", false, Some((Damage::TooLong, 5))));
    assert!(!torn(b"{\"id\":", true, None) && !torn(b"{\"id\":\"a\"}", false, None));
}

#[test]
fn gigabytes_of_zeros_are_not_held() {
    let mut reader = LineReader::new(Run(3 << 30, b"\nnext\n"), 0, HEAD);
    let line = reader.next_line().expect("no error").expect("a line");
    assert_eq!((line.skipped, line.end()), (Some((Damage::NotJson, 3 << 30)), (3 << 30) + 1));
    assert_eq!(reader.next_line().expect("no error").expect("a line").bytes, b"next");
    assert!(reader.into_buffer().len() <= WHOLE);
}
