//! Verifies a session file: reads every line, and changes nothing.

use std::io::Read;
use std::path::Path;

use serde::Serialize;

use crate::base::error::{Result, WithCall};
use crate::base::memory::{self, collect, push};
use crate::base::paths::absolute_text;
use crate::base::wtf8::copy_lossy;
use crate::format::agent_message::Role;
use crate::format::entry::{is_blank, read_line, Damage, EntryHead, EntryKind, Line, ParentAs};
use crate::format::header::{Header, HeaderFields, Version};
use crate::format::message_head::MessageFields;
use crate::format::other_format::OtherFormat;
use crate::index::damage_report::{FaultReport, Totals};
use crate::index::salvage::{damaged_text, pieces, salvaged_entry};
use crate::index::surveyed_line::{LineClass, SurveyedLine};
use crate::index::unpaired_calls::{unpaired_calls, UnpairedCall};
use crate::json::reader::{is_json, read, Raw};
use crate::json::{fields, Value};
use crate::lines::file_window::WHOLE;
use crate::lines::line_reader::{line_text, LineReader};
use crate::storage::file::FileStorage;
use crate::storage::storage::Storage;
use crate::tree::{RowNo, Tree};

/// The report on a session file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VerifyReport {
    /// The path of the file.
    pub path: String,
    /// Whether there is a header and no damage.
    pub ok: bool,
    /// The format of the file if it is not a session of pi; then no line counts as damaged. None for a session of pi:
    /// its header, or an entry of one of pi's kinds, can be read.
    pub other_format: Option<OtherFormat>,
    /// The version in the header, 1 if it has none; None without a header.
    pub version: Option<f64>,
    /// The session's id; None without a header.
    pub session_id: Option<String>,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The number of lines of every kind, including blank lines and an unterminated one.
    pub lines: u64,
    /// The number of entries.
    pub entries: u64,
    /// The damage of its lines and its tree.
    #[serde(flatten)]
    pub faults: FaultReport,
    /// Whether the last line has a newline, or there is no line.
    pub ends_with_newline: bool,
    /// The first 1,000 tool calls without a result, and results without a call, in the context of the leaf. A provider
    /// may refuse them. They are not damage. Empty for a session of version 1, whose entries have no ids before it is
    /// migrated.
    pub unpaired_calls: Vec<UnpairedCall>,
}

/// A pass over a whole file.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The lines that are not blank.
    pub lines: Vec<SurveyedLine>,
    /// The number of lines.
    pub count: u64,
    pub tree: Tree,
    pub header: Option<Header>,
    /// Whether the header is the first line that is JSON.
    pub header_leads: bool,
    stated_version: Option<f64>,
    pub bytes: u64,
    pub ends_with_newline: bool,
    /// The start of the last line, if it is torn.
    pub torn_line_start: Option<u64>,
    /// The format of the file, if it is not a session of pi.
    pub other_format: Option<OtherFormat>,
    has_entries_of_pi: bool,
    has_messages_of_version_1: bool,
}

/// How much of a file is read to recognize its format. The other formats are recognized by their first lines.
const BEGINNING: u64 = 64 << 10;

/// Verifies the session file at `path` and changes nothing. A relative path is resolved. Fails with `System` if the
/// file does not exist or cannot be read.
pub fn verify(path: impl AsRef<Path>) -> Result<VerifyReport> {
    let path = &absolute_text(path.as_ref())?;
    let storage = FileStorage::open(path)?;
    let survey = Survey::of(&storage)?;
    survey.report(path, &storage)
}

impl Survey {
    /// Reads every line.
    pub(crate) fn of(storage: &dyn Storage) -> Result<Self> {
        Self::of_lines(storage, u64::MAX)
    }

    /// Reads the beginning of the file at `path`, to recognize its format without reading a large file.
    pub(crate) fn of_beginning(path: &Path) -> Result<Self> {
        Self::of_lines(&FileStorage::open(&absolute_text(path)?)?, BEGINNING)
    }

    /// Whether there is a header, or an entry with an id.
    pub(crate) fn has_parts_of_pi(&self) -> bool {
        self.header.is_some() || self.has_entries_of_pi
    }

