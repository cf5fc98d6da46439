//! The lines of a session file, unchanged: nothing is migrated.

use crate::base::error::{Error, Result, WithCall};
use crate::base::memory::copy_of;
use crate::format::entry::{read_line, Damage, Line};
use crate::format::header::Version;
use crate::lines::file_window::WHOLE;
use crate::lines::line_reader::{line_text, LineReader};
use crate::storage::storage::Storage;
use crate::summary::header_scan::{first_header, header_among_others};

/// The text of the header. None if the file is not a session, or if more than 64 MiB of damaged lines precede the
/// header.
pub fn header_text(storage: &dyn Storage) -> Result<Option<String>> {
    if header_among_others(storage.reader(0)?).with_call("read", storage.name())?.is_none() {
        return Ok(None);
    }
    let mut lines = LineReader::new(storage.reader(0)?, 0, WHOLE);
    while let Some(line) = lines.next_line().with_call("read", storage.name())? {
        if line.skipped.is_some() {
            continue;
        }
        let text = line_text(line.bytes)?;
        if read_line(&text, |line| matches!(line, Line::Header))? {
            return Ok(Some(copy_of(&text)?));
        }
    }
    Ok(None)
}

/// Calls `each` with the text of the header and of each entry. Calls it for none if the file is not a session. `each`
/// may return errors of another type; `fail` converts our errors into that type.
pub fn each_entry_line<E>(
    storage: &dyn Storage,
    fail: impl Fn(Error) -> E,
    mut each: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let Some(header) = first_header(storage).map_err(&fail)? else {
        return Ok(());
    };
    let mut lines = LineReader::new(storage.reader(0).map_err(&fail)?, 0, WHOLE);
    loop {
        let line = lines.next_line().map_err(|error| fail(Error::io("read", storage.name(), error)))?;
        let Some(line) = line else { return Ok(()) };
        if line.skipped.is_some() {
            continue;
        }
        let text = line_text(line.bytes).map_err(|error| fail(error.into()))?;
        let is_counted = read_line(&text, |line| match line {
            Line::Entry(_) | Line::Header => true,
            // In version 1 entries have no ids.
            Line::Damaged(Damage::NoId) => header.version == Version::V1,
            Line::Damaged(_) | Line::Blank => false,
        });
        if is_counted.map_err(|error| fail(error.into()))? {
            each(&text)?;
        }
    }
}
