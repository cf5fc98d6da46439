//! The text of a line, from the old file or new.

use crate::base::error::Result;
use crate::base::memory::copy_of_bytes;
use crate::lines::line_span::LineSpan;
use crate::storage::storage::{bytes_at, Storage};

/// The source of a line of the new file.
#[derive(Debug, Clone)]
pub(super) enum LineSource {
    /// A line of the old file.
    Same(LineSpan),
    Text(Vec<u8>),
}

/// The bytes of a line.
pub(super) fn bytes_of(storage: &dyn Storage, source: &LineSource) -> Result<Vec<u8>> {
    match source {
        LineSource::Same(span) => bytes_at(storage, *span),
        LineSource::Text(text) => Ok(copy_of_bytes(text)?),
    }
}