    /// Reads the lines in the first `limit` bytes.
    fn of_lines(storage: &dyn Storage, limit: u64) -> Result<Self> {
        let mut survey = Self { ends_with_newline: true, ..Self::default() };
        let mut reader = LineReader::new(storage.reader(0)?.take(limit), 0, WHOLE);
        let mut parsed_any = false;
        while let Some(line) = reader.next_line().with_call("read", storage.name())? {
            survey.ends_with_newline = line.is_terminated;
            survey.torn_line_start = line.is_torn()?.then_some(line.offset);
            survey.bytes = line.end();
            survey.count += 1;
            let what = match line.skipped {
                Some((why, _)) => Some(LineClass::Damaged(why)),
                None => line_text(line.bytes).and_then(|text| survey.classify(&text, &mut parsed_any))?,
            };
            if let Some(what) = what {
                let (number, offset, len) = (survey.count, line.offset, line.length());
                push(&mut survey.lines, SurveyedLine { number, offset, len, what })?;
            }
        }
        survey.other_format = survey.other_format_in(storage)?;
        Ok(survey)
    }

    /// The format of the file, if it is not a session of pi. `other_format` is the result of the lines so far.
    fn other_format_in(&self, storage: &dyn Storage) -> Result<Option<OtherFormat>> {
        let found = match self.lines.first() {
            Some(first) if matches!(first.what, LineClass::Damaged(_)) => {
                damaged_text(storage, first)?.and_then(|text| format_of_damaged_first_line(&text))
            }
            _ => None,
        };
        let found = found.or(self.other_format);
        let is_session = match found {
            // In files of these formats, lines after the first may look like pi's.
            Some(OtherFormat::PiAgentCore | OtherFormat::OhMyPi) => false,
            Some(OtherFormat::Events) if !self.has_entries_of_pi => false,
            _ => {
                self.has_parts_of_pi()
                    || found.is_none() && self.has_messages_of_version_1
                    || self.is_pi_in_damaged_lines(storage)?
            }
        };
        let unknown = if self.lines.is_empty() { OtherFormat::Empty } else { OtherFormat::Unknown };
        Ok(if is_session { None } else { Some(found.unwrap_or(unknown)) })
    }

