//! Making a good file of a damaged one. The original stays beside it; nothing that can be read is given up.
//!
//! - Lines that are no entry leave the file; whole entries inside of them (two lines that were fused, half a line with
//!   a whole one behind it) are taken out of them first.
//! - The children of an unreadable line become children of its parent, if that can still be made out, else of the entry
//!   before it. Other entries whose parent is nowhere become roots, as which they were shown.
//! - Of several entries with one id each but the first gets an id of its own, and what follows it refers to that; an
//!   entry that stands there twice is kept once. Cycles are cut where the tree shows them cut.
//! - A header is taken out of a damaged line like an entry; of half a header id, time and folder are kept. A file without
//!   any gets one. The last line gets its newline.

mod header;
mod relink;
mod salvage;

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;

use self::header::Salvaged;
use self::relink::{Chain, Gap, Record, Source};
use self::salvage::{pieces, Fields};
use super::migrate::Migration;
use super::replace::{write_line, Backup, Original, ReadTo, Renewal};
use super::verify::{entry_in, Found, Keep, Survey, Surveyed, VerifyReport};
use crate::core::base::error::{Error, Result};
use crate::core::format::entry::{EntryHead, Parent};
use crate::core::format::header::Version;
use crate::core::io::line_reader::{LONGEST, WHOLE};
use crate::core::io::line_span::LineSpan;
use crate::core::io::lock_file::FileLock;
use crate::core::rewrite::report::REPORT_LIMIT;
use crate::core::storage::storage::{bytes_at, copy_bytes, Storage};

/// What was put right in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The line in the original, counted from 1.
    pub line: u64,
    pub what: String,
}

/// What a repair did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairReport {
    pub path: String,
    /// Where the original is kept; none if there was nothing to repair.
    pub backup: Option<String>,
    pub before: VerifyReport,
    pub after: VerifyReport,
    /// The first of them, by line.
    pub repairs: Vec<Repair>,
    /// How many there were.
    pub repair_count: u64,
}

/// The repairs made so far, of which the first by line are kept.
#[derive(Debug, Default)]
struct Repairs {
    kept: Vec<Repair>,
    count: u64,
}

