//! Scanning a session file: one pass in a window of fixed size, checking that each line is JSON and looking only at
//! what lists show.
//!
//! Most of a file is tool output, and texts that a list does not show. They are passed over where they stand, block by
//! block, however long they are: neither a line nor a text need ever fit into memory. Lines whose shape is not the
//! usual one (escaped or repeated keys, a content before its role, a kept text of more than 4 MB) are [`LineScanError::NeedsFullParse`]: the
//! caller reads them whole, one long one at a time, with the reader that knows every shape.

pub mod content;
pub mod header;
pub mod short;

pub use self::header::HeaderLine;
pub use self::short::Short;

use std::io::{self, Read};

use crate::core::json::simd::{skip_string, Skipped};

/// How much of a file is held at once: what the processor's own cache can keep.
const WINDOW: usize = 256 << 10;
/// The longest value that is kept; a longer one makes its line odd.
const KEPT: usize = 4 << 20;

/// Why a line was not scanned to its end.
#[derive(Debug)]
pub enum LineScanError {
    /// It is no JSON object.
    NotJson,
    /// It may be one, of a shape that is not looked at here.
    NeedsFullParse,
    /// It could not be read.
    Io(io::Error),
}

impl From<io::Error> for LineScanError {
    fn from(error: io::Error) -> Self {
        LineScanError::Io(error)
    }
}

type LineScan<T> = Result<T, LineScanError>;

/// Which long values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldSet {
    /// Names alone.
    Names,
    /// Names, and the contents of users' messages.
    UserTexts,
    /// Names, labels, summaries, ids and the contents of users' and assistants' messages.
    Texts,
}

/// What a line says, as far as it is looked at. Values are texts of JSON, checked to be JSON, in whatever bytes the file
/// has.
pub struct ScannedLine {
    pub kind: Short,
    /// Whether the id is a text; None if there is none.
    pub has_text_id: Option<bool>,
    pub id: Option<Vec<u8>>,
    pub timestamp: Short,
    pub role: Short,
    /// Whether the message has a content.
    pub has_content: bool,
    /// The message's own time.
    pub message_time: Short,
    /// Whether there is a message object.
    pub has_message: bool,
    pub name: Option<Vec<u8>>,
    pub label: Option<Vec<u8>>,
    pub summary: Option<Vec<u8>>,
    /// The message's content, if it was asked for, without its images' data.
    pub content: Option<Vec<u8>>,
}

/// A file seen through a window.
pub struct LineScanner<R> {
    source: R,
    buffer: Box<[u8]>,
    /// What is in the window: `buffer[..end]`, of which `at` comes next.
    end: usize,
    at: usize,
    /// Where the window starts in the file.
    offset: u64,
    /// From where on bytes are still wanted, although they were passed.
    mark: Option<usize>,
    /// The longest value that is kept.
    most: usize,
    at_end: bool,
    /// The closing brackets of the containers being passed over.
    open: Vec<u8>,
}

impl<R: Read> LineScanner<R> {
    /// Scans `source`, whose first byte is at `offset` of the file, in memory that another one used, or none yet.
    pub fn new(source: R, offset: u64, buffer: Box<[u8]>) -> Self {
        let buffer = match buffer.len() < WINDOW {
            true => vec![0; WINDOW].into_boxed_slice(),
            false => buffer,
        };
        Self::within(source, offset, buffer)
    }

    fn within(source: R, offset: u64, buffer: Box<[u8]>) -> Self {
        Self { source, buffer, end: 0, at: 0, offset, mark: None, most: KEPT, at_end: false, open: Vec::new() }
    }

    /// The memory, for the next file.
    pub fn into_buffer(self) -> Box<[u8]> {
        self.buffer
    }

