//! The texts of a session that can be searched: what users and assistants said, names, labels and summaries.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicBool;

use super::line_scanner::header::HeaderLine;
use super::line_scanner::{FieldSet, LineScanError, LineScanner, ScannedLine};
use super::session_summary::{string_of, with_line};
use crate::base::wtf8::trim;
use crate::format::agent_message::{AgentMessage, Role};
use crate::format::entry::read_message;
use crate::format::header::Version;
use crate::io::line_reader::{is_stopped, text_of, Positioned};
use crate::json::reader::{read, Raw};
use crate::json::{fields, Value};

fields! {
    /// The fields of an entry that have texts, or tell whose texts they are.
    struct TextFields<V> {
        kind: V = "type",
        id: V = "id",
        timestamp: V = "timestamp",
        message: V = "message",
        name: V = "name",
        label: V = "label",
        summary: V = "summary",
    }
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    User,
    Assistant,
    /// A name of the session.
    Name,
    /// A label of another entry.
    Label,
    Compaction,
    BranchSummary,
}

/// Every kind, in the order of their codes, and its name in a search hit: a message's role, else the entry's type.
const TEXT_KINDS: [(TextKind, &str); 6] = [
    (TextKind::User, "user"),
    (TextKind::Assistant, "assistant"),
    (TextKind::Name, "session_info"),
    (TextKind::Label, "label"),
    (TextKind::Compaction, "compaction"),
    (TextKind::BranchSummary, "branch_summary"),
];

impl TextKind {
    /// Its code in the catalog.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind with a code.
    pub fn from_code(code: u8) -> Option<Self> {
        TEXT_KINDS.get(usize::from(code)).map(|(kind, _)| *kind)
    }

    /// Whether it is part of `allMessagesText`.
    pub fn is_conversation(self) -> bool {
        matches!(self, TextKind::User | TextKind::Assistant)
    }

    /// Its name in a search hit.
    pub fn name(self) -> &'static str {
        TEXT_KINDS.get(self as usize).map_or("", |(_, name)| *name)
    }
}

/// A text of a session. Bytes are WTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchableText {
    pub kind: TextKind,
    /// The entry's id; empty in version 1, where entries have none.
    pub id: Vec<u8>,
    /// The entry's timestamp, if it is a text.
    pub timestamp: Vec<u8>,
    pub text: Vec<u8>,
    /// Where the entry's line ends in the file, its newline included.
    pub end: u64,
}

/// Whether a file was read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    Complete,
    Cancelled,
}

/// Calls `each` with every text in a file's bytes `from..to` that is not empty. `from` is the start of a line after the header,
/// and `version` the header's; with None the file is read from its start. A last line without a newline counts. Nothing
/// more is read once a flag in `stops` is set, which `each` may do. With `most`, a longer text may be cut; its rest is still
/// longer than `most` bytes.
pub fn read_texts(
    file: &File,
    (from, to): (u64, u64),
    version: Option<Version>,
    most: Option<usize>,
    buffer: &mut Box<[u8]>,
    stops: &[&AtomicBool],
    each: &mut dyn FnMut(SearchableText),
) -> io::Result<Completion> {
    let source = Positioned::new(file, from, to, stops);
    let mut lines = LineScanner::new(source, from, std::mem::take(buffer));
    let read = read_lines(file, version, most, &mut lines, stops, each);
    *buffer = lines.into_buffer();
    match is_stopped(stops) {
        true => Ok(Completion::Cancelled),
        false => read,
    }
}

