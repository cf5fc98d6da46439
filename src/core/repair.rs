//! Making a good file of a damaged one. The original stays beside it; nothing that can be read is given up.
//!
//! - Lines that are no entry leave the file; whole entries inside of them (two lines that were fused, half a line with
//!   a whole one behind it) are taken out of them first.
//! - The children of an unreadable line become children of its parent, if that can still be made out, else of the entry
//!   before it. Other entries whose parent is nowhere become roots, as which they were shown.
//! - Of several entries with one id each but the first gets an id of its own, and what follows it refers to that; an
//!   entry that stands there twice is kept once. Cycles are cut where the tree shows them cut.
//! - A file without a header gets one; the last line gets its newline.

mod chain;
mod salvage;

use std::collections::HashMap;

use serde::Serialize;

use super::error::{Error, Result};
use super::header::{new_header_line, Version};
use super::ids::{check_session_id, session_id};
use super::lock::FileLock;
use super::session::migrate_lines;
use super::storage::{replace_with_backup, Backup, FileStorage, Place, Storage};
use super::verify::{entry_in, Found, Survey, VerifyReport};
use chain::{Chain, Gap, Record, Source};

/// What was put right in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The line in the original, counted from 1.
    pub line: u64,
    pub what: String,
}

/// What a repair did.
#[derive(Debug, Serialize)]
pub struct RepairReport {
    pub path: String,
    /// Where the original is kept; none if there was nothing to repair.
    pub backup: Option<String>,
    pub before: VerifyReport,
    pub after: VerifyReport,
    pub repairs: Vec<Repair>,
}

/// Repairs the session file at an absolute path. A good file is left alone. An error, and nothing changed, if it cannot
/// be read or written, or if it is locked by another process. `now` is the time, ms since 1970, and its text.
pub fn repair(path: &str, now: (f64, &str)) -> Result<RepairReport> {
    let mut storage = FileStorage::open(path)?;
    let mut survey = Survey::of(&storage)?;
    let before = survey.report(path);
    if before.ok {
        return Ok(RepairReport {
            path: path.into(),
            backup: None,
            after: before.clone(),
            before,
            repairs: Vec::new(),
        });
    }
    let _lock = FileLock::take(path)?;
    let mut repairs = Vec::new();
    let mut backup = None;
    let version = survey.header.as_ref().map_or(Version::Current, |header| header.version);
    if version != Version::Current {
        // Line by line: every line keeps its number.
        let kept = replace_with_backup(path, Backup::OldVersion, |out| {
            migrate_lines(&storage, version, &mut |line, ended| {
                let written = out.write_all(line).and_then(|()| out.write_all(if ended { b"\n" } else { b"" }));
                written.map_err(|error| Error::io("write", path, error))
            })
        })?;
        backup = Some(kept);
        repairs.push(Repair { line: 1, what: "migrated to version 3".into() });
        storage = FileStorage::open(path)?;
        survey = Survey::of(&storage)?;
    }
    if !survey.report(path).ok {
        let plan = Plan::of(&storage, &survey, now, &mut repairs)?;
        let kept = replace_with_backup(path, Backup::Repaired, |out| plan.write(&storage, out))?;
        backup = backup.or(Some(kept));
    }
    let after = super::verify::verify(path)?;
    repairs.sort_by_key(|repair| repair.line);
    let backup = backup.map(|path| path.to_string_lossy().into_owned());
    Ok(RepairReport { path: path.into(), backup, before, after, repairs })
}

/// The new file.
struct Plan {
    header: Source,
    records: Vec<Record>,
}

impl Plan {
    fn of(storage: &dyn Storage, survey: &Survey, now: (f64, &str), repairs: &mut Vec<Repair>) -> Result<Self> {
        let mut records: Vec<Record> = Vec::new();
        let mut gaps: Vec<Gap> = Vec::new();
        let mut header = None;
        for line in &survey.lines {
            match line.what {
                Found::Header => {
                    if !survey.header_leads {
                        repairs
                            .push(Repair { line: line.number, what: "the header was moved to the first line".into() });
                    }
                    header = Some(Source::Same(line.place));
                }
                Found::Blank => {}
                Found::Entry(_) => {
                    let text = text_at(storage, line.place)?;
                    if let Some(head) = entry_in(&text) {
                        records.push(Record::of(head, Source::Same(line.place), line.number));
                    }
                }
                Found::Unreadable(reason) => {
                    let text = text_at(storage, line.place)?;
                    let salvaged = salvage::entries(&text);
                    let what = match salvaged.len() {
                        0 => format!("left out: {reason}"),
                        1 => "left out but for an entry that stood inside of it".into(),
                        count => format!("left out but for {count} entries that stood inside of it"),
                    };
                    repairs.push(Repair { line: line.number, what });
                    if salvage::is_gap(&text, &salvaged) {
                        let before = salvaged.first().map_or(text.len(), |(at, _)| *at);
                        gaps.push(Gap::of(text.get(..before).unwrap_or(&text), records.len()));
                    }
                    for (_, entry) in salvaged {
                        if let Some(head) = entry_in(&entry) {
                            records.push(Record::of(head, Source::Text(entry.into_bytes()), line.number));
                        }
                    }
                }
            }
        }
        let mut chain = Chain { records, gaps };
        chain.drop_repeated(storage, repairs)?;
        chain.rename_repeated(repairs);
        chain.rechain(repairs);
        chain.cut_cycles(repairs);
        let header = match header {
            Some(header) => header,
            None => {
                repairs.push(Repair { line: 1, what: "a header was written".into() });
                Source::Text(header_for(storage.name(), now))
            }
        };
        if !survey.ends_with_newline {
            let line = survey.lines.len() as u64;
            repairs.push(Repair { line, what: "the last line was ended".into() });
        }
        Ok(Self { header, records: chain.records })
    }

    fn write(&self, storage: &dyn Storage, out: &mut dyn std::io::Write) -> Result<()> {
        let fail = |error| Error::io("write", storage.name(), error);
        let header = chain::text_of(storage, &self.header);
        let records = self.records.iter().map(|record| record.line_text(storage));
        for line in std::iter::once(header).chain(records) {
            let mut line = line?;
            line.push(b'\n');
            out.write_all(&line).map_err(fail)?;
        }
        Ok(())
    }
}

/// A header for a file that has lost its own: the id is the one in the file's name.
fn header_for(path: &str, (ms, now): (f64, &str)) -> Vec<u8> {
    let name = std::path::Path::new(path).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let id = name.split_once('_').map(|(_, id)| id).filter(|id| check_session_id(id.as_bytes()).is_ok());
    let id = id.map_or_else(|| session_id(ms), str::to_owned);
    new_header_line(&id, now, "", None)
}

fn bytes_at(storage: &dyn Storage, place: Place) -> Result<Vec<u8>> {
    let mut bytes = vec![0; place.len as usize];
    storage.read_at(place.offset, &mut bytes)?;
    Ok(bytes)
}

fn text_at(storage: &dyn Storage, place: Place) -> Result<String> {
    Ok(String::from_utf8(bytes_at(storage, place)?)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Ids that were given anew, by what they were.
type Renamed = HashMap<Vec<u8>, Vec<u8>>;

#[cfg(test)]
mod tests;
