//! What a list shows of a session: one pass over its file that reads the header, names and messages.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::AtomicBool;
use std::sync::Mutex;

use super::line_scanner::header::HeaderLine;
use super::line_scanner::{FieldSet, LineScanError, LineScanner, ScannedLine};
use crate::base::threads::locked;
use crate::base::time::Time;
use crate::base::unparsed_dates::UnparsedDates;
use crate::base::wtf8::trim;
use crate::format::agent_message::{AgentMessage, Role};
use crate::format::entry::{read_message, time_of};
use crate::format::header::{Header, ParentSession, Version};
use crate::io::file_fingerprint::FileFingerprint;
use crate::io::line_reader::{is_stopped, text_of, Positioned};
use crate::json::reader::{read, Raw};
use crate::json::{fields, string_bytes, Value};
use crate::summary::header_scan::HEADER_WITHIN;
use crate::summary::signature::Signature;
use crate::summary::usage::session_usage::SessionUsage;

fields! {
    /// The fields of an entry that a list reads.
    struct ListedFields<V> {
        kind: V = "type",
        id: V = "id",
        timestamp: V = "timestamp",
        message: V = "message",
        name: V = "name",
    }
}

/// A session as a list shows it, without its path and texts. Strings are WTF-8.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    pub id: Vec<u8>,
    /// Empty for a header without one.
    pub cwd: Vec<u8>,
    /// The newest session_info's name, unless it is empty.
    pub name: Option<Vec<u8>>,
    pub parent: Option<ParentSession>,
    /// The JSON text of the header's timestamp.
    pub created: Option<String>,
    /// The newest user or assistant activity, ms since 1970.
    pub active: Option<f64>,
    /// Entry timestamps that only JavaScript can parse; the newest of them counts as activity.
    pub unparsed_dates: UnparsedDates,
    /// Message entries of every role on every branch.
    pub message_count: u64,
    /// The first text of a user.
    pub first_message: Option<Vec<u8>>,
}

/// A session and the state of the file that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSession {
    pub summary: SessionSummary,
    pub fingerprint: FileFingerprint,
    /// Where the complete lines end, and the [`head_tail_hash`](crate::io::head_tail_hash) of the file up to there.
    pub end: u64,
    pub head_tail_hash: u64,
    /// What its calls used; empty if the list was not asked for it.
    pub usage: SessionUsage,
}

impl ListedSession {
    /// When the session was modified, ms since 1970, as a date has it: its newest activity, else the time of its header if that
    /// is a date, else that of its file. `header` is asked for the header's time, which may take JavaScript.
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

/// What a file is, by its lines.
#[derive(Debug, Clone, PartialEq)]
pub enum FileKind {
    /// No line is JSON so far.
    Undetermined,
    /// The first line that is JSON is not a header.
    NotASession,
    Session(Version, SessionSummary),
}

impl FileKind {
    /// The summary; None if it is not a session.
    pub fn summary(&self) -> Option<&SessionSummary> {
        match self {
            FileKind::Session(_, info) => Some(info),
            FileKind::Undetermined | FileKind::NotASession => None,
        }
    }

    /// The same, by value.
    pub fn into_summary(self) -> Option<SessionSummary> {
        match self {
            FileKind::Session(_, info) => Some(info),
            FileKind::Undetermined | FileKind::NotASession => None,
        }
    }
}

/// How far a file was read.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryProgress {
    /// What the complete lines say.
    pub kind: FileKind,
    /// What its calls used, by the complete lines.
    pub usage: SessionUsage,
    /// Where they end.
    pub end: u64,
    /// The signature of all lines; None if it is not made, or cannot be.
    pub signature: Option<Signature>,
}

impl Default for SummaryProgress {
    fn default() -> Self {
        Self { kind: FileKind::Undetermined, usage: SessionUsage::default(), end: 0, signature: None }
    }
}

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryScan {
    pub progress: SummaryProgress,
    /// The same with the unterminated line, if there is one.
    pub with_unterminated_line: Option<(FileKind, SessionUsage)>,
}