fn read_lines(
    file: &File,
    mut version: Option<Version>,
    most: Option<usize>,
    lines: &mut LineScanner<Positioned<'_>>,
    stops: &[&AtomicBool],
    each: &mut dyn FnMut(SearchableText),
) -> io::Result<Completion> {
    let mut line = ScannedLine::default();
    while !lines.is_done()? {
        if is_stopped(stops) {
            return Ok(Completion::Cancelled);
        }
        let offset = lines.position();
        let mut found = None;
        let mut odd = None;
        match version {
            None => match lines.header_line()? {
                HeaderLine::Header(header) => version = Some(header.version),
                HeaderLine::Other => return Ok(Completion::Complete),
                HeaderLine::NoJson => {}
            },
            Some(version) => match lines.line(FieldSet::Texts { most }, &mut line) {
                Ok(()) if !line.kind.get().unwrap_or_default().contains(&b'\\') => found = of_scanned(&line, version),
                Err(LineScanError::NotJson) => {}
                Ok(_) | Err(LineScanError::NeedsFullParse) => odd = Some(version),
                Err(LineScanError::Io(error)) => return Err(error),
            },
        }
        lines.skip_line()?;
        if let Some(version) = odd {
            found = with_line(file, (offset, lines.position()), stops, |line| of_line(line, version))?;
        }
        if let Some(mut text) = found.filter(|text| !text.text.is_empty()) {
            text.end = lines.position();
            each(text);
        }
    }
    Ok(Completion::Complete)
}

