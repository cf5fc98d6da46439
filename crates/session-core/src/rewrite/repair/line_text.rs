//! The text of a line, of the old file or a new one.

use crate::base::error::Result;
use crate::base::memory::copy_of_bytes;
use crate::index::verify::SurveyedLine;
use crate::io::line_reader::owned_text;
use crate::io::line_span::LineSpan;
use crate::storage::storage::{bytes_at, Storage};

/// The source of a line of the new file.
#[derive(Debug, Clone)]
pub enum LineSource {
    /// A line of the old file.
    Same(LineSpan),
    Text(Vec<u8>),
}

/// The bytes of a line.
pub fn bytes_of(storage: &dyn Storage, source: &LineSource) -> Result<Vec<u8>> {
    match source {
        LineSource::Same(span) => bytes_at(storage, *span),
        LineSource::Text(text) => Ok(copy_of_bytes(text)?),
    }
}

/// Longer damaged lines are not searched for entries. After a power failure, or in a sparse file, a line may be any number of zeros.
const MAX_SEARCHED_BYTES: u64 = 64 << 20;

/// The text of a damaged line, in which invalid UTF-8 becomes U+FFFD; None if it is too long.
pub fn damaged_text(storage: &dyn Storage, line: &SurveyedLine) -> Result<Option<String>> {
    if line.len > MAX_SEARCHED_BYTES {
        return Ok(None);
    }
    Ok(Some(owned_text(bytes_at(storage, line.span())?)?))
}
