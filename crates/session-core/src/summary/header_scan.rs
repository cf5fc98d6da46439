//! Reads the header of a session file. A line of any length is read in bounded memory.

use std::io::{self, Read};
use std::path::Path;

use super::line_scanner::LineScanner;
use crate::base::error::{Result, WithCall};
use crate::base::memory::append;
use crate::format::header::{Header, HeaderFields};
use crate::io::open::{self, Access};
use crate::lines::line_reader::line_text;
use crate::storage::storage::Storage;

/// When many files are read: how many bytes of lines that are not JSON may precede a header.
pub(crate) const JUNK_BEFORE_HEADER: u64 = 64 << 20;

/// The longest field of a header, in bytes. A line with a longer field is not a header.
const LONGEST_FIELD: usize = 64 << 20;

/// Reads the header from the first line that is JSON. None if that line is not a header, or if no line is JSON.
pub(crate) fn header_in<R: Read>(source: R) -> io::Result<Option<Header>> {
    header_before(source, u64::MAX)
}

/// Reads the header of the file at `path`, even if its line is very long.
pub(crate) fn header_of(path: &Path) -> io::Result<Option<Header>> {
    header_in(open::regular(path, Access::Read)?)
}

/// As [`header_in`], for one file of many: a very large file without a header is not read to its end.
pub(crate) fn header_among_others<R: Read>(source: R) -> io::Result<Option<Header>> {
    header_before(source, JUNK_BEFORE_HEADER)
}

/// Reads the header of a storage, from its first line that is JSON.
pub(crate) fn first_header(storage: &dyn Storage) -> Result<Option<Header>> {
    header_in(storage.reader(0)?).with_call("read", storage.name())
}

/// As [`header_in`], if the lines before the header have at most `limit` bytes.
fn header_before<R: Read>(source: R, limit: u64) -> io::Result<Option<Header>> {
    let mut lines = LineScanner::for_header(source);
    while !lines.is_done()? {
        match lines.header_line()? {
            HeaderLine::Header(header) => return Ok(Some(header)),
            HeaderLine::Other => return Ok(None),
            HeaderLine::NoJson => {}
        }
        if !lines.skip_line_before(limit)? {
            break;
        }
    }
    Ok(None)
}

/// The class of a line in the search for the header.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HeaderLine {
    Header(Header),
    /// The line is JSON, but not a header.
    Other,
    /// The line is not JSON. A later line may be the header.
    NoJson,
}

impl<R: Read> LineScanner<R> {
    /// Reads a line as a header. The position stays in the line.
    pub(crate) fn header_line(&mut self) -> io::Result<HeaderLine> {
        self.scanner.forget_failure();
        // The line, reduced to the fields that are read.
        let mut fields = b"{".to_vec();
        let mut is_other = self.scanner.next_token()? != Some(b'{');
        let scanned = if is_other {
            self.scanner.skip_value()
        } else {
            let keys = HeaderFields::<()>::KEYS;
            let find = |key: &[u8]| keys.iter().find(|field| field.as_bytes() == key);
            self.scanner.members(find, |scanner, field| {
                let Some(field) = field else { return scanner.skip_value() };
                let Some(value) = scanner.value(LONGEST_FIELD)? else {
                    is_other = true;
                    return Ok(());
                };
                let comma = if fields.len() > 1 { "," } else { "" };
                append(&mut fields, format!("{comma}\"{field}\":").as_bytes())?;
                Ok(append(&mut fields, value)?)
            })
        };
        match scanned {
            Ok(()) if !self.is_blank()? => Ok(HeaderLine::NoJson),
            Ok(()) if is_other => Ok(HeaderLine::Other),
            Ok(()) => {
                append(&mut fields, b"}")?;
                Ok(Header::read(&line_text(&fields)?)?.map_or(HeaderLine::Other, HeaderLine::Header))
            }
            Err(error) => error.cause().map_or(Ok(HeaderLine::NoJson), Err),
        }
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

    /// The class of a line, read as a whole.
    fn read_whole(line: &[u8]) -> HeaderLine {
        let text = String::from_utf8_lossy(line);
        match is_json(&text) {
            false => HeaderLine::NoJson,
            true => Header::read(&text).expect("memory").map_or(HeaderLine::Other, HeaderLine::Header),
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
                HeaderLine::Header(
                    Header::read("{\"type\":\"session\",\"id\":\"\u{fffd}\"}").expect("memory").expect("a header"),
                ),
            ),
        ] {
            assert_eq!(scanned(line), want, "{line:?}");
        }
    }
}
