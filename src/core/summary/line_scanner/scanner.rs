//! The fields of a line that lists read.

use std::io::{self, Read};

use super::content::{add_text, add_texts, texts_only};
use super::error::{LineScan, LineScanError};
use super::short_value::ShortValue;
use crate::io::file_window::FileWindow;
use crate::io::line_reader::HEAD;
use crate::json::scanner::Scanner;
use crate::summary::signature::Signature;
use crate::summary::usage::call::{scan_usage, UsageValue};

/// The longest value that is kept; a line with a longer one needs the full reader.
const LIMIT: usize = 4 << 20;

/// The longest text that is added to a signature; a session with a longer one has none.
const LONGEST_SEARCHED: usize = 1 << 20;

/// The long values that a scan keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldSet {
    /// Names.
    Names,
    /// Names, and the contents of users' messages.
    UserTexts,
    /// Names, and the contents of users' and assistants' messages. What lists read besides is left out.
    Texts,
}

/// The scanned fields of a line. Values are JSON texts in the bytes of the file, which need not be UTF-8.
#[derive(Default)]
pub struct ScannedLine {
    pub kind: ShortValue,
    /// Whether the id is a text; None if there is none.
    pub has_text_id: Option<bool>,
    pub timestamp: ShortValue,
    pub role: ShortValue,
    /// Whether the message has a content.
    pub has_content: bool,
    /// The message's own time.
    pub message_time: ShortValue,
    /// Whether there is a message object.
    pub has_message: bool,
    pub name: Option<Vec<u8>>,
    /// The texts of the message's content, if the field set has them.
    pub content: Option<Vec<u8>>,
    /// The message's provider, model and usage; the entry's own if there is no message.
    pub provider: ShortValue,
    pub model: ShortValue,
    pub usage: Option<UsageValue>,
    pub tool_name: ShortValue,
}

impl ScannedLine {
    /// Forgets the values. The memory of short ones is not cleared: that would cost more than some lines do.
    fn clear(&mut self) {
        let Self { kind, timestamp, role, message_time, provider, model, tool_name, .. } = self;
        [kind, timestamp, role, message_time, provider, model, tool_name].into_iter().for_each(ShortValue::clear);
        (self.has_text_id, self.has_content, self.has_message) = (None, false, false);
        (self.name, self.content) = (None, None);
        self.usage = None;
    }

    fn has_call_fields(&self) -> bool {
        self.provider.get().is_some() || self.model.get().is_some() || self.usage.is_some()
    }
}

/// A session file that is scanned line by line.
pub struct LineScanner<R> {
    pub(super) scanner: Scanner<FileWindow<R>>,
    /// Where the source starts in the file.
    offset: u64,
    /// Gets the texts of the scanned lines that are searched by default, and maybe others. Those of a kept content are not added,
    /// nor all of a line that needs the full reader.
    pub signature: Option<Signature>,
}

impl<R: Read> LineScanner<R> {
    /// Scans `source`, whose first byte is at `offset` of the file, in memory that another scanner used, or none yet.
    pub fn new(source: R, offset: u64, buffer: Box<[u8]>) -> Self {
        Self { scanner: Scanner::new(FileWindow::new(source, buffer)), offset, signature: None }
    }

    /// Scans a file for its header: little of it is read at first.
    pub fn for_header(source: R) -> Self {
        Self { scanner: Scanner::new(FileWindow::starting_with(source, HEAD)), offset: 0, signature: None }
    }

    /// The memory, for the next file.
    pub fn into_buffer(self) -> Box<[u8]> {
        self.scanner.input.into_buffer()
    }

    /// The position of the next byte in the file.
    pub fn position(&self) -> u64 {
        self.offset + self.scanner.input.dropped() + self.scanner.at() as u64
    }

    /// Whether everything was scanned.
    pub fn is_done(&mut self) -> io::Result<bool> {
        Ok(self.scanner.peek()?.is_none())
    }

    /// Skips the rest of the line, its newline included. Gives whether a newline ended it.
    pub fn skip_line(&mut self) -> io::Result<bool> {
        self.skip_line_before(u64::MAX)
    }

    /// As [`LineScanner::skip_line`], but stops after a position.
    pub fn skip_line_before(&mut self, limit: u64) -> io::Result<bool> {
        let offset = self.offset;
        self.scanner.skip_past(b'\n', |scanner| offset + scanner.input.dropped() + scanner.at() as u64 <= limit)
    }

    /// Whether nothing but white space is left of the line.
    pub fn is_blank(&mut self) -> io::Result<bool> {
        Ok(matches!(self.scanner.next_token()?, None | Some(b'\n')))
    }

    /// Scans a line into `line`. After an error the position is still in the same line; else it is at its newline, or at the
    /// end.
    pub fn line(&mut self, fields: FieldSet, line: &mut ScannedLine) -> LineScan<()> {
        line.clear();
        self.scanner.forget_failure();
        self.scanner.expect(b'{')?;
        let mut first = true;
        while self.scanner.next_element(&mut first, b'}')? {
            self.member(line, fields)?;
        }
        self.scanner.expect(b'}')?;
        match self.scanner.next_token()? {
            None | Some(b'\n') => Ok(()),
            Some(_) => Err(LineScanError::NotJson),
        }
    }