impl SummaryScan {
    /// The summary; None if it is not a session.
    pub fn summary(&self) -> Option<&SessionSummary> {
        self.with_unterminated_line.as_ref().map_or(&self.progress.kind, |(kind, _)| kind).summary()
    }

    /// What its calls used.
    pub fn usage(&self) -> &SessionUsage {
        self.with_unterminated_line.as_ref().map_or(&self.progress.usage, |(_, usage)| usage)
    }
}

/// Reads a file's bytes `progress.end..size` and continues the summary. `buffer` is reused memory. None if `cancelled` was set.
pub fn read_on(
    file: &File,
    size: u64,
    mut progress: SummaryProgress,
    buffer: &mut Box<[u8]>,
    cancelled: &AtomicBool,
) -> io::Result<Option<SummaryScan>> {
    let stops = [cancelled];
    let source = Positioned::new(file, progress.end, size, &stops);
    let mut lines = LineScanner::new(source, progress.end, std::mem::take(buffer));
    lines.signature = progress.signature.take();
    let mut found = read_lines(file, progress, &mut lines, &stops);
    if let Ok(Some(found)) = &mut found {
        found.progress.signature = lines.signature.take();
        found.progress.usage.sort_largest();
        found.with_unterminated_line.iter_mut().for_each(|(_, usage)| usage.sort_largest());
    }
    *buffer = lines.into_buffer();
    match is_stopped(&stops) {
        true => Ok(None),
        false => found,
    }
}

fn read_lines(
    file: &File,
    mut progress: SummaryProgress,
    lines: &mut LineScanner<Positioned<'_>>,
    stops: &[&AtomicBool],
) -> io::Result<Option<SummaryScan>> {
    let mut line = ScannedLine::default();
    while progress.kind != FileKind::NotASession && !lines.is_done()? {
        if is_stopped(stops) {
            return Ok(None);
        }
        let offset = lines.position();
        let SummaryProgress { kind, usage, .. } = &mut progress;
        match kind {
            FileKind::Session(version, info) => {
                let version = *version;
                let fields = if info.first_message.is_none() { FieldSet::UserTexts } else { FieldSet::Names };
                let is_blank = lines.is_blank()?;
                let scanned = match lines.line(fields, &mut line) {
                    Err(LineScanError::Io(error)) => return Err(error),
                    scanned => scanned,
                };
                let is_terminated = lines.skip_line()?;
                let span = (offset, lines.position());
                // An unterminated line changes only a copy: another process may still be writing it.
                let before = (!is_terminated).then(|| (info.clone(), usage.clone()));
                let (mut for_info, mut for_usage) = (false, false);
                match scanned {
                    Ok(()) => {
                        for_usage = !usage.add_scanned(&line, version, span);
                        info.take_scanned(&line, version);
                    }
                    Err(LineScanError::NotJson) if !is_blank => usage.add_damaged(),
                    Err(LineScanError::NotJson) => {}
                    Err(_) => {
                        (for_info, for_usage) = (true, true);
                        lines.signature = None;
                    }
                }
                if let (Some(signature), Some(content)) = (&mut lines.signature, &line.content) {
                    signature.add_text(&content_text(content));
                }
                if for_info || for_usage {
                    with_line(file, span, stops, |line| {
                        if for_info {
                            info.take(line, version);
                        }
                        if for_usage {
                            usage.add_line(line, version, span);
                        }
                    })?;
                }
                if let Some((info, usage)) = before {
                    let SummaryProgress { kind, usage: all, end, signature } = progress;
                    let progress = SummaryProgress { kind: FileKind::Session(version, info), usage, end, signature };
                    return Ok(Some(SummaryScan { progress, with_unterminated_line: Some((kind, all)) }));
                }
            }
            FileKind::Undetermined | FileKind::NotASession => {
                let content = match lines.header_line()? {
                    HeaderLine::Header(header) => SessionSummary::of(header),
                    HeaderLine::Other => FileKind::NotASession,
                    HeaderLine::NoJson => FileKind::Undetermined,
                };
                if !lines.skip_line_before(offset.max(HEADER_WITHIN))? {
                    if !lines.is_done()? {
                        let end = lines.position();
                        progress = SummaryProgress { kind: FileKind::NotASession, end, ..progress };
                        return Ok(Some(SummaryScan { progress, with_unterminated_line: None }));
                    }
                    let with_unterminated_line = Some((content, progress.usage.clone()));
                    return Ok(Some(SummaryScan { progress, with_unterminated_line }));
                }
                progress.kind = content;
            }
        }
        progress.end = lines.position();
    }
    Ok(Some(SummaryScan { progress, with_unterminated_line: None }))
}

