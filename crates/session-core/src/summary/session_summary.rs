//! The data of a session that a list shows. One pass over its file reads the header, names and messages.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::header_scan::{HeaderLine, JUNK_BEFORE_HEADER};
use super::line_scanner::{FileLines, KeptTexts, ScannedLine};
use super::usage::call::{number, short_text, time};
use super::usage::session_usage::SessionUsage;
use crate::base::escape_sequences::plain_parts;
use crate::base::memory::{self, copy_of, copy_of_bytes, insert_into};
use crate::base::packed;
use crate::base::time::Time;
use crate::base::wtf8::{to_string_lossy, trim};
use crate::format::agent_message::Role;
use crate::format::entry::time_of;
use crate::format::header::{Header, ParentSession, Version};
use crate::io::file_fingerprint::FileFingerprint;
use crate::json::reader::{read, Raw};
use crate::lines::line_reader::{is_stopped, line_text};

/// A session in a list, without its path and texts. Strings are WTF-8.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Its id.
    #[serde(deserialize_with = "packed::bytes")]
    pub id: Vec<u8>,
    /// The working directory; empty if the header has none.
    #[serde(deserialize_with = "packed::bytes")]
    pub cwd: Vec<u8>,
    /// The name in the newest session_info; None if it is empty.
    #[serde(deserialize_with = "packed::maybe_bytes")]
    pub name: Option<Vec<u8>>,
    /// The session that this one was forked or branched from.
    pub parent: Option<ParentSession>,
    /// The JSON text of the header's timestamp.
    #[serde(deserialize_with = "packed::maybe_text")]
    pub created_json: Option<String>,
    /// The time of the newest message of a user or assistant, ms since 1970.
    pub active: Option<f64>,
    /// The JSON texts of timestamps that only JavaScript can parse; the newest of them counts as activity too. `active`
    /// does not include them. Empty in the results of a list, which passes them separately.
    #[serde(deserialize_with = "packed::set_of_texts")]
    pub(crate) unparsed_dates: HashSet<String>,
    /// The number of message entries, of every role and on every branch.
    pub message_count: u64,
    /// The first text of a user.
    #[serde(deserialize_with = "packed::maybe_bytes")]
    pub first_message: Option<Vec<u8>>,
}

impl SessionSummary {
    /// When the session was created, ms since 1970, by its header. None if the header has no ISO time.
    fn created(&self) -> Option<f64> {
        time(self.created_json.as_ref()?.as_bytes())
    }

    /// When the session was modified, ms since 1970, by its lines: the newest activity, else its creation.
    pub(crate) fn modified(&self) -> Option<f64> {
        self.active.filter(|active| *active > 0.0).or_else(|| self.created())
    }
}

/// A session and the state of the file that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSession {
    /// The data that a list shows.
    pub summary: SessionSummary,
    pub(crate) fingerprint: FileFingerprint,
    /// The position after the complete lines, and the hash of the first and last bytes of the file up to there.
    pub(crate) end: u64,
    pub(crate) head_tail_hash: u64,
    /// The usage of its calls; empty if the list did not ask for it.
    pub(crate) usage: SessionUsage,
}

impl ListedSession {
    /// When the session was created, ms since 1970, by its header. None if the header has no ISO time.
    pub fn created(&self) -> Option<f64> {
        self.summary.created()
    }

    /// When the session was modified, ms since 1970: the newest activity, else its creation, else when its file was
    /// modified.
    pub fn modified(&self) -> f64 {
        let Ok(modified) = self.modified_ms(|| Ok::<_, Infallible>(self.created()));
        modified
    }

    /// As [`modified`](Self::modified), as a JavaScript date has it. `header` returns the header's time, which may need
    /// JavaScript's parser.
    #[doc(hidden)]
    pub fn modified_ms<E>(&self, header: impl FnOnce() -> Result<Option<f64>, E>) -> Result<f64, E> {
        let time = match self.summary.active.filter(|active| *active > 0.0) {
            Some(active) => active,
            None => header()?.unwrap_or_else(|| (self.fingerprint.modified_ms() + 0.5).floor()),
        };
        match Time::from_number(time) {
            Time::At(ms) => Ok(ms),
            Time::Unparsed => Ok(f64::NAN),
        }
    }
}

/// Whether a file is a session, by its lines.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
// We box no variant: there is one value for each file, and nearly all files are sessions.
#[allow(clippy::large_enum_variant)]
pub(crate) enum FileKind {
    /// No line so far is JSON.
    #[default]
    Undetermined,
    /// The first line that is JSON is not a header.
    NotASession,
    Session(Version, SessionSummary),
}

impl FileKind {
    /// The summary; None if it is not a session.
    pub(crate) fn into_summary(self) -> Option<SessionSummary> {
        match self {
            FileKind::Session(_, summary) => Some(summary),
            FileKind::Undetermined | FileKind::NotASession => None,
        }
    }
}

/// How far a file was read, and the result so far.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SummaryProgress {
    /// The result of the complete lines.
    pub kind: FileKind,
    /// The usage in the complete lines. The catalog stores it separately.
    #[serde(skip)]
    pub usage: SessionUsage,
    /// The position after the complete lines.
    pub end: u64,
}

impl SummaryProgress {
    /// Adds a line after the header.
    fn add(&mut self, line: &mut ScannedLine) -> io::Result<()> {
        if let FileKind::Session(version, summary) = &mut self.kind {
            self.usage.add(line, *version)?;
            summary.add(line, *version)?;
        }
        Ok(())
    }
}

