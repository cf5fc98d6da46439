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
mod tests;