/// Longer lines are read one at a time.
const GIANT: u64 = 4 << 20;

/// Held while such a line is read.
static GIANTS: Mutex<()> = Mutex::new(());

/// Calls `work` with the line in a file's bytes `from..to`. Only one long line is in memory at a time, on all threads
/// together.
pub fn with_line<T>(
    file: &File,
    (from, to): (u64, u64),
    stops: &[&AtomicBool],
    work: impl FnOnce(&str) -> T,
) -> io::Result<T> {
    let length = to.saturating_sub(from);
    let _alone = (length > GIANT).then(|| locked(&GIANTS));
    let mut bytes = Vec::new();
    // Exactly as much as is needed; a line that does not fit into memory is an error.
    let room = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
    Positioned::new(file, from, to, stops).read_to_end(&mut bytes)?;
    Ok(work(&text_of(&bytes)))
}

/// The text of a message's content, which a scan has kept.
pub fn content_text(content: &[u8]) -> Vec<u8> {
    let content = text_of(content);
    AgentMessage { role: None, content: read::<Raw<'_>>(&content).ok(), timestamp: None }.text()
}

/// The string in a JSON text of any bytes.
pub fn string_of(json: &[u8]) -> Option<Vec<u8>> {
    string_bytes(&text_of(json)).map(|text| text.into_owned())
}

impl SessionSummary {
    fn of(header: Header) -> FileKind {
        let info = Self {
            id: header.id,
            cwd: header.cwd.unwrap_or_default(),
            name: None,
            parent: header.parent,
            created: header.timestamp,
            active: None,
            unparsed_dates: UnparsedDates::default(),
            message_count: 0,
            first_message: None,
        };
        FileKind::Session(header.version, info)
    }

    /// Adds a line that was scanned.
    fn take_scanned(&mut self, line: &ScannedLine, version: Version) {
        if version != Version::V1 && line.has_text_id != Some(true) {
            return;
        }
        let kind = line.kind.get().unwrap_or_default();
        let is = |name: &[u8], json: &[u8]| {
            kind == json || kind.contains(&b'\\') && string_of(kind).as_deref() == Some(name)
        };
        if is(b"message", b"\"message\"") {
            self.message_count += 1;
            let role = line.role.get().unwrap_or_default();
            // Most messages are tool results.
            if role != b"\"toolResult\"" && line.has_message {
                self.take_scanned_message(line);
            }
        } else if is(b"session_info", b"\"session_info\"") {
            self.take_name(line.name.as_deref().and_then(string_of));
        }
    }

    fn take_scanned_message(&mut self, line: &ScannedLine) {
        fn text(json: Option<&[u8]>) -> Option<Cow<'_, str>> {
            json.map(text_of)
        }
        fn raw<'a>(json: &'a Option<Cow<'_, str>>) -> Option<Raw<'a>> {
            json.as_deref().and_then(|json| read(json).ok())
        }
        let (role, time) = (text(line.role.get()), text(line.message_time.get()));
        let (content, timestamp) = (text(line.content.as_deref()), text(line.timestamp.get()));
        // A content counts even if it was not kept.
        let content = raw(&content).or_else(|| line.has_content.then(|| read("0").ok()).flatten());
        let message = AgentMessage { role: raw(&role), content, timestamp: raw(&time) };
        self.take_message(&message, raw(&timestamp));
    }

    fn take_name(&mut self, name: Option<Vec<u8>>) {
        self.name = name.map(|name| trim(&name).to_vec()).filter(|name| !name.is_empty());
    }

    /// Adds a line of any shape.
    fn take(&mut self, line: &str, version: Version) {
        let Ok(fields) = read::<ListedFields<Raw<'_>>>(line) else {
            return;
        };
        let is_entry = version == Version::V1 || fields.id.as_ref().and_then(Value::text).is_some();
        let kind = fields.kind.as_ref().and_then(Value::text).unwrap_or_default();
        match &*kind {
            b"session_info" if is_entry => {
                self.take_name(fields.name.as_ref().and_then(Value::text).map(|name| name.into_owned()));
            }
            b"message" if is_entry => {
                self.message_count += 1;
                if let Some(message) = fields.message.and_then(read_message) {
                    self.take_message(&message, fields.timestamp);
                }
            }
            _ => {}
        }
    }

    fn take_message(&mut self, message: &AgentMessage<Raw<'_>>, timestamp: Option<Raw<'_>>) {
        let role = message.head().role;
        if !role.is_conversation() || message.content.is_none() {
            return;
        }
        match message.activity().map_or_else(|| time_of(timestamp.as_ref()), Time::At) {
            Time::At(ms) if !ms.is_nan() => self.active = Some(self.active.unwrap_or(0.0).max(ms)),
            Time::At(_) => {}
            Time::Unparsed => {
                if let Some(raw) = timestamp {
                    self.unparsed_dates.add(raw.get());
                }
            }
        }
        if self.first_message.is_none() && role == Role::User {
            self.first_message = Some(message.text()).filter(|text| !text.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::reader::is_json;

    impl SessionSummary {
        /// Every line read whole: slow, and simple enough to compare with.
        pub fn of_lines(text: &str) -> Option<SessionSummary> {
            let mut lines = text.split('\n').skip_while(|line| !is_json(line));
            let FileKind::Session(version, mut info) = Header::read(lines.next()?).map(SessionSummary::of)? else {
                return None;
            };
            lines.for_each(|line| info.take(line, version));
            Some(info)
        }
    }

    fn info_of(text: &str) -> Option<SessionSummary> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        let read = read_on(
            file.as_file(),
            text.len() as u64,
            SummaryProgress::default(),
            &mut Box::default(),
            &AtomicBool::new(false),
        );
        read.expect("read").expect("not cancelled").summary().cloned()
    }

    #[test]
    fn a_list_shows_names_and_times() {
        let info = info_of(
            r#"{"type":"session","version":3,"id":"s","cwd":"/c","branchedFrom":"/p"}
{"type":"session_info","id":"a","name":" one "}
{"type":"message","id":"b","timestamp":"2024-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}
{"type":"message","id":"c","message":{"role":"user","content":"yo","timestamp":5}}
{"type":"message","id":"d","timestamp":"Jan 5 2031","message":{"role":"user","content":null}}
{"type":"message","message":{"role":"user","content":"no id"}}
{"type":"message","id":"e"}
torn"#,
        )
        .expect("a session");
        assert_eq!(info.name.as_deref(), Some(&b"one"[..]));
        assert_eq!(info.parent, Some(ParentSession::Path(b"/p".to_vec())));
        assert_eq!((info.message_count, info.active), (4, Some(1704067200000.0)));
        assert_eq!(Vec::from_iter(info.unparsed_dates.iter()), ["\"Jan 5 2031\""]);
        assert_eq!(info.first_message.as_deref(), Some(&b"yo"[..]));
    }

    #[test]
    fn version_1_entries_need_no_id() {
        let info = info_of("{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
        assert_eq!(info.expect("a session").message_count, 1);
    }

    #[test]
    fn files_that_are_not_sessions_are_not_listed() {
        assert_eq!(info_of("5\n{\"type\":\"session\",\"id\":\"s\"}\n"), None);
        assert_eq!(info_of(""), None);
    }
}
