//! Scanning a session file line by line: one pass in a window of fixed size that checks each line to be JSON and reads only
//! the fields that a list shows.
//!
//! Most of a file is tool output and texts that no list shows. They are skipped, whatever their length: neither a line nor a
//! text has to fit into memory. A line of an unusual shape (escaped or repeated keys, a content
//! before its role, a text of more than 4 MB that is kept whole) is [`LineScanError::NeedsFullParse`]: the caller reads it
//! whole, one long line at a time, with the reader that knows every shape.

mod content;
mod error;
pub mod header;
mod scanner;
mod short_value;

pub use self::error::{LineScan, LineScanError};
pub use self::header::HeaderLine;
pub use self::scanner::{FieldSet, LineScanner, ScannedLine};
pub use self::short_value::ShortValue;
