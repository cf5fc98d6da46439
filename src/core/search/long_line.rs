//! Lines that are too long to be held in memory: they are read without their long strings, which are decoded piece by piece.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicBool;

use memchr::memchr;

use crate::base::memory::{append, reserve};
use crate::base::wtf8::to_string_lossy;
use crate::io::file_window::FileWindow;
use crate::io::fs::read_at;
use crate::io::line_reader::{is_stopped, text_of, Positioned};
use crate::json::scanner::Scanner;
use crate::json::short_string_bytes;

/// From this length on a string is left out.
const LONG_STRING: usize = 64 << 10;

/// How much of a line is kept before strings are left out from another length on, and that length.
const LARGE: usize = 4 << 20;
const LONG_STRING_OF_LARGE: usize = 1 << 10;

/// How much of a long string is decoded at once.
const PIECE: usize = 256 << 10;

/// A line whose long strings are empty, without white space between its values, and with 0 for each number.
pub struct ShortenedLine {
    pub text: String,
    /// The strings that were left out: where each is in `text`, and its offsets in the file, without quotes.
    long: Vec<(usize, u64, u64)>,
}

impl ShortenedLine {
    /// Reads the line that starts at an offset of a file; None if it is not JSON.
    pub fn read(
        (file, size): (&File, u64),
        from: u64,
        buffer: &mut Box<[u8]>,
        stops: &[&AtomicBool],
    ) -> io::Result<Option<Self>> {
        let window = |buffer| FileWindow::new(Positioned::new(file, from, size, stops), buffer);
        let mut scanner = Scanner::new(window(std::mem::take(buffer)));
        let skipped = scanner.skip_value();
        let is_json = match skipped {
            Ok(()) => matches!(scanner.next_token()?, None | Some(b'\n')),
            Err(error) => match error.cause() {
                Some(error) => return Err(error),
                None => false,
            },
        };
        let mut scanner = Scanner::new(window(scanner.input.into_buffer()));
        let line = if is_json { shorten(&mut scanner, from)? } else { None };
        *buffer = scanner.input.into_buffer();
        Ok(line)
    }

    /// The offsets of a string of the line's text that was left out.
    pub fn long_string(&self, json: &str) -> Option<(u64, u64)> {
        let at = (json.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let found = self.long.binary_search_by_key(&at, |(at, ..)| *at).ok()?;
        self.long.get(found).map(|(_, from, to)| (*from, *to))
    }
}

/// Copies a line that is known to be JSON without its long strings. None if it was changed since and is not JSON any more.
fn shorten(scanner: &mut Scanner<FileWindow<Positioned<'_>>>, offset: u64) -> io::Result<Option<ShortenedLine>> {
    let mut text = Vec::new();
    let mut long = Vec::new();
    let mut in_number = false;
    let position = |scanner: &Scanner<FileWindow<_>>| offset + scanner.input.dropped() + scanner.at() as u64;
    loop {
        match scanner.peek()? {
            None | Some(b'\n') => break,
            Some(b'"') => {
                let from = position(scanner);
                in_number = false;
                let longest = if text.len() < LARGE { LONG_STRING } else { LONG_STRING_OF_LARGE };
                match scanner.value(longest) {
                    Ok(Some(string)) => append(&mut text, text_of(string).as_bytes())?,
                    Ok(None) => {
                        reserve(&mut long, 1)?;
                        long.push((text.len(), from + 1, position(scanner) - 1));
                        append(&mut text, b"\"\"")?;
                    }
                    Err(error) => return error.cause().map_or(Ok(None), Err),
                }
            }
            Some(byte) => {
                let is_part = in_number && matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                in_number = is_part || matches!(byte, b'0'..=b'9' | b'-');
                if !is_part && !byte.is_ascii_whitespace() {
                    append(&mut text, &[if in_number { b'0' } else { byte }])?;
                }
                scanner.skip_byte();
            }
        }
    }
    Ok(String::from_utf8(text).ok().map(|text| ShortenedLine { text, long }))
}

/// Calls `each` with the text of a long string, in pieces. Each begins with at least the last `overlap` bytes of the one before.
pub fn each_piece(
    file: &File,
    (from, to): (u64, u64),
    overlap: usize,
    stops: &[&AtomicBool],
    each: &mut dyn FnMut(&str),
) -> io::Result<()> {
    let size = PIECE.max(4 * overlap).min(usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX));
    let (mut json, mut text) = (vec![0; size], String::new());
    // How many bytes of `json` are left from the piece before.
    let (mut left, mut offset) = (0, from);
    loop {
        if is_stopped(stops) {
            return Ok(());
        }
        let wanted = usize::try_from(to - offset).unwrap_or(usize::MAX).min(size - left);
        let read = read_at(file, offset, json.get_mut(left..left + wanted).unwrap_or_default())?;
        offset += read as u64;
        let filled = left + read;
        let is_last = read == 0 || offset >= to;
        let inside = json.get(..filled).unwrap_or_default();
        let end = if is_last { filled } else { safe_end(inside) };
        text.push_str(&decoded(inside.get(..end).unwrap_or_default()));
        each(&text);
        if is_last {
            return Ok(());
        }
        let kept = text.len().saturating_sub(overlap);
        let kept = (0..=kept).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.drain(..kept);
        json.copy_within(end..filled, 0);
        left = filled - end;
    }
}

