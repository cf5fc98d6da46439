//! The content of the repaired file: the header and the entries that stay.

use super::header::SalvagedHeader;
use super::kept_entry::KeptEntry;
use super::line_text::{bytes_of, LineSource};
use super::relink::Relinker;
use super::repair_log::RepairLog;
use crate::base::error::{Error, Result};
use crate::base::memory::copy_of_bytes;
use crate::index::salvage::{damaged_text, pieces, salvaged_entry, Fields};
use crate::index::surveyed_line::{entry_in, LineClass, SurveyedLine};
use crate::index::verify::Survey;
use crate::lines::line_reader::line_text;
use crate::rewrite::replace::{write_line, ReadTo, Rewrite};
use crate::storage::storage::{bytes_at, Storage};

/// The content of the new file.
pub(super) struct RepairPlan {
    header: LineSource,
    pub entries: Vec<KeptEntry>,
    read: ReadTo,
}

impl RepairPlan {
    pub(super) fn of(
        storage: &dyn Storage,
        survey: Survey,
        salvaged: Option<SalvagedHeader>,
        repairs: &mut RepairLog,
    ) -> Result<Self> {
        let mut relinker = Relinker::default();
        let mut header = None;
        match salvaged.as_ref().map(|header| (header.line, header.whole)) {
            Some((None, _)) => repairs.push(1, &["a header was written"])?,
            Some((Some(line), false)) => {
                repairs.push(line, &["a header was written with what is left of it"])?;
            }
            // A whole header is reported with its line.
            Some((Some(_), true)) | None => {}
        }
        let header_line = salvaged.as_ref().filter(|header| header.whole).and_then(|header| header.line);
        for line in &survey.lines {
            match line.what {
                LineClass::Header if salvaged.is_some() => {
                    repairs.push(line.number, &["removed: the file has an earlier header"])?;
                }
                LineClass::Header => {
                    if !survey.header_leads {
                        repairs.push(line.number, &["the header was moved to the first line"])?;
                    }
                    header = Some(LineSource::Same(line.span()));
                }
                LineClass::Entry => {
                    let bytes = bytes_at(storage, line.span())?;
                    if let Some(head) = line_text(&bytes).and_then(|text| entry_in(&text))? {
                        let entry = KeptEntry::of(head, LineSource::Same(line.span()), line.number);
                        relinker.push(entry, &bytes, storage, repairs)?;
                    }
                }
                LineClass::Damaged(fault) => {
                    let entries = salvage(storage, line, &mut relinker, repairs)?;
                    let what = describe(fault.reason(), header_line == Some(line.number), entries);
                    repairs.push(line.number, &[&what])?;
                }
            }
        }
        relinker.rename_repeated(storage, repairs)?;
        relinker.relink(repairs)?;
        relinker.cut_cycles(repairs)?;
        if !survey.ends_with_newline {
            repairs.push(survey.count, &["added the missing final newline"])?;
        }
        let header = header.or_else(|| salvaged.map(|header| LineSource::Text(header.text)));
        let header = header.ok_or_else(|| Error::internal("a file without a header got none"))?;
        let read = ReadTo::all(survey.bytes, survey.torn_line_start);
        Ok(Self { header, entries: relinker.entries, read })
    }
}

impl Rewrite for RepairPlan {
    fn write(&mut self, old: &dyn Storage, out: &mut dyn std::io::Write) -> Result<ReadTo> {
        let header = bytes_of(old, &self.header);
        let entries = self.entries.iter().map(|entry| entry.line_text(old));
        for line in std::iter::once(header).chain(entries) {
            write_line(out, &line?, true, old.name())?;
        }
        Ok(self.read)
    }
}

/// Salvages the entries in a damaged line. Returns how many there are.
fn salvage(
    storage: &dyn Storage,
    line: &SurveyedLine,
    relinker: &mut Relinker,
    repairs: &mut RepairLog,
) -> Result<usize> {
    let Some(text) = damaged_text(storage, line)? else {
        relinker.push_missing(&Fields::default())?;
        return Ok(0);
    };
    let mut entries = 0;
    for piece in pieces(&text) {
        let head = piece.whole.map_or(Ok(None), salvaged_entry)?;
        match piece.whole.zip(head) {
            Some((whole, head)) => {
                entries += 1;
                let text = copy_of_bytes(whole.as_bytes())?;
                let entry = KeptEntry::of(head, LineSource::Text(text), line.number);
                relinker.push(entry, whole.as_bytes(), storage, repairs)?;
            }
            None if piece.is_header() => {}
            None => relinker.push_missing(&piece.fields)?,
        }
    }
    Ok(entries)
}

/// The report's sentence about a damaged line.
fn describe(reason: &str, header: bool, entries: usize) -> String {
    match (header, entries) {
        (false, 0) => format!("removed: {reason}"),
        (false, 1) => "removed, but for 1 entry inside it".into(),
        (false, count) => format!("removed, but for {count} entries inside it"),
        (true, 0) => "removed, but for the header inside it".into(),
        (true, 1) => "removed, but for the header and 1 entry inside it".into(),
        (true, count) => format!("removed, but for the header and {count} entries inside it"),
    }
}
