use std::io;

use crate::json::scanner::ScanError;

/// Why a line was not scanned to its end.
#[derive(Debug)]
pub enum LineScanError {
    /// It is not a JSON object.
    NotJson,
    /// It may be one, but has a shape that only the full reader reads.
    NeedsFullParse,
    /// It could not be read.
    Io(io::Error),
}

/// The result of scanning a line or a part of it.
pub type LineScan<T> = Result<T, LineScanError>;

impl From<ScanError<io::Error>> for LineScanError {
    fn from(error: ScanError<io::Error>) -> Self {
        match error {
            ScanError::Malformed => LineScanError::NotJson,
            ScanError::TooLong => LineScanError::NeedsFullParse,
            ScanError::Input(error) => LineScanError::Io(error),
        }
    }
}

impl From<io::Error> for LineScanError {
    fn from(error: io::Error) -> Self {
        LineScanError::Io(error)
    }
}