    /// Whether a damaged line contains the rest of a header, or an entry of one of pi's kinds.
    fn is_pi_in_damaged_lines(&self, storage: &dyn Storage) -> Result<bool> {
        for line in self.lines.iter().filter(|line| matches!(line.what, LineClass::Damaged(_))) {
            let text = damaged_text(storage, line)?.unwrap_or_default();
            for piece in pieces(&text) {
                let entry = piece.whole.map_or(Ok(None), salvaged_entry)?;
                if piece.is_header() || entry.is_some_and(|head| is_of_pi(&head)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The class of a line; None if it is blank.
    fn classify(&mut self, text: &str, parsed_any: &mut bool) -> memory::Result<Option<LineClass>> {
        if !*parsed_any && !is_blank(text) && is_json(text) {
            *parsed_any = true;
            self.other_format = OtherFormat::of_first_line(text)?;
            if self.read_header(text)? {
                self.header_leads = true;
                return Ok(Some(LineClass::Header));
            }
        }
        let first_version = self.header.as_ref().is_some_and(|header| header.version == Version::V1);
        let Self { tree, has_entries_of_pi, .. } = &mut *self;
        let found = read_line(text, |line| match line {
            // In version 1 entries have no ids, and so no rows.
            Line::Entry(_) if first_version => Ok(Some(LineClass::Entry)),
            Line::Entry(head) => {
                *has_entries_of_pi |= is_of_pi(&head);
                tree.push(&head, true).map(|_| Some(LineClass::Entry))
            }
            Line::Header => Ok(Some(LineClass::Damaged(Damage::LateHeader))),
            Line::Blank => Ok(None),
            Line::Damaged(Damage::NoId) if first_version => Ok(Some(LineClass::Entry)),
            Line::Damaged(damage) => Ok(Some(LineClass::Damaged(damage))),
        })??;
        if found == Some(LineClass::Damaged(Damage::NoId)) {
            self.has_messages_of_version_1 |= is_message_of_version_1(text)?;
            if self.other_format.is_none() {
                self.other_format = OtherFormat::of_line(text)?;
            }
        }
        // A header that is not in the first line is better than none.
        let late_header = found == Some(LineClass::Damaged(Damage::LateHeader)) && self.header.is_none();
        if late_header && self.read_header(text)? {
            Ok(Some(LineClass::Header))
        } else {
            Ok(found)
        }
    }

    fn read_header(&mut self, text: &str) -> memory::Result<bool> {
        self.header = Header::read(text)?;
        if self.header.is_some() {
            let stated = read::<HeaderFields<Raw<'_>>>(text).and_then(|fields| fields.version?.number());
            self.stated_version = Some(stated.unwrap_or(1.0));
        }
        Ok(self.header.is_some())
    }

    fn unpaired_calls(&self, storage: &dyn Storage) -> Result<Vec<UnpairedCall>> {
        // Entries of version 1 have no rows.
        if self.header.as_ref().is_none_or(|header| header.version == Version::V1) {
            return Ok(Vec::new());
        }
        let rows: Vec<&SurveyedLine> = collect(self.lines.iter().filter(|line| line.what == LineClass::Entry))?;
        unpaired_calls(&self.tree, storage, &|row| rows.get(row as usize).copied())
    }

    /// The report on the file.
    pub(crate) fn report(&self, path: &str, storage: &dyn Storage) -> Result<VerifyReport> {
        // Entries without a row (those of version 1) follow its header, so they follow all entries with a row.
        let entries = self.lines.iter().filter(|line| line.what == LineClass::Entry);
        let row_lines = collect(entries.map(|line| line.number))?;
        let line = |no: RowNo| row_lines.get(no as usize).copied().unwrap_or_default();
        let damaged = self.lines.iter().filter_map(|line| line.damage(self.header_leads));
        let faults = FaultReport::of(&self.tree, &line, damaged)?;
        Ok(VerifyReport {
            path: path.to_owned(),
            ok: self.header.is_some()
                && self.other_format.is_none()
                && faults.totals == Totals::default()
                && self.ends_with_newline,
            other_format: self.other_format,
            version: self.stated_version,
            session_id: self.header.as_ref().map(|header| copy_lossy(&header.id)).transpose()?,
            bytes: self.bytes,
            lines: self.count,
            entries: row_lines.len() as u64,
            faults,
            ends_with_newline: self.ends_with_newline,
            unpaired_calls: self.unpaired_calls(storage)?,
        })
    }
}

/// The format of a file by its damaged first line. None if the rest of the line alone does not decide.
fn format_of_damaged_first_line(text: &str) -> Option<OtherFormat> {
    pieces(text).find_map(|piece| {
        if piece.has("type", b"title") {
            Some(OtherFormat::OhMyPi)
        } else {
            piece.has("kind", b"header").then_some(OtherFormat::PiAgentCore)
        }
    })
}

fields! {
    /// The fields by which a line without an id is known as an entry of version 1.
    struct OldMessage<V> {
        kind: V = "type",
        timestamp: V = "timestamp",
        message: V = "message",
    }
}

/// Whether a line is a message of version 1, whose entries have no ids. Claude Code writes the role as the type, and
/// other programs write messages without pi's time.
fn is_message_of_version_1(text: &str) -> memory::Result<bool> {
    let Some(fields) = read::<OldMessage<Raw<'_>>>(text) else { return Ok(false) };
    let kind = fields.kind.as_ref().map_or(Ok(None), Value::text)?;
    let has_time = fields.timestamp.as_ref().map_or(Ok(None), Value::text)?.is_some();
    let message = fields.message.and_then(|message| read::<MessageFields<Raw<'_>>>(message.get()));
    let head = message.map(|message| message.head()).transpose()?;
    Ok(kind.as_deref() == Some(&b"message"[..]) && has_time && head.is_some_and(|head| head.role != Role::Other))
}

/// Whether an entry has one of pi's kinds. Some of OpenAI's items have an id and the type `message`, but no `message`;
/// lines of other programs have an id and a type such as `label` or `custom`, but no `parentId`.
fn is_of_pi(head: &EntryHead<'_>) -> bool {
    match head.kind {
        EntryKind::Unknown => false,
        EntryKind::Message => head.message.is_some(),
        _ => !matches!(head.parent, ParentAs::Missing),
    }
}
