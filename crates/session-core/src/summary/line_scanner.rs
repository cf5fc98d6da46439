//! Scans a session file line by line, in one pass with a window of fixed size. It checks that each line is JSON, and
//! reads only the fields that lists show and usage adds up.
//!
//! Most of a file is tool output and texts that no list shows. They are skipped, whatever their length. Only a name or
//! a text that is kept must fit into memory, not a whole line.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::AtomicBool;

use super::usage::call::{scan_usage, short_text, Amounts, CallErrors};
use crate::base::memory::{append, copy_of_bytes, push};
use crate::base::named::named;
use crate::format::agent_message::Role;
use crate::format::header::Version;
use crate::json::scanner::{Input, ScanResult, Scanner};
use crate::json::value_to_string::push_to_string;
use crate::lines::file_window::FileWindow;
use crate::lines::line_reader::{line_text, Positioned, HEAD};

/// A type, id, time, role, or name of a model or tool that is longer than this counts as missing.
const LONGEST_SHORT: usize = 64 << 10;

/// Which messages' texts are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptTexts {
    None,
    OfUsers,
    /// The texts of users and assistants.
    OfConversation,
    All,
}

impl KeptTexts {
    fn has_that_of(self, message: &ScannedMessage) -> bool {
        match self {
            KeptTexts::None => false,
            KeptTexts::OfUsers => message.role() == Role::User,
            KeptTexts::OfConversation => message.role().is_conversation(),
            KeptTexts::All => true,
        }
    }
}

/// The fields of a line. Values are JSON texts, as bytes of the file, which may not be UTF-8; empty if missing.
#[derive(Debug, Default)]
pub struct ScannedLine {
    /// Where the line starts and ends in the file, its newline included.
    pub(crate) span: (u64, u64),
    pub(crate) is_blank: bool,
    pub(crate) is_object: bool,
    pub(crate) is_terminated: bool,
    pub(crate) kind: Vec<u8>,
    pub(crate) id: Vec<u8>,
    pub(crate) has_text_id: bool,
    pub(crate) timestamp: Vec<u8>,
    /// The text of the name, WTF-8; None if it is not a string.
    pub(crate) name: Option<Vec<u8>>,
    pub(crate) call: CallFields,
    pub(crate) message: ScannedMessage,
}

/// The fields of a line's message.
#[derive(Debug, Default)]
pub(crate) struct ScannedMessage {
    pub role: Vec<u8>,
    pub timestamp: Vec<u8>,
    pub tool_name: Vec<u8>,
    pub call: CallFields,
    pub has_content: bool,
    /// The text of the content, WTF-8, if it is kept: the content if it is a string, else its text blocks joined by
    /// spaces.
    pub text: Option<Vec<u8>>,
    /// The sessions that the details of a tool result with usage name, by their files or ids.
    pub named_sessions: Vec<Vec<u8>>,
}

/// The fields of a model call.
#[derive(Debug, Default)]
pub(crate) struct CallFields {
    pub provider: Vec<u8>,
    pub model: Vec<u8>,
    /// The model that answered, if it is not the requested one.
    pub response_model: Vec<u8>,
    pub usage: Option<(Amounts, CallErrors)>,
}

impl ScannedLine {
    /// Scans a line in memory.
    pub fn of(json: &[u8], span: (u64, u64)) -> Self {
        let mut line = Self { span, is_terminated: true, ..Self::default() };
        let mut scanner = Scanner::new(json);
        let scanned = entry(&mut scanner, KeptTexts::None, &mut line);
        line.is_object = scanned.is_ok() && scanner.next_token() == Ok(None);
        if line.is_object && line.message.is_result_with_usage() {
            // This cannot fail, because the line was scanned to its end before.
            let _ = named_sessions(&mut Scanner::new(json), &mut line.message.named_sessions);
        }
        line
    }

    /// Whether the line is an entry, or a second header.
    pub(crate) fn is_entry(&self, version: Version) -> bool {
        self.is_object && (version == Version::V1 || self.has_text_id)
    }

    /// Clears the fields, but keeps their memory for the next line.
    fn clear(&mut self) {
        [&mut self.kind, &mut self.id, &mut self.timestamp].into_iter().for_each(Vec::clear);
        (self.has_text_id, self.name) = (false, None);
        self.call.clear();
        self.message.clear();
    }
}

