//! Checking a session file without changing anything.

use serde::Serialize;

use super::diagnostics::{described, Cycle, Damaged, DuplicateId, Orphan};
use super::entry::{is_blank, read_line, Damage, EntryHead, Line};
use super::error::{Error, Result};
use super::header::{Header, HeaderFields, Version};
use super::json::{is_json, read, Raw, Value};
use super::lines::{text_of, LineReader, WHOLE};
use super::storage::{FileStorage, Place, Storage};
use super::text::shown;
use super::tree::{RowNo, Tree};

/// What a session file is found to be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    pub path: String,
    /// Whether there is a header and nothing is wrong.
    pub ok: bool,
    /// The version that the header states, 1 if it states none; none without a header.
    pub version: Option<f64>,
    pub session_id: Option<String>,
    pub bytes: u64,
    /// Lines of every kind, blank ones and one without a newline among them.
    pub lines: u64,
    pub entries: u64,
    pub damaged: Vec<Damaged>,
    pub orphans: Vec<Orphan>,
    pub duplicate_ids: Vec<DuplicateId>,
    pub cycles: Vec<Cycle>,
    pub ends_with_newline: bool,
}

/// Why a line is unreadable that lacks an id alone.
pub const NO_ID: &str = Damage::NoId.reason();

/// One line of the file, and what it is taken for.
#[derive(Debug)]
pub struct Surveyed {
    pub number: u64,
    pub place: Place,
    pub what: Found,
}

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// The session's header, though it may stand in the wrong place.
    Header,
    /// An entry with its row; in version 1 it has none.
    Entry(Option<RowNo>),
    Blank,
    Unreadable(&'static str),
}

/// A whole file, line by line.
#[derive(Debug)]
pub struct Survey {
    pub lines: Vec<Surveyed>,
    pub tree: Tree,
    pub header: Option<Header>,
    /// Whether the header is the first line that parses.
    pub header_leads: bool,
    stated_version: Option<f64>,
    pub bytes: u64,
    pub ends_with_newline: bool,
}

/// Checks the session file at an absolute path. Nothing is changed; an error if it cannot be read.
pub fn verify(path: &str) -> Result<VerifyReport> {
    Ok(Survey::of(&FileStorage::open(path)?)?.report(path))
}

impl Survey {
    /// Reads every line.
    pub fn of(storage: &dyn Storage) -> Result<Self> {
        let mut survey = Self {
            lines: Vec::new(),
            tree: Tree::default(),
            header: None,
            header_leads: false,
            stated_version: None,
            bytes: 0,
            ends_with_newline: true,
        };
        let mut reader = LineReader::new(storage.reader(0)?, 0, WHOLE);
        let mut parsed_any = false;
        while let Some(line) = reader.next_line().map_err(|error| Error::io("read", storage.name(), error))? {
            survey.ends_with_newline = line.ended;
            let place = Place::of(line.offset, line.bytes.len());
            survey.bytes = place.end() + u64::from(line.ended);
            let text = text_of(line.bytes);
            let what = survey.take(&text, &mut parsed_any);
            let number = survey.lines.len() as u64 + 1;
            survey.lines.push(Surveyed { number, place, what });
        }
        Ok(survey)
    }

    fn take(&mut self, text: &str, parsed_any: &mut bool) -> Found {
        if !*parsed_any && !is_blank(text) && is_json(text) {
            *parsed_any = true;
            if self.take_header(text) {
                self.header_leads = true;
                return Found::Header;
            }
        }
        let first_version = self.header.as_ref().is_some_and(|header| header.version == Version::V1);
        let tree = &mut self.tree;
        let found = read_line(text, |line| match line {
            Line::Entry(_) if first_version => Found::Entry(None),
            Line::Entry(head) => Found::Entry(Some(tree.push(&head, true))),
            Line::Header => Found::Unreadable("a header that is not in the first line"),
            Line::Blank => Found::Blank,
            Line::Damaged(Damage::NoId) if first_version => Found::Entry(None),
            Line::Damaged(damage) => Found::Unreadable(damage.reason()),
        });
        // A header in the wrong place is better than none.
        let late_header = found == Found::Unreadable("a header that is not in the first line") && self.header.is_none();
        match late_header && self.take_header(text) {
            true => Found::Header,
            false => found,
        }
    }

    fn take_header(&mut self, text: &str) -> bool {
        self.header = Header::read(text);
        if self.header.is_some() {
            let fields = read::<HeaderFields<Raw<'_>>>(text).ok();
            let stated = fields.and_then(|fields| fields.version?.number());
            self.stated_version = Some(stated.unwrap_or(1.0));
        }
        self.header.is_some()
    }

    /// The line of each row.
    pub fn row_lines(&self) -> Vec<u64> {
        let rows = self.lines.iter().filter(|line| matches!(line.what, Found::Entry(Some(_))));
        rows.map(|line| line.number).collect()
    }

    /// The report on the file.
    pub fn report(&self, path: &str) -> VerifyReport {
        let numbers = self.row_lines();
        let line = |no: RowNo| numbers.get(no as usize).copied().unwrap_or_default();
        let (orphans, duplicate_ids, cycles) = described(&self.tree, &line);
        let mut damaged: Vec<Damaged> = Vec::new();
        for line in &self.lines {
            let reason = match line.what {
                Found::Unreadable(reason) => reason,
                Found::Header if !self.header_leads => "a header that is not in the first line",
                _ => continue,
            };
            damaged.push(Damaged { line: line.number, start: line.place.offset, end: line.place.end(), reason });
        }
        let sound = damaged.is_empty() && orphans.is_empty() && duplicate_ids.is_empty() && cycles.is_empty();
        VerifyReport {
            path: path.to_owned(),
            ok: self.header.is_some() && sound && self.ends_with_newline,
            version: self.stated_version,
            session_id: self.header.as_ref().map(|header| shown(&header.id).into_owned()),
            bytes: self.bytes,
            lines: self.lines.len() as u64,
            entries: self.lines.iter().filter(|line| matches!(line.what, Found::Entry(_))).count() as u64,
            damaged,
            orphans,
            duplicate_ids,
            cycles,
            ends_with_newline: self.ends_with_newline,
        }
    }
}

/// The head of an entry in a text; None if it is none.
pub fn entry_in(text: &str) -> Option<EntryHead<'static>> {
    read_line(text, |line| match line {
        Line::Entry(head) => Some(head.into_owned()),
        _ => None,
    })
}