/// The text of a part of a JSON string.
fn decoded(inside: &[u8]) -> String {
    let mut json = String::with_capacity(inside.len() + 2);
    json.push('"');
    json.push_str(&String::from_utf8_lossy(inside));
    json.push('"');
    short_string_bytes(&json).map(|text| to_string_lossy(&text).into_owned()).unwrap_or_default()
}

/// Where a part of a JSON string can be cut: not within a character, an escape or a pair of surrogates.
fn safe_end(inside: &[u8]) -> usize {
    let mut at = 0;
    while let Some(escape) = memchr(b'\\', inside.get(at..).unwrap_or_default()).map(|length| at + length) {
        let is_unit = inside.get(escape + 1) == Some(&b'u');
        let is_high = is_unit
            && matches!(
                inside.get(escape + 2..escape + 4),
                Some([b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B'])
            );
        let length = if is_unit { 6 } else { 2 };
        if escape + if is_high { 12 } else { length } > inside.len() {
            return escape;
        }
        at = escape + length;
    }
    // The last character begins at most three bytes before the end.
    let lead = (1..=3)
        .find(|back| inside.len().checked_sub(*back).and_then(|at| inside.get(at)).is_some_and(|byte| *byte >= 0xc0));
    let starts_before_escape = |back: &usize| inside.len() - back >= at;
    lead.filter(starts_before_escape).map_or(inside.len(), |back| inside.len() - back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    proptest! {
        /// A cut anywhere changes nothing.
        #[test]
        fn a_string_is_cut_between_characters(pieces in prop::collection::vec(prop::sample::select(vec!["a", "\u{e9}", "日", "🙂", "\\n", "\\\\", "\\\"", "\\u00e9", "\\ud83d\\ude42", "\\ud83d", "\\ude42"]), 0..30), at in 0usize..200) {
            let json = pieces.concat();
            let cut = json.as_bytes().get(..at.min(json.len())).expect("a part");
            let end = safe_end(cut);
            prop_assert!(cut.len() - end < 12);
            let both = decoded(&cut[..end]) + &decoded(&json.as_bytes()[end..]);
            prop_assert_eq!(both, decoded(json.as_bytes()));
        }
    }

    #[test]
    fn a_long_string_is_left_out_and_decoded_in_pieces() {
        let long = "many \\u00e9 words\\n".repeat(40_000);
        let line = format!(r#"{{"type":"message","id":"a" ,"x":["{long}" ,	"short 1.5 x",-1.5e+7, 0,true,null ]}}"#);
        let mut file = tempfile::tempfile().expect("a file");
        write!(file, "first\n{line}\nlast").expect("written");
        let size = file.metadata().expect("metadata").len();
        let read = ShortenedLine::read((&file, size), 6, &mut Box::default(), &[]).expect("read").expect("JSON");
        assert_eq!(read.text, r#"{"type":"message","id":"a","x":["","short 1.5 x",0,0,true,null]}"#);
        let at = read.text.find("\"\"").expect("there");
        let span = read.long_string(&read.text[at..]).expect("left out");
        assert_eq!(read.long_string(&read.text[1..]), None);
        let mut whole = String::new();
        let mut each = |piece: &str| {
            let is_overlap = |end: &usize| piece.is_char_boundary(*end) && whole.ends_with(&piece[..*end]);
            let overlap = if whole.is_empty() { 0 } else { (100..104).find(is_overlap).expect("an overlap") };
            whole.push_str(&piece[overlap..]);
        };
        each_piece(&file, span, 100, &[], &mut each).expect("read");
        assert_eq!(whole, "many é words\n".repeat(40_000));
        assert!(ShortenedLine::read((&file, size), 0, &mut Box::default(), &[]).expect("read").is_none());
        // It was changed after it was found to be JSON: it ends within a string.
        let cut = Positioned::new(&file, 6, 100, &[]);
        let mut scanner = Scanner::new(FileWindow::new(cut, Box::default()));
        assert!(shorten(&mut scanner, 6).expect("no error").is_none());
    }
}