impl ScannedMessage {
    /// The role; [`Role::Other`] if missing.
    pub(crate) fn role(&self) -> Role {
        short_text(&self.role).map_or(Role::Other, |name| Role::from_name(&name))
    }

    fn clear(&mut self) {
        [&mut self.role, &mut self.timestamp, &mut self.tool_name].into_iter().for_each(Vec::clear);
        (self.has_content, self.text) = (false, None);
        self.named_sessions.clear();
        self.call.clear();
    }

    /// Whether the line is a tool result with the usage of the tool's own model calls.
    fn is_result_with_usage(&self) -> bool {
        self.call.usage.is_some() && self.role() == Role::ToolResult
    }
}

impl CallFields {
    fn clear(&mut self) {
        [&mut self.provider, &mut self.model, &mut self.response_model].into_iter().for_each(Vec::clear);
        self.usage = None;
    }
}

/// The lines of a file.
pub(crate) struct FileLines<'a> {
    file: &'a File,
    size: u64,
    stops: &'a [&'a AtomicBool],
    pub scanner: LineScanner<Positioned<'a>>,
}

impl<'a> FileLines<'a> {
    /// The lines in the bytes `from..size` of a file. `buffer` is the memory of an earlier scanner, or empty. If a flag
    /// in `stops` is set, the next read fails.
    pub(crate) fn new(file: &'a File, from: u64, size: u64, stops: &'a [&'a AtomicBool], buffer: Box<[u8]>) -> Self {
        let scanner = LineScanner::new(Positioned::new(file, from, size, stops), from, buffer);
        Self { file, size, stops, scanner }
    }

    /// Reads the next line into `line`.
    pub(crate) fn next_line(&mut self, texts: KeptTexts, line: &mut ScannedLine) -> io::Result<()> {
        let from = self.scanner.position();
        line.is_blank = self.scanner.is_blank()?;
        line.is_object = self.scanner.line(texts, line)?;
        line.is_terminated = self.scanner.skip_line()?;
        line.span = (from, self.scanner.position());
        let message = &line.message;
        if line.is_object && message.has_content && message.text.is_none() && texts.has_that_of(message) {
            // The role came after the content, so the line is read again to keep the text.
            let source = Positioned::new(self.file, from, self.size, self.stops);
            let mut again = LineScanner::new(source, from, Box::default());
            line.is_object = again.line(KeptTexts::All, line)?;
        }
        if line.is_object && line.message.is_result_with_usage() {
            // A second pass, because only few lines name sessions, and the details of all others are skipped.
            let source = Positioned::new(self.file, from, self.size, self.stops);
            let mut again = LineScanner::new(source, from, Box::default());
            let named = named_sessions(&mut again.scanner, &mut line.message.named_sessions);
            named.or_else(|error| error.cause().map_or(Ok(()), Err))?;
        }
        Ok(())
    }
}

/// A source that is scanned line by line.
pub(crate) struct LineScanner<R> {
    pub(super) scanner: Scanner<FileWindow<R>>,
    /// The position of the source's first byte in the file.
    offset: u64,
}

impl<R: Read> LineScanner<R> {
    /// Scans `source`, whose first byte is at `offset` in the file. `buffer` is the memory of an earlier scanner, or
    /// empty.
    pub(crate) fn new(source: R, offset: u64, buffer: Box<[u8]>) -> Self {
        Self { scanner: Scanner::new(FileWindow::new(source, buffer)), offset }
    }

    /// Scans a file for its header. Reads only few bytes at first.
    pub(crate) fn for_header(source: R) -> Self {
        Self { scanner: Scanner::new(FileWindow::starting_with(source, HEAD)), offset: 0 }
    }

    /// The buffer, for the next file.
    pub(crate) fn into_buffer(self) -> Box<[u8]> {
        self.scanner.input.into_buffer()
    }

    /// The position of the next byte in the file.
    pub(crate) fn position(&self) -> u64 {
        self.offset + self.scanner.input.dropped() + self.scanner.at() as u64
    }

    /// Whether the source is at its end.
    pub(crate) fn is_done(&mut self) -> io::Result<bool> {
        Ok(self.scanner.peek()?.is_none())
    }