impl Repairs {
    fn push(&mut self, repair: Repair) {
        self.count += 1;
        self.kept.push(repair);
        if self.kept.len() >= 2 * REPORT_LIMIT {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.kept.sort_by_key(|repair| repair.line);
        self.kept.truncate(REPORT_LIMIT);
    }

    fn append(&mut self, other: Self) {
        let count = self.count + other.count;
        other.kept.into_iter().for_each(|repair| self.push(repair));
        self.count = count;
    }
}

/// How often a repair begins anew because the file changed meanwhile.
const TRIES: usize = 20;

/// Repairs the session file at an absolute path. A good file is left alone. An error, and nothing changed, if it cannot
/// be read or written, if it is locked by another process, or if nothing of a session is in it. `now` is the time, ms since 1970, and its text.
///
/// Lines that others add meanwhile are carried over as they are. The time this takes, and the length of the new file,
/// grow with that of the old one: nothing of it is passed over more than a fixed number of times.
pub fn repair(path: &str, now: (f64, &str)) -> Result<RepairReport> {
    let good = |report: VerifyReport| {
        let (before, after) = (report.clone(), report);
        Ok(RepairReport { path: path.into(), backup: None, before, after, repairs: Vec::new(), repair_count: 0 })
    };
    let before = super::verify::verify(path)?;
    if before.ok {
        return good(before);
    }
    // What was found without the lock may have changed since.
    let _lock = FileLock::take_for_repair(path)?;
    let mut before = None;
    let mut repairs = Repairs::default();
    let mut backup = None;
    for _ in 0..TRIES {
        let original = Original::hold(path)?;
        let storage = original.storage();
        let survey = Survey::of(storage, Keep::Lines)?;
        let found = survey.report(path);
        let first = before.get_or_insert_with(|| found.clone());
        if found.ok {
            if repairs.count == 0 {
                return good(found);
            }
            return Ok(done(path, first.clone(), found, repairs, backup));
        }
        let header = header::find(storage, &survey, now)?;
        let stated = survey.header.as_ref().map(|header| header.version);
        let version = header.as_ref().map(|header| header.version).or(stated).unwrap_or(Version::Current);
        if version != Version::Current {
            let mut made = Repairs::default();
            made.push(Repair { line: 1, what: "migrated to version 3".into() });
            let mut migration = match header {
                // Line by line: every line keeps its number.
                None => Migration::new(version),
                Some(header) => {
                    header_repair(&header).into_iter().for_each(|repair| made.push(repair));
                    Migration::with_header(version, header.for_migration())
                }
            };
            if let Some(kept) = original.replace(Backup::OldVersion, &mut migration)? {
                backup = backup.or(Some(kept));
                repairs.append(made);
            }
            continue;
        }
        let mut made = Repairs::default();
        let is_something = survey.lines.iter().any(|line| matches!(line.what, Found::Unreadable(_)));
        let is_invented = header.as_ref().is_some_and(|header| header.line.is_none());
        let mut plan = Plan::of(storage, survey, header, &mut made)?;
        if is_something && is_invented && plan.records.is_empty() {
            // Notes, a program, a picture: whatever it is, a session it never was.
            return Err(Error::not_a_session(path));
        }
        if let Some(kept) = original.replace(Backup::Repaired, &mut plan)? {
            backup = backup.or(Some(kept));
            repairs.append(made);
            let after = super::verify::verify(path)?;
            return Ok(done(path, first.clone(), after, repairs, backup));
        }
    }
    Err(Error::changed(path, "others keep writing to it while it is repaired"))
}

fn done(
    path: &str,
    before: VerifyReport,
    after: VerifyReport,
    mut repairs: Repairs,
    backup: Option<PathBuf>,
) -> RepairReport {
    repairs.shorten();
    let backup = backup.map(|path| path.to_string_lossy().into_owned());
    RepairReport { path: path.into(), backup, before, after, repairs: repairs.kept, repair_count: repairs.count }
}

/// What is told of a header that is not a line of its own. Of a whole one its line tells.
fn header_repair(header: &Salvaged) -> Option<Repair> {
    let what = match header.line {
        None => "a header was written",
        Some(_) if !header.whole => "a header was written with what is left of it",
        Some(_) => return None,
    };
    Some(Repair { line: header.line.unwrap_or(1), what: what.into() })
}

/// The new file.
struct Plan {
    header: Source,
    records: Vec<Record>,
    read: ReadTo,
}

impl Plan {
    fn of(storage: &dyn Storage, survey: Survey, salvaged: Option<Salvaged>, repairs: &mut Repairs) -> Result<Self> {
        let mut records: Vec<Record> = Vec::new();
        let mut gaps: Vec<Gap> = Vec::new();
        let mut header = None;
        salvaged.as_ref().and_then(header_repair).into_iter().for_each(|repair| repairs.push(repair));
        let header_line = salvaged.as_ref().filter(|header| header.whole).and_then(|header| header.line);
        for line in &survey.lines {
            match line.what {
                Found::Header if salvaged.is_some() => {
                    repairs
                        .push(Repair { line: line.number, what: "left out: another header stands before it".into() });
                }
                Found::Header => {
                    if !survey.header_leads {
                        repairs
                            .push(Repair { line: line.number, what: "the header was moved to the first line".into() });
                    }
                    header = Some(Source::Same(line.place()));
                }
                Found::Blank => {}
                Found::Entry => {
                    let text = text_at(storage, line.place())?;
                    if let Some(head) = entry_in(&text) {
                        records.push(Record::of(head, Source::Same(line.place()), line.number));
                    }
                }
                Found::Unreadable(fault) => {
                    let text = unreadable_text(storage, line)?;
                    let before = records.len();
                    if text.is_none() {
                        Gap::add(&mut gaps, &Fields::default(), records.len());
                    }
                    for piece in text.as_deref().map(pieces).unwrap_or_default() {
                        match piece.whole().and_then(|whole| Some((whole, salvaged_entry(whole)?))) {
                            Some((whole, head)) => {
                                records.push(Record::of(head, Source::Text(whole.into()), line.number));
                            }
                            None if piece.is_header() => {}
                            None => Gap::add(&mut gaps, piece.fields(), records.len()),
                        }
                    }
                    let what = told(fault.reason(), header_line == Some(line.number), records.len() - before);
                    repairs.push(Repair { line: line.number, what });
                }
            }
        }
        let mut chain = Chain { records, gaps };
        chain.drop_repeated(storage, repairs)?;
        chain.rename_repeated(storage, repairs)?;
        chain.rechain(repairs);
        chain.cut_cycles(repairs);
        if !survey.ends_with_newline {
            let line = survey.count;
            repairs.push(Repair { line, what: "the last line was ended".into() });
        }
        let last = survey.lines.last().filter(|line| matches!(line.what, Found::Unreadable(_)));
        // Blank lines behind it are no part of the survey: it ended then.
        let half = last.filter(|line| line.offset + line.len == survey.bytes && !survey.ends_with_newline);
        let half = half.map(|line| line.offset);
        // Where no header stands as a line of its own, one was salvaged or made.
        let header = header.unwrap_or_else(|| Source::Text(salvaged.map(|header| header.text).unwrap_or_default()));
        Ok(Self { header, records: chain.records, read: ReadTo::all(survey.bytes, half) })
    }
}

impl Renewal for Plan {
    fn write(&mut self, old: &dyn Storage, out: &mut dyn std::io::Write) -> Result<ReadTo> {
        let header = relink::text_of(old, &self.header);
        let records = self.records.iter().map(|record| record.line_text(old));
        for line in std::iter::once(header).chain(records) {
            write_line(out, &line?, true, old.name())?;
        }
        Ok(self.read)
    }

    fn later(&mut self, line: &[u8]) -> Vec<u8> {
        line.to_vec()
    }
}

/// What is told of an unreadable line.
fn told(reason: &str, header: bool, entries: usize) -> String {
    match (header, entries) {
        (false, 0) => format!("left out: {reason}"),
        (false, 1) => "left out but for an entry that stood inside of it".into(),
        (false, count) => format!("left out but for {count} entries that stood inside of it"),
        (true, 0) => "left out but for the header that stood inside of it".into(),
        (true, 1) => "left out but for the header and an entry that stood inside of it".into(),
        (true, count) => format!("left out but for the header and {count} entries that stood inside of it"),
    }
}

/// The head of an entry that stood inside of a line. Blocks inside of messages have types too, and some have ids; parents
/// have entries alone.
fn salvaged_entry(text: &str) -> Option<EntryHead<'static>> {
    entry_in(text).filter(|head| matches!(head.parent, Parent::Null | Parent::Id(_)))
}

fn text_at(storage: &dyn Storage, place: LineSpan) -> Result<String> {
    Ok(String::from_utf8(bytes_at(storage, place)?)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The text of a line that cannot be read, without the zeros and blanks that it begins and ends with, of which there may
/// be gigabytes. None if it is too long even so.
fn unreadable_text(storage: &dyn Storage, line: &Surveyed) -> Result<Option<String>> {
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

/// Ids that were given anew, by what they were.
type Renamed = HashMap<Vec<u8>, Vec<u8>>;

#[cfg(test)]
mod tests;