fn of_scanned(line: &ScannedLine, version: Version) -> Option<SearchableText> {
    if version != Version::V1 && line.has_text_id != Some(true) {
        return None;
    }
    let kind = line.kind.get()?;
    let plain = |json: &Option<Vec<u8>>| json.as_deref().and_then(string_of);
    let (kind, text) = match kind {
        b"\"message\"" => {
            let kind = match line.role.get()? {
                b"\"user\"" => TextKind::User,
                b"\"assistant\"" => TextKind::Assistant,
                _ => return None,
            };
            let content = text_of(line.content.as_deref()?);
            let message = AgentMessage { role: None, content: read::<Raw<'_>>(&content).ok(), timestamp: None };
            (kind, message.text())
        }
        b"\"session_info\"" => (TextKind::Name, trim(&plain(&line.name)?).to_vec()),
        b"\"label\"" => (TextKind::Label, plain(&line.label)?),
        b"\"compaction\"" => (TextKind::Compaction, plain(&line.summary)?),
        b"\"branch_summary\"" => (TextKind::BranchSummary, plain(&line.summary)?),
        _ => return None,
    };
    let id = plain(&line.id).unwrap_or_default();
    let timestamp = line.timestamp.get().and_then(string_of).unwrap_or_default();
    Some(SearchableText { kind, id, timestamp, text, end: 0 })
}

fn of_line(line: &str, version: Version) -> Option<SearchableText> {
    let fields = read::<TextFields<Raw<'_>>>(line).ok()?;
    let plain = |value: &Option<Raw<'_>>| value.as_ref().and_then(Value::text).map(|text| text.into_owned());
    let id = plain(&fields.id);
    if version != Version::V1 && id.is_none() {
        return None;
    }
    let (kind, text) = match &*fields.kind.as_ref().and_then(Value::text)? {
        b"message" => {
            let message = fields.message.and_then(read_message)?;
            let kind = match message.head().role {
                Role::User => TextKind::User,
                Role::Assistant => TextKind::Assistant,
                _ => return None,
            };
            (kind, message.text())
        }
        b"session_info" => (TextKind::Name, trim(&plain(&fields.name)?).to_vec()),
        b"label" => (TextKind::Label, plain(&fields.label)?),
        b"compaction" => (TextKind::Compaction, plain(&fields.summary)?),
        b"branch_summary" => (TextKind::BranchSummary, plain(&fields.summary)?),
        _ => return None,
    };
    let timestamp = plain(&fields.timestamp).unwrap_or_default();
    Some(SearchableText { kind, id: id.unwrap_or_default(), timestamp, text, end: 0 })
}

/// Appends a text to `allMessagesText`, if it is part of it: the texts of users and assistants, joined by spaces.
pub fn join(all: &mut Vec<u8>, kind: TextKind, text: &[u8]) {
    if !kind.is_conversation() {
        return;
    }
    if !all.is_empty() {
        all.push(b' ');
    }
    all.extend_from_slice(text);
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::fs::faults::before_nth;
    use crate::io::fs::FsCall;
    use crate::summary::session_summary::{read_on, SummaryProgress};
    use std::io::Write;
    use std::sync::atomic::Ordering;
    use std::sync::Arc;

    /// A session whose first line after the header does not end for a terabyte, and where it does.
    fn endless(line: &str) -> (File, u64) {
        let mut file = tempfile::tempfile().expect("a file");
        writeln!(file, r#"{{"type":"session","version":3,"id":"s","cwd":"/c"}}"#).expect("written");
        file.write_all(line.as_bytes()).expect("written");
        file.set_len(1 << 40).expect("made longer");
        (file, 1 << 40)
    }

    /// Regression: a process that ended waited for the end of a long line.
    #[test]
    fn a_process_that_ends_does_not_wait_for_the_end_of_a_long_line() {
        for line in ["", r#"{"type":"message","id":"a","message":{"role":"toolResult","content":""#, "[1,\"\\u00"] {
            let (file, size) = endless(line);
            let (stop, full) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
            // In the middle of the line.
            let stop_at_a_later_read = || {
                stop.store(false, Ordering::Relaxed);
                let stop = stop.clone();
                before_nth(4, FsCall::Read, move || stop.store(true, Ordering::Relaxed));
            };
            let (stops, each) = ([&full, &*stop], &mut |_: SearchableText| panic!("there is none"));
            stop_at_a_later_read();
            let read = read_texts(&file, (0, size), None, None, &mut Box::default(), &stops, each);
            assert_eq!(read.expect("read"), Completion::Cancelled);
            stop_at_a_later_read();
            let listed = read_on(&file, size, SummaryProgress::default(), None, &mut Box::default(), &stop);
            assert_eq!(listed.expect("read"), None);
        }
    }

    /// Regression: a search held the whole line of a giant text.
    #[test]
    fn a_search_does_not_hold_the_whole_line_of_a_giant_text() {
        const MOST: usize = 1 << 20;
        let giant = r"one \u00e9 line\n".repeat(2 << 20);
        let blocks = format!(r#"[{{"type":"thinking","thinking":"{giant}"}},{{"type":"text","text":"{giant}"}}]"#);
        let mut file = tempfile::tempfile().expect("a file");
        writeln!(file, r#"{{"type":"session","version":3,"id":"s","cwd":"/c"}}"#).expect("written");
        for message in
            [format!(r#""role":"user","content":"{giant}""#), format!(r#""role":"assistant","content":{blocks}"#)]
        {
            writeln!(file, r#"{{"type":"message","id":"m","message":{{{message}}}}}"#).expect("written");
        }
        writeln!(file, r#"{{"type":"compaction","id":"c","summary":"{giant}"}}"#).expect("written");
        let size = file.metadata().expect("metadata").len();
        let start = "one \u{e9} line\n".repeat(MOST / 12).into_bytes();
        let starts_so = |text: &[u8]| text.starts_with(&start) && (MOST + 1..2 * MOST).contains(&text.len());
        let (mut kinds, mut buffer) = (Vec::new(), Box::default());
        let mut each = |text: SearchableText| {
            assert!(starts_so(&text.text), "{:?} of {} bytes", text.kind, text.text.len());
            kinds.push(text.kind);
        };
        let read = read_texts(&file, (0, size), None, Some(MOST), &mut buffer, &[], &mut each);
        assert_eq!(read.expect("read"), Completion::Complete);
        assert_eq!(kinds, [TextKind::User, TextKind::Assistant, TextKind::Compaction]);
        assert!(buffer.len() <= MOST, "{}", buffer.len());
        // The list that a search begins with cuts the first message in the same way.
        let never = AtomicBool::new(false);
        let listed = read_on(&file, size, SummaryProgress::default(), Some(MOST), &mut buffer, &never);
        let first = listed.expect("read").and_then(|scan| scan.summary()?.first_message.clone()).expect("a message");
        assert!(starts_so(&first), "{}", first.len());
        assert!(buffer.len() <= MOST, "{}", buffer.len());
        // A whole text is asked for without a limit.
        let mut lengths = Vec::new();
        let mut each = |text: SearchableText| lengths.push(text.text.len());
        read_texts(&file, (0, size), None, None, &mut buffer, &[], &mut each).expect("read");
        assert_eq!(lengths, [12 * (2 << 20); 3]);
    }
}
