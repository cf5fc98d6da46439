//! A line that may be the header: only the header's own fields are kept.

use std::io::{self, Read};

use super::content::members;
use super::scanner::LineScanner;
use crate::format::header::Header;
use crate::io::file_window::FileWindow;
use crate::io::line_reader::text_of;
use crate::json::scanner::{ScanError, Scanner};

/// How many bytes a header may have that are kept: its keys and the fields that are read. A line with more is not a header.
const LARGEST: usize = 64 << 20;

/// The fields of a header that the core reads, as keys with their quotes.
const FIELDS: [&[u8]; 7] =
    [b"\"type\"", b"\"id\"", b"\"version\"", b"\"timestamp\"", b"\"cwd\"", b"\"parentSession\"", b"\"branchedFrom\""];

/// The class of a line in the search for the header.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderLine {
    Header(Header),
    /// It is JSON, but not a header.
    Other,
    /// It is not JSON: the header may be in a later one.
    NoJson,
}

impl<R: Read> LineScanner<R> {
    /// Looks for a header in a line. The position is still in the same line then.
    pub fn header_line(&mut self) -> io::Result<HeaderLine> {
        self.scanner.forget_failure();
        match header_or_other(&mut self.scanner) {
            Ok(found) => Ok(found),
            Err(ScanError::Malformed) => Ok(HeaderLine::NoJson),
            Err(ScanError::TooLong) => Ok(HeaderLine::Other),
            Err(ScanError::Input(error)) => Err(error),
        }
    }
}

fn header_or_other<R: Read>(scanner: &mut Scanner<FileWindow<R>>) -> Result<HeaderLine, ScanError<io::Error>> {
    let mut fields = Vec::new();
    match scanner.next_token()? {
        Some(b'{') => members(scanner, &FIELDS, LARGEST, &mut fields)?,
        _ => scanner.skip_value()?,
    }
    match scanner.next_token()? {
        None | Some(b'\n') => Ok(Header::read(&text_of(&fields)).map_or(HeaderLine::Other, HeaderLine::Header)),
        Some(_) => Err(ScanError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::reader::is_json;
    use proptest::prelude::*;

    fn scanned(line: &[u8]) -> HeaderLine {
        LineScanner::for_header(line).header_line().expect("no error")
    }

    /// The line read whole.
    fn read_whole(line: &[u8]) -> HeaderLine {
        let text = text_of(line);
        match is_json(&text) {
            false => HeaderLine::NoJson,
            true => Header::read(&text).map_or(HeaderLine::Other, HeaderLine::Header),
        }
    }

    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => Just("\"session\"".to_owned()),
            1 => Just("\"sess\\u0069on\"".to_owned()),
            1 => Just("\"/a/b\"".to_owned()),
            1 => Just("\"\\ud83d\"".to_owned()),
            1 => Just("3".to_owned()),
            1 => Just("null".to_owned()),
            1 => Just("[1,{\"id\":\"x\"}]".to_owned()),
            1 => Just("{\"type\":\"session\"}".to_owned()),
            1 => Just("\"torn".to_owned()),
            1 => Just("01".to_owned()),
            1 => (5_000usize..20_000).prop_map(|size| format!("\"{}\"", "x".repeat(size))),
        ]
    }

    fn key() -> impl Strategy<Value = &'static str> {
        prop_oneof![
            4 => Just("\"type\""),
            4 => Just("\"id\""),
            1 => Just("\"version\""),
            1 => Just("\"cwd\""),
            1 => Just("\"timestamp\""),
            1 => Just("\"parentSession\""),
            1 => Just("\"branchedFrom\""),
            1 => Just("\"i\\u0064\""),
            1 => Just("\"other\""),
            1 => Just("\"__proto__\""),
        ]
    }

    proptest! {
        #[test]
        fn a_skimmed_header_is_what_the_whole_line_says(
            fields in proptest::collection::vec((key(), value()), 0..6),
            around in (prop_oneof![Just(""), Just(" \t"), Just("{"), Just("["), Just("\u{feff}")], prop_oneof![3 => Just(""), 1 => Just("\r"), 1 => Just("x"), 1 => Just("}")]),
        ) {
            let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{key} : {value}")).collect();
            let line = format!("{}{{{}}}{}", around.0, fields.join(" , "), around.1);
            prop_assert_eq!(scanned(line.as_bytes()), read_whole(line.as_bytes()));
            let cut = line.len() / 2;
            prop_assert_eq!(scanned(&line.as_bytes()[..cut]), read_whole(&line.as_bytes()[..cut]));
        }
    }

    #[test]
    fn what_is_not_an_object_is_not_a_header() {
        for (line, want) in [
            (&b""[..], HeaderLine::NoJson),
            (b"\0\0\0", HeaderLine::NoJson),
            (b"5", HeaderLine::Other),
            (b"\"text\"", HeaderLine::Other),
            (b"[{\"type\":\"session\",\"id\":\"a\"}]\n", HeaderLine::Other),
            (
                b"{\"type\":\"session\",\"id\":\"\xff\"} \n",
                HeaderLine::Header(Header::read("{\"type\":\"session\",\"id\":\"\u{fffd}\"}").expect("a header")),
            ),
        ] {
            assert_eq!(scanned(line), want, "{line:?}");
        }
    }
}