    /// Where the next byte stands in the file.
    pub fn position(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Whether everything was passed.
    pub fn is_done(&mut self) -> io::Result<bool> {
        Ok(self.peek()?.is_none())
    }

    /// Passes over the rest of the line, its newline included. Gives whether a newline ended it.
    pub fn skip_line(&mut self) -> io::Result<bool> {
        self.skip_line_before(u64::MAX)
    }

    /// As [`LineScanner::skip_line`], but gives up past a position.
    pub fn skip_line_before(&mut self, limit: u64) -> io::Result<bool> {
        loop {
            let rest = self.buffer.get(self.at..self.end).unwrap_or_default();
            if let Some(length) = memchr::memchr(b'\n', rest) {
                self.at += length + 1;
                return Ok(true);
            }
            self.at = self.end;
            if self.position() > limit || !self.more()? {
                return Ok(false);
            }
        }
    }

    /// Scans a line. After an error the position is still in the same line; else it is at its newline, or at the end.
    pub fn line(&mut self, wanted: FieldSet) -> LineScan<ScannedLine> {
        let mut line = ScannedLine {
            kind: Short::NONE,
            has_text_id: None,
            id: None,
            timestamp: Short::NONE,
            role: Short::NONE,
            has_content: false,
            message_time: Short::NONE,
            has_message: false,
            name: None,
            label: None,
            summary: None,
            content: None,
        };
        self.mark = None;
        self.open.clear();
        self.must_take(b'{')?;
        if !self.takes(b'}')? {
            loop {
                self.member(&mut line, wanted)?;
                if !self.takes(b',')? {
                    break;
                }
            }
            self.must_take(b'}')?;
        }
        match self.token()? {
            None | Some(b'\n') => Ok(line),
            Some(_) => Err(LineScanError::NotJson),
        }
    }

    fn member(&mut self, line: &mut ScannedLine, wanted: FieldSet) -> LineScan<()> {
        enum Key {
            Kind,
            Id,
            Timestamp,
            Message,
            Name,
            Label,
            Summary,
            Other,
        }
        let texts = wanted == FieldSet::Texts;
        let key = match self.key()? {
            b"\"type\"" => Key::Kind,
            b"\"id\"" => Key::Id,
            b"\"timestamp\"" => Key::Timestamp,
            b"\"message\"" => Key::Message,
            b"\"name\"" => Key::Name,
            b"\"label\"" if texts => Key::Label,
            b"\"summary\"" if texts => Key::Summary,
            other => check_key(other).map(|()| Key::Other)?,
        };
        self.must_take(b':')?;
        match key {
            Key::Kind => line.kind.set(self.kept()?),
            Key::Timestamp => line.timestamp.set(self.kept()?),
            Key::Id => {
                let is_text = self.token()? == Some(b'"');
                match texts {
                    true => set_once(&mut line.id, self.kept()?)?,
                    false => self.skip_value()?,
                }
                match line.has_text_id.replace(is_text) {
                    None => Ok(()),
                    Some(_) => Err(LineScanError::NeedsFullParse),
                }
            }
            Key::Name => set_once(&mut line.name, self.kept()?),
            Key::Label => set_once(&mut line.label, self.kept()?),
            Key::Summary => set_once(&mut line.summary, self.kept()?),
            Key::Message => {
                if self.token()? != Some(b'{') || std::mem::replace(&mut line.has_message, true) {
                    return Err(LineScanError::NeedsFullParse);
                }
                self.message(line, wanted)
            }
            Key::Other => self.skip_value(),
        }
    }

    fn message(&mut self, line: &mut ScannedLine, wanted: FieldSet) -> LineScan<()> {
        enum Key {
            Role,
            Content,
            Timestamp,
            Other,
        }
        self.must_take(b'{')?;
        if self.takes(b'}')? {
            return Ok(());
        }
        loop {
            let key = match self.key()? {
                b"\"role\"" => Key::Role,
                b"\"content\"" => Key::Content,
                b"\"timestamp\"" => Key::Timestamp,
                other => check_key(other).map(|()| Key::Other)?,
            };
            self.must_take(b':')?;
            match key {
                Key::Role => line.role.set(self.kept()?)?,
                Key::Timestamp => line.message_time.set(self.kept()?)?,
                Key::Content => {
                    if std::mem::replace(&mut line.has_content, true) {
                        return Err(LineScanError::NeedsFullParse);
                    }
                    match (line.role.get(), wanted) {
                        (_, FieldSet::Names) => self.skip_value()?,
                        // Whose content it is comes later: then it is too late to keep it.
                        (None, _) => return Err(LineScanError::NeedsFullParse),
                        (Some(b"\"user\""), _) | (Some(b"\"assistant\""), FieldSet::Texts) => {
                            line.content = Some(self.kept_content()?);
                        }
                        (Some(role), _) => {
                            check_key(role)?;
                            self.skip_value()?;
                        }
                    }
                }
                Key::Other => self.skip_value()?,
            }
            if !self.takes(b',')? {
                return self.must_take(b'}');
            }
        }
    }

    /// A key with its quotes.
    fn key(&mut self) -> LineScan<&[u8]> {
        match self.token()? {
            Some(b'"') => {}
            _ => return Err(LineScanError::NotJson),
        }
        // Nearly always the key is in the window, whole.
        let window = self.buffer.get(..self.end).unwrap_or_default();
        if let Skipped::Closed(end) = skip_string(window, self.at + 1) {
            let from = std::mem::replace(&mut self.at, end);
            return Ok(self.buffer.get(from..end).unwrap_or_default());
        }
        self.kept()
    }

    /// Passes over a value and gives its text.
    fn kept(&mut self) -> LineScan<&[u8]> {
        self.token()?;
        self.mark = Some(self.at);
        let passed = self.skip_value();
        let mark = self.mark.take();
        passed?;
        let from = mark.ok_or(LineScanError::NeedsFullParse)?;
        Ok(self.buffer.get(from..self.at).unwrap_or_default())
    }

    /// The next byte; None at the end.
    #[inline]
    fn peek(&mut self) -> io::Result<Option<u8>> {
        if self.at == self.end && !self.more()? {
            return Ok(None);
        }
        Ok(self.buffer.get(self.at).copied())
    }

    /// The next byte that is no white space within a line; it is not taken. A newline is one.
    #[inline]
    fn token(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                other => return Ok(other),
            }
        }
    }

    #[inline]
    fn takes(&mut self, token: u8) -> io::Result<bool> {
        let takes = self.token()? == Some(token);
        self.at += usize::from(takes);
        Ok(takes)
    }

    #[inline]
    fn must_take(&mut self, token: u8) -> LineScan<()> {
        match self.takes(token)? {
            true => Ok(()),
            false => Err(LineScanError::NotJson),
        }
    }

    /// Makes room and reads on. What stands before the mark, or before the next byte if there is none, is let go.
    fn more(&mut self) -> io::Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        let mut from = self.mark.unwrap_or(self.at);
        let is_full = from == 0 && self.end == self.buffer.len();
        if is_full && self.buffer.len() >= self.most {
            // Of what is kept.
            self.mark = None;
            from = self.at;
        } else if is_full || self.end > 0 && self.buffer.len() < WINDOW {
            let mut larger = vec![0; self.buffer.len() * 2];
            let (front, _) = larger.split_at_mut(self.end);
            front.copy_from_slice(self.buffer.get(..self.end).unwrap_or_default());
            self.buffer = larger.into_boxed_slice();
        }
        self.buffer.copy_within(from..self.end, 0);
        self.end -= from;
        self.at -= from;
        self.offset += from as u64;
        self.mark = self.mark.map(|mark| mark - from);
        let free = self.buffer.get_mut(self.end..).unwrap_or_default();
        let read = loop {
            match self.source.read(free) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => break result?,
            }
        };
        self.end += read;
        self.at_end = read == 0;
        Ok(read > 0)
    }

    fn skip_value(&mut self) -> LineScan<()> {
        let base = self.open.len();
        loop {
            // A value comes here.
            match self.token()? {
                Some(b'"') => self.skip_string()?,
                Some(b'{') => {
                    self.at += 1;
                    if !self.takes(b'}')? {
                        self.open.push(b'}');
                        self.skip_key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    if !self.takes(b']')? {
                        self.open.push(b']');
                        continue;
                    }
                }
                Some(b't') => self.skip_word(b"true")?,
                Some(b'f') => self.skip_word(b"false")?,
                Some(b'n') => self.skip_word(b"null")?,
                Some(b'-' | b'0'..=b'9') => self.skip_number()?,
                _ => return Err(LineScanError::NotJson),
            }
            // A value was passed: it ends its container, or another follows.
            loop {
                let Some(&close) = self.open.get(base..).and_then(|open| open.last()) else {
                    return Ok(());
                };
                if self.takes(b',')? {
                    if close == b'}' {
                        self.skip_key()?;
                    }
                    break;
                }
                self.must_take(close)?;
                self.open.pop();
            }
        }
    }

    fn skip_key(&mut self) -> LineScan<()> {
        match self.token()? {
            Some(b'"') => self.skip_string()?,
            _ => return Err(LineScanError::NotJson),
        }
        self.must_take(b':')
    }

    fn skip_string(&mut self) -> LineScan<()> {
        self.at += 1;
        loop {
            let window = self.buffer.get(..self.end).unwrap_or_default();
            match skip_string(window, self.at) {
                Skipped::Closed(end) => {
                    self.at = end;
                    return Ok(());
                }
                Skipped::Open(at) => {
                    self.at = at;
                    if !self.more()? {
                        return Err(LineScanError::NotJson);
                    }
                }
                Skipped::Bad => return Err(LineScanError::NotJson),
            }
        }
    }

    fn skip_word(&mut self, word: &[u8]) -> LineScan<()> {
        for wanted in word {
            if self.peek()? != Some(*wanted) {
                return Err(LineScanError::NotJson);
            }
            self.at += 1;
        }
        Ok(())
    }

    fn skip_number(&mut self) -> LineScan<()> {
        let takes_any = |scanner: &mut Self, bytes: &[u8]| -> io::Result<bool> {
            let takes = scanner.peek()?.is_some_and(|byte| bytes.contains(&byte));
            scanner.at += usize::from(takes);
            Ok(takes)
        };
        takes_any(self, b"-")?;
        if !takes_any(self, b"0")? && self.skip_digits()? == 0 {
            return Err(LineScanError::NotJson);
        }
        if takes_any(self, b".")? && self.skip_digits()? == 0 {
            return Err(LineScanError::NotJson);
        }
        if takes_any(self, b"eE")? {
            takes_any(self, b"+-")?;
            if self.skip_digits()? == 0 {
                return Err(LineScanError::NotJson);
            }
        }
        Ok(())
    }

    fn skip_digits(&mut self) -> io::Result<usize> {
        let mut count = 0;
        while self.peek()?.is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
            count += 1;
        }
        Ok(count)
    }
}

/// A key that stands twice is odd.
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
