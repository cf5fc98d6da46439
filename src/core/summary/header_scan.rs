//! The header of a session file, read without holding any line in memory, however long.

use std::io::{self, Read};
use std::path::Path;

use super::line_scanner::header::HeaderLine;
use super::line_scanner::LineScanner;
use crate::base::error::{Error, Result};
use crate::format::header::Header;
use crate::io::open::{self, Access};
use crate::storage::storage::Storage;

/// How far [`header_among_others`] reads for the end of a header, and how many bytes of lines that are not JSON a list skips.
pub const HEADER_WITHIN: u64 = 64 << 20;

/// How many bytes of lines that are not JSON are skipped: a file without a header by then is not a session.
const NO_JSON_WITHIN: u64 = 1 << 20;

/// The header in the first line that parses; None if that line is something else, or there is none.
pub fn header_in<R: Read>(source: R) -> io::Result<Option<Header>> {
    header_before(source, u64::MAX)
}

/// The header of the file at `path`, however long its line is.
pub fn header_of(path: &Path) -> io::Result<Option<Header>> {
    header_in(open::regular(path, Access::Read)?)
}

/// The same for one file of many: a very large file without a header is not read to its end and is not a session.
pub fn header_among_others<R: Read>(source: R) -> io::Result<Option<Header>> {
    header_before(source.take(HEADER_WITHIN), NO_JSON_WITHIN)
}

/// The header in the first line of a storage that parses.
pub fn first_header(storage: &dyn Storage) -> Result<Option<Header>> {
    header_in(storage.reader(0)?).map_err(|error| Error::io("read", storage.name(), error))
}

/// The header in the first line that parses, if the lines before it have at most `limit` bytes.
pub fn header_before<R: Read>(source: R, limit: u64) -> io::Result<Option<Header>> {
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
