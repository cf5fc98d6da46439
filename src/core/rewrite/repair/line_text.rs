//! The text of a line, of the old file or a new one.

use crate::core::base::error::Result;
use crate::core::io::line_reader::{LONGEST, WHOLE};
use crate::core::io::line_span::LineSpan;
use crate::core::rewrite::verify::Surveyed;
use crate::core::storage::storage::{bytes_at, copy_bytes, Storage};

/// The source of a line of the new file.
#[derive(Debug, Clone)]
pub enum LineSource {
    /// A line of the old file.
    Same(LineSpan),
    Text(Vec<u8>),
}

/// The bytes of a line.
pub fn text_of(storage: &dyn Storage, source: &LineSource) -> Result<Vec<u8>> {
    match source {
        LineSource::Same(place) => bytes_at(storage, *place),
        LineSource::Text(text) => Ok(text.clone()),
    }
}

/// The text of a line; invalid UTF-8 becomes U+FFFD.
pub fn text_at(storage: &dyn Storage, place: LineSpan) -> Result<String> {
    Ok(String::from_utf8(bytes_at(storage, place)?)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The text of an unreadable line without the zeros and white space around it, of which there may be gigabytes. None if
/// it is too long even so.
pub fn unreadable_text(storage: &dyn Storage, line: &Surveyed) -> Result<Option<String>> {
    if line.len <= WHOLE as u64 {
        return text_at(storage, line.place()).map(Some);
    }
    let is_nothing = |byte: &u8| *byte <= b' ';
    let end = line.offset + line.len;
    let (mut from, mut to, mut at) = (end, line.offset, line.offset);
    copy_bytes(storage, line.offset, end, &mut |bytes| {
        if let Some(first) = bytes.iter().position(|byte| !is_nothing(byte)) {
            from = from.min(at + first as u64);
        }
        if let Some(last) = bytes.iter().rposition(|byte| !is_nothing(byte)) {
            to = at + last as u64 + 1;
        }
        at += bytes.len() as u64;
        Ok(())
    })?;
    let len = to.saturating_sub(from);
    match usize::try_from(len).ok().filter(|&len| len <= LONGEST) {
        Some(len) => text_at(storage, LineSpan::of(from.min(to), len)).map(Some),
        None => Ok(None),
    }
}