    fn member(&mut self, line: &mut ScannedLine, fields: FieldSet) -> LineScan<()> {
        enum Key {
            Kind,
            Id,
            Timestamp,
            Message,
            Name,
            Provider,
            Model,
            Usage,
            Searched,
            Other,
        }
        let texts = fields == FieldSet::Texts;
        let key = match self.scanner.key(LIMIT)? {
            b"\"type\"" => Key::Kind,
            b"\"id\"" => Key::Id,
            b"\"timestamp\"" => Key::Timestamp,
            b"\"message\"" => Key::Message,
            b"\"name\"" => Key::Name,
            b"\"provider\"" if !texts => Key::Provider,
            b"\"model\"" if !texts => Key::Model,
            b"\"usage\"" if !texts => Key::Usage,
            b"\"label\"" | b"\"summary\"" if self.signature.is_some() => Key::Searched,
            other => check_key(other).map(|()| Key::Other)?,
        };
        self.scanner.expect(b':')?;
        match key {
            Key::Kind => line.kind.set(self.scanner.value(LIMIT)?),
            Key::Timestamp => line.timestamp.set(self.scanner.value(LIMIT)?),
            Key::Id => {
                let is_text = self.scanner.next_token()? == Some(b'"');
                self.scanner.skip_value()?;
                match line.has_text_id.replace(is_text) {
                    None => Ok(()),
                    Some(_) => Err(LineScanError::NeedsFullParse),
                }
            }
            Key::Name => {
                let name = self.scanner.value(LIMIT)?;
                self.signature.iter_mut().for_each(|signature| signature.add_json(name));
                set_once(&mut line.name, name)
            }
            Key::Searched => Ok(add_text(&mut self.scanner, LONGEST_SEARCHED, &mut self.signature)?),
            Key::Message => {
                let is_second = line.has_call_fields() || std::mem::replace(&mut line.has_message, true);
                if self.scanner.next_token()? != Some(b'{') || is_second {
                    return Err(LineScanError::NeedsFullParse);
                }
                self.message(line, fields)
            }
            // The full reader tells whose they are.
            Key::Provider | Key::Model | Key::Usage if line.has_message => Err(LineScanError::NeedsFullParse),
            Key::Provider => line.provider.set(self.scanner.value(LIMIT)?),
            Key::Model => line.model.set(self.scanner.value(LIMIT)?),
            Key::Usage => self.usage(line),
            Key::Other => Ok(self.scanner.skip_value()?),
        }
    }

    fn message(&mut self, line: &mut ScannedLine, fields: FieldSet) -> LineScan<()> {
        enum Key {
            Role,
            Content,
            Timestamp,
            Provider,
            Model,
            Usage,
            ToolName,
            Other,
        }
        let texts = fields == FieldSet::Texts;
        self.scanner.expect(b'{')?;
        let mut first = true;
        while self.scanner.next_element(&mut first, b'}')? {
            let key = match self.scanner.key(LIMIT)? {
                b"\"role\"" => Key::Role,
                b"\"content\"" => Key::Content,
                b"\"timestamp\"" => Key::Timestamp,
                b"\"provider\"" if !texts => Key::Provider,
                b"\"model\"" if !texts => Key::Model,
                b"\"usage\"" if !texts => Key::Usage,
                b"\"toolName\"" if !texts => Key::ToolName,
                other => check_key(other).map(|()| Key::Other)?,
            };
            self.scanner.expect(b':')?;
            match key {
                Key::Role => line.role.set(self.scanner.value(LIMIT)?)?,
                Key::Timestamp => line.message_time.set(self.scanner.value(LIMIT)?)?,
                Key::Provider => line.provider.set(self.scanner.value(LIMIT)?)?,
                Key::Model => line.model.set(self.scanner.value(LIMIT)?)?,
                Key::ToolName => line.tool_name.set(self.scanner.value(LIMIT)?)?,
                Key::Usage => self.usage(line)?,
                Key::Content => {
                    if std::mem::replace(&mut line.has_content, true) {
                        return Err(LineScanError::NeedsFullParse);
                    }
                    let keeps = match (line.role.get(), fields) {
                        (_, FieldSet::Names) => false,
                        // Only the role, which comes later, tells whether the content is kept.
                        (None, _) => return Err(LineScanError::NeedsFullParse),
                        (Some(b"\"user\""), _) | (Some(b"\"assistant\""), FieldSet::Texts) => true,
                        (Some(role), _) => {
                            check_key(role)?;
                            false
                        }
                    };
                    if keeps {
                        line.content = Some(texts_only(&mut self.scanner, LIMIT)?);
                    } else if self.signature.is_some() && line.role.get() != Some(b"\"toolResult\"") {
                        add_texts(&mut self.scanner, LONGEST_SEARCHED, &mut self.signature)?;
                    } else {
                        self.scanner.skip_value()?;
                    }
                }
                Key::Other => self.scanner.skip_value()?,
            }
        }
        Ok(self.scanner.expect(b'}')?)
    }

    fn usage(&mut self, line: &mut ScannedLine) -> LineScan<()> {
        match line.usage.replace(scan_usage(&mut self.scanner)?) {
            None => Ok(()),
            Some(_) => Err(LineScanError::NeedsFullParse),
        }
    }
}

/// A key that comes twice needs the full reader.
fn set_once(field: &mut Option<Vec<u8>>, value: &[u8]) -> LineScan<()> {
    match field.replace(value.to_vec()) {
        None => Ok(()),
        Some(_) => Err(LineScanError::NeedsFullParse),
    }
}

/// A text with an escape in it may be any key, or any role.
fn check_key(key: &[u8]) -> LineScan<()> {
    match key.contains(&b'\\') {
        true => Err(LineScanError::NeedsFullParse),
        false => Ok(()),
    }
}