    /// Skips the rest of the line and its newline. Returns whether the line had a newline.
    pub(crate) fn skip_line(&mut self) -> io::Result<bool> {
        self.skip_line_before(u64::MAX)
    }

    /// As [`LineScanner::skip_line`], but stops after the position `limit`.
    pub(crate) fn skip_line_before(&mut self, limit: u64) -> io::Result<bool> {
        let offset = self.offset;
        self.scanner.skip_past(b'\n', |scanner| offset + scanner.input.dropped() + scanner.at() as u64 <= limit)
    }

    /// Whether the rest of the line is white space.
    pub(super) fn is_blank(&mut self) -> io::Result<bool> {
        Ok(matches!(self.scanner.next_token()?, None | Some(b'\n')))
    }

    /// Scans a line into `line`. False if it is not a JSON object; then the position is still in the line.
    fn line(&mut self, texts: KeptTexts, line: &mut ScannedLine) -> io::Result<bool> {
        line.clear();
        self.scanner.forget_failure();
        match entry(&mut self.scanner, texts, line) {
            Ok(()) => self.is_blank(),
            Err(error) => error.cause().map_or(Ok(false), Err),
        }
    }
}

named! {
    /// The keys of an entry, a message and a block.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum ScannedKey {
        Kind = "type",
        Id = "id",
        Timestamp = "timestamp",
        Name = "name",
        Message = "message",
        Role = "role",
        Content = "content",
        Text = "text",
        ToolName = "toolName",
        Provider = "provider",
        Model = "model",
        ResponseModel = "responseModel",
        Usage = "usage",
        Details = "details",
    }
}

named! {
    /// The keys in the details of a tool result by which packages of subagents name the session of a subagent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum SessionKey {
        SessionFile = "sessionFile",
        SessionFiles = "sessionFiles",
        SessionPath = "sessionPath",
        SessionId = "sessionId",
        SessionIds = "sessionIds",
        ChildSessionFile = "childSessionFile",
        ChildSessionPath = "childSessionPath",
        ChildSessionId = "childSessionId",
    }
}

impl CallFields {
    /// Reads the value of `key`. Skips the value of any other key.
    fn take<I: Input>(&mut self, scanner: &mut Scanner<I>, key: Option<ScannedKey>) -> ScanResult<(), I> {
        match key {
            Some(ScannedKey::Provider) => short(scanner, &mut self.provider),
            Some(ScannedKey::Model) => short(scanner, &mut self.model),
            Some(ScannedKey::ResponseModel) => short(scanner, &mut self.response_model),
            Some(ScannedKey::Usage) => {
                self.usage = scan_usage(scanner)?;
                Ok(())
            }
            _ => scanner.skip_value(),
        }
    }
}

fn entry<I: Input>(scanner: &mut Scanner<I>, texts: KeptTexts, line: &mut ScannedLine) -> ScanResult<(), I> {
    scanner.members(ScannedKey::named, |scanner, key| match key {
        Some(ScannedKey::Kind) => short(scanner, &mut line.kind),
        Some(ScannedKey::Timestamp) => short(scanner, &mut line.timestamp),
        Some(ScannedKey::Id) => {
            line.has_text_id = scanner.next_token()? == Some(b'"');
            short(scanner, &mut line.id)
        }
        Some(ScannedKey::Name) => {
            line.name = None;
            if scanner.next_token()? != Some(b'"') {
                return scanner.skip_value();
            }
            let mut name = Vec::new();
            text(scanner, &mut name)?;
            line.name = Some(name);
            Ok(())
        }
        Some(ScannedKey::Message) => {
            line.message.clear();
            match scanner.next_token()? {
                Some(b'{') => message(scanner, texts, &mut line.message),
                _ => scanner.skip_value(),
            }
        }
        key => line.call.take(scanner, key),
    })
}

fn message<I: Input>(scanner: &mut Scanner<I>, texts: KeptTexts, into: &mut ScannedMessage) -> ScanResult<(), I> {
    scanner.members(ScannedKey::named, |scanner, key| match key {
        Some(ScannedKey::Role) => short(scanner, &mut into.role),
        Some(ScannedKey::Timestamp) => short(scanner, &mut into.timestamp),
        Some(ScannedKey::ToolName) => short(scanner, &mut into.tool_name),
        Some(ScannedKey::Content) => {
            into.has_content = true;
            into.text = texts.has_that_of(into).then(Vec::new);
            match &mut into.text {
                Some(text) => content(scanner, text),
                None => scanner.skip_value(),
            }
        }
        key => into.call.take(scanner, key),
    })
}

