//! Builds the index of a storage: one pass over its lines.

use std::borrow::Cow;

use super::index::{next, Index};
use super::parallel_scan::{scan, with_indexed_line, IndexedLine, Text};
use crate::base::error::Result;
use crate::format::body::Body;
use crate::format::header::Header;
use crate::json::reader::is_json;
use crate::lines::line_reader::{line_text, LineReader, HEAD};
use crate::lines::line_span::LineSpan;
use crate::storage::storage::Storage;

/// A session file that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub header: Header,
    pub header_span: LineSpan,
    /// The header's text, unless it is very long.
    pub header_line: Option<String>,
    pub index: Index,
    /// Whether the last line is unterminated.
    pub is_unterminated: bool,
}

/// Reads a whole storage. None if its first line that is JSON is not a header.
pub(crate) fn load(storage: &dyn Storage) -> Result<Option<Loaded>> {
    let mut reader = LineReader::new(storage.reader(0)?, 0, HEAD);
    let mut index = Index::default();
    let mut is_unterminated;
    let header_line;
    let (header, header_span) = loop {
        let Some(line) = next(&mut reader, storage)? else {
            return Ok(None);
        };
        is_unterminated = !line.is_terminated;
        let text = line_text(line.bytes)?;
        if line.skipped.is_some() || !is_json(&text) {
            with_indexed_line(line, |line, bodies| index.index_line(line, bodies, true))?;
            continue;
        }
        index.lines += 1;
        index.end.set(line.end(), !line.is_terminated);
        match Header::read(&text)? {
            Some(header) => {
                header_line = Some(text).filter(|text| text.len() <= HEAD).map(Cow::into_owned);
                break (header, LineSpan::of(line.offset, line.bytes.len()));
            }
            None => return Ok(None),
        }
    };
    drop(reader);
    let size = storage.size()?;
    let mut each = |line: IndexedLine<Text<'_>>, bodies: &[Body]| {
        is_unterminated = !line.is_terminated;
        index.index_line(line, bodies, true)
    };
    let from = header_span.offset + u64::from(header_span.len) + 1;
    scan(storage, from, size, &mut each)?;
    Ok(Some(Loaded { header, header_span, header_line, index, is_unterminated }))
}

#[cfg(test)]
mod tests;