/// Reads the bytes `progress.end..size` of a file and continues the summary. First calls `complete` with the summary of
/// all complete lines. Then it adds an unterminated line, which another process may still be writing. `buffer` is
/// reused memory. None if a flag in `stops` was set.
pub(crate) fn read_on(
    file: &File,
    size: u64,
    mut progress: SummaryProgress,
    buffer: &mut Box<[u8]>,
    stops: &[&AtomicBool],
    complete: &mut dyn FnMut(&SummaryProgress) -> io::Result<()>,
) -> io::Result<Option<SummaryProgress>> {
    let mut lines = FileLines::new(file, progress.end, size, stops, std::mem::take(buffer));
    let read = read_lines(&mut lines, &mut progress, stops, complete);
    *buffer = lines.scanner.into_buffer();
    if is_stopped(stops) {
        return Ok(None);
    }
    read?;
    progress.usage.sort_largest();
    Ok(Some(progress))
}

fn read_lines(
    lines: &mut FileLines<'_>,
    progress: &mut SummaryProgress,
    stops: &[&AtomicBool],
    complete: &mut dyn FnMut(&SummaryProgress) -> io::Result<()>,
) -> io::Result<()> {
    let mut line = ScannedLine::default();
    while progress.kind != FileKind::NotASession && !lines.scanner.is_done()? && !is_stopped(stops) {
        let (header, is_terminated) = match &progress.kind {
            FileKind::Session(_, summary) => {
                let texts = if summary.first_message.is_none() { KeptTexts::OfUsers } else { KeptTexts::None };
                lines.next_line(texts, &mut line)?;
                (None, line.is_terminated)
            }
            _ => read_header(lines).map(|(kind, is_terminated)| (Some(kind), is_terminated))?,
        };
        if !is_terminated {
            progress.usage.sort_largest();
            complete(progress)?;
        }
        match header {
            Some(kind) => progress.kind = kind,
            None => progress.add(&mut line)?,
        }
        if !is_terminated {
            return Ok(());
        }
        progress.end = lines.scanner.position();
    }
    progress.usage.sort_largest();
    complete(progress)
}

/// Reads a line that may be the header. Returns the kind of file after that line, and whether the line has a newline.
fn read_header(lines: &mut FileLines<'_>) -> io::Result<(FileKind, bool)> {
    let scanner = &mut lines.scanner;
    let offset = scanner.position();
    let kind = match scanner.header_line()? {
        HeaderLine::Header(header) => SessionSummary::of(header),
        HeaderLine::Other => FileKind::NotASession,
        HeaderLine::NoJson => FileKind::Undetermined,
    };
    Ok(match scanner.skip_line_before(offset.max(JUNK_BEFORE_HEADER))? {
        true => (kind, true),
        false if scanner.is_done()? => (kind, false),
        // The header is too long.
        false => (FileKind::NotASession, true),
    })
}

impl SessionSummary {
    fn of(header: Header) -> FileKind {
        let summary = Self {
            id: header.id,
            cwd: header.cwd.unwrap_or_default(),
            name: None,
            parent: header.parent,
            created_json: header.timestamp_json,
            active: None,
            unparsed_dates: HashSet::new(),
            message_count: 0,
            first_message: None,
        };
        FileKind::Session(header.version, summary)
    }

    /// Adds a line.
    fn add(&mut self, line: &mut ScannedLine, version: Version) -> memory::Result<()> {
        if !line.is_entry(version) {
            return Ok(());
        }
        match short_text(&line.kind).as_deref() {
            Some(b"session_info") => {
                let name = line.name.as_deref().map(|name| copy_of_bytes(trim(name))).transpose()?;
                self.name = name.filter(|name| !name.is_empty());
            }
            Some(b"message") => {
                self.message_count += 1;
                self.add_message(line)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn add_message(&mut self, line: &mut ScannedLine) -> memory::Result<()> {
        let role = line.message.role();
        if !role.is_conversation() || !line.message.has_content {
            return Ok(());
        }
        let timestamp = line_text(&line.timestamp)?;
        let entry_time = || time_of(read::<Raw<'_>>(&timestamp).as_ref());
        match number(&line.message.timestamp).map_or_else(entry_time, |ms| Ok(Time::At(ms)))? {
            Time::At(ms) if !ms.is_nan() => self.active = Some(self.active.unwrap_or(0.0).max(ms)),
            Time::At(_) => {}
            Time::Unparsed if self.unparsed_dates.contains(&*timestamp) => {}
            Time::Unparsed => drop(insert_into(&mut self.unparsed_dates, copy_of(&timestamp)?)?),
        }
        if self.first_message.is_none() && role == Role::User {
            self.first_message = line.message.text.take().filter(|text| !text.is_empty());
        }
        Ok(())
    }
}

/// For a session without a name: how many characters of its first message are shown.
const TITLE_CHARS: usize = 200;

/// The start of a first message, without escape sequences. Lone surrogates become U+FFFD.
pub(crate) fn title_of(first_message: &[u8]) -> Vec<u8> {
    // A character has at most four bytes; the other bytes are for escape sequences.
    let beginning = first_message.get(..16 * TITLE_CHARS).unwrap_or(first_message);
    let beginning = to_string_lossy(beginning);
    plain_parts(&beginning).flat_map(str::chars).take(TITLE_CHARS).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests;