/// The deepest level of details at which sessions are found, for example in a list of results.
const DEEPEST_NAME: usize = 6;
/// How many sessions one tool result can name.
const MAX_NAMED_SESSIONS: usize = 1_000;

/// Reads an entry, and adds the sessions that the details of its message name.
fn named_sessions<I: Input>(scanner: &mut Scanner<I>, into: &mut Vec<Vec<u8>>) -> ScanResult<(), I> {
    scanner.members(ScannedKey::named, |scanner, key| match (key, scanner.next_token()?) {
        (Some(ScannedKey::Message), Some(b'{')) => scanner.members(ScannedKey::named, |scanner, key| match key {
            Some(ScannedKey::Details) => {
                into.clear();
                names_in(scanner, false, DEEPEST_NAME, into)
            }
            _ => scanner.skip_value(),
        }),
        _ => scanner.skip_value(),
    })
}

/// Reads a value in details. `is_name`: whether its key names a session.
fn names_in<I: Input>(
    scanner: &mut Scanner<I>,
    is_name: bool,
    depth: usize,
    into: &mut Vec<Vec<u8>>,
) -> ScanResult<(), I> {
    match scanner.next_token()? {
        Some(b'"') if is_name && into.len() < MAX_NAMED_SESSIONS => {
            let name = scanner.value(LONGEST_SHORT)?.and_then(short_text).map(|name| copy_of_bytes(&name));
            name.transpose().and_then(|name| name.map_or(Ok(()), |name| push(into, name))).map_err(I::Error::from)?;
            Ok(())
        }
        Some(b'{') if depth > 0 => {
            scanner.members(SessionKey::named, |scanner, key| names_in(scanner, key.is_some(), depth - 1, into))
        }
        Some(b'[') if depth > 0 => {
            scanner.skip_byte();
            let mut first = true;
            while scanner.next_element(&mut first, b']')? {
                names_in(scanner, is_name, depth - 1, into)?;
            }
            scanner.expect(b']')
        }
        _ => scanner.skip_value(),
    }
}

/// Reads a content, and sets `out` to its text.
fn content<I: Input>(scanner: &mut Scanner<I>, out: &mut Vec<u8>) -> ScanResult<(), I> {
    match scanner.next_token()? {
        Some(b'"') => return text(scanner, out),
        Some(b'[') => scanner.skip_byte(),
        _ => return scanner.skip_value(),
    }
    let (mut first, mut has_text) = (true, false);
    while scanner.next_element(&mut first, b']')? {
        if scanner.next_token()? != Some(b'{') {
            scanner.skip_value()?;
            continue;
        }
        let (mut is_text, mut block) = (false, Vec::new());
        scanner.members(ScannedKey::named, |scanner, key| match key {
            Some(ScannedKey::Text) => text(scanner, &mut block),
            Some(ScannedKey::Kind) => {
                let kind = scanner.value(LONGEST_SHORT)?.and_then(short_text);
                is_text = kind.as_deref() == Some(b"text");
                Ok(())
            }
            _ => scanner.skip_value(),
        })?;
        if is_text {
            if has_text {
                append(out, b" ").and_then(|()| append(out, &block)).map_err(I::Error::from)?;
            } else {
                *out = block;
            }
            has_text = true;
        }
    }
    scanner.expect(b']')
}

/// Reads a value, and sets `out` to `String(value)`.
fn text<I: Input>(scanner: &mut Scanner<I>, out: &mut Vec<u8>) -> ScanResult<(), I> {
    out.clear();
    let json = scanner.value(usize::MAX)?.unwrap_or_default();
    line_text(json).and_then(|json| push_to_string(&json, out)).map_err(I::Error::from)?;
    Ok(())
}

/// Reads a short value.
fn short<I: Input>(scanner: &mut Scanner<I>, into: &mut Vec<u8>) -> ScanResult<(), I> {
    into.clear();
    append(into, scanner.value(LONGEST_SHORT)?.unwrap_or_default()).map_err(I::Error::from)?;
    Ok(())
}

#[cfg(test)]
pub mod tests;
