//! Replaces a text in the strings of a line.
//!
//! The strings of a line may write any character of the text as an escape, and a string may itself hold JSON, as arguments of tools do. So
//! the text is compared with what the strings mean, character by character, and also looked for as JSON writes it, twice over.

use memchr::memmem;

use crate::base::error::{Error, Result};
use crate::base::memory::{self, append, copy_of_bytes};
use crate::base::wtf8::{encode_wtf8, push_escaped};
use crate::format::entry::REFERENCES;
use crate::json::scanner::{ScanError, ScanResult, Scanner};
use crate::json::string::escape_at;

/// How often the text may have been written as JSON inside a string.
const LEVELS: usize = 2;

/// The keys besides [`REFERENCES`] whose values hold a session together, or say what kind of thing a value is.
const KEPT: [&str; 15] = [
    "type",
    "id",
    "timestamp",
    "customType",
    "role",
    "toolCallId",
    "toolName",
    "api",
    "provider",
    "model",
    "modelId",
    "thinkingLevel",
    "stopReason",
    "mimeType",
    "responseId",
];

/// Whether the text of a key's value stays.
pub(super) fn is_kept(key: &[u8]) -> bool {
    KEPT.iter().chain(&REFERENCES).any(|kept| kept.as_bytes() == key)
}

/// The keys that make a difference.
enum Key {
    Kept,
    Message,
    Content,
    Thinking,
    ThinkingSignature,
    Name,
}

impl Key {
    fn of(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"message" => Self::Message,
            b"content" => Self::Content,
            b"thinking" => Self::Thinking,
            b"thinkingSignature" => Self::ThinkingSignature,
            b"name" => Self::Name,
            key if is_kept(key) => Self::Kept,
            _ => return None,
        })
    }
}

/// A text to be replaced, in the forms in which it may stand in a string.
#[derive(Debug, Clone)]
pub struct Needle {
    forms: Vec<Vec<u8>>,
    /// What replaces it, as JSON writes it.
    replacement: Vec<u8>,
}

impl Needle {
    /// The longest text, and the longest replacement, in bytes.
    const MAX_BYTES: usize = 1 << 20;

    /// `text` and `replacement` are WTF-8. An error if the text is empty, or one of them is too long.
    pub fn new(text: &[u8], replacement: &[u8]) -> Result<Self> {
        if text.is_empty() || text.len().max(replacement.len()) > Self::MAX_BYTES {
            return Err(Error::argument("text must have 1 to 1048576 bytes, and replacement no more"));
        }
        let mut forms = vec![copy_of_bytes(text)?];
        for _ in 0..LEVELS {
            let mut escaped = Vec::new();
            push_escaped(&mut escaped, forms.last().map_or(text, Vec::as_slice))?;
            if forms.last() != Some(&escaped) {
                forms.push(escaped);
            }
        }
        let mut written = Vec::new();
        push_escaped(&mut written, replacement)?;
        Ok(Self { forms, replacement: written })
    }

    /// Whether the text stands anywhere in a line.
    pub fn is_in(&self, line: &[u8]) -> bool {
        self.forms.iter().any(|form| Occurrences::of(line, form).next().is_some())
    }

    /// The new version of a line; None if the text is in no string of it that may change.
    pub fn redacted(&self, line: &[u8]) -> memory::Result<Option<Vec<u8>>> {
        if !self.is_in(line) {
            return Ok(None);
        }
        let out = match (Walk { line, needle: self, out: Vec::new(), copied: 0 }).run() {
            Ok(out) => out,
            Err(ScanError::Malformed) => {
                // Of a damaged line nobody knows what is a string.
                let mut out = Vec::new();
                self.replace_in(line, &mut out)?;
                out
            }
            Err(ScanError::Input(error)) => return Err(error),
        };
        Ok((out != line).then_some(out))
    }

    /// Appends the inside of a string with the text replaced. Gives whether it was there.
    fn replace_in(&self, string: &[u8], out: &mut Vec<u8>) -> memory::Result<bool> {
        let mut occurrences: Vec<_> = self.forms.iter().map(|form| Occurrences::of(string, form).peekable()).collect();
        let mut copied = 0;
        loop {
            for later in &mut occurrences {
                while later.next_if(|&(from, _)| from < copied).is_some() {}
            }
            let next = occurrences.iter_mut().filter_map(|later| later.peek().copied());
            let Some((from, to)) = next.min_by_key(|&(from, to)| (from, std::cmp::Reverse(to))) else { break };
            append(out, string.get(copied..from).unwrap_or_default())?;
            append(out, &self.replacement)?;
            copied = to;
        }
        append(out, string.get(copied..).unwrap_or_default())?;
        Ok(copied > 0)
    }
}

/// The places of one form of a text in the inside of a string.
struct Occurrences<'a> {
    string: &'a [u8],
    form: &'a [u8],
    /// Before it bytes are what they mean.
    first_escape: usize,
    at: usize,
}

impl<'a> Occurrences<'a> {
    fn of(string: &'a [u8], form: &'a [u8]) -> Self {
        let first_escape = memchr::memchr(b'\\', string).unwrap_or(string.len());
        Self { string, form, first_escape, at: 0 }
    }
}

impl Iterator for Occurrences<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let first = *self.form.first()?;
        if let Some(plain) = self.string.get(self.at..self.first_escape) {
            if let Some(found) = memmem::find(plain, self.form) {
                let from = self.at + found;
                self.at = from + self.form.len();
                return Some((from, self.at));
            }
            self.at = self.at.max((self.first_escape + 1).saturating_sub(self.form.len()));
        }
        while let Some(skipped) = memchr::memchr2(first, b'\\', self.string.get(self.at..)?) {
            let from = self.at + skipped;
            if let Some(to) = end_of_match(self.string, from, self.form) {
                self.at = to;
                return Some((from, to));
            }
            self.at = from + escape_at(self.string.get(from..)?).map_or(1, |(_, length)| length);
        }
        self.at = self.string.len();
        None
    }
}

/// Where `form` ends if it begins at this place. A backslash that begins no escape is itself.
fn end_of_match(string: &[u8], from: usize, form: &[u8]) -> Option<usize> {
    let (mut at, mut rest) = (from, form);
    while !rest.is_empty() {
        let text = string.get(at..)?;
        if let Some((code_point, length)) = escape_at(text) {
            rest = rest.strip_prefix(encode_wtf8(code_point, &mut [0; 4]))?;
            at += length;
        } else {
            rest = rest.strip_prefix(text.first_chunk::<1>()?)?;
            at += 1;
        }
    }
    Some(at)
}

/// What an object is in the structure of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Entry,
    Message,
    /// A block of a content.
    Block,
}

type Line<'a> = &'a [u8];

/// A way through the JSON of a line.
struct Walk<'a> {
    line: Line<'a>,
    needle: &'a Needle,
    out: Vec<u8>,
    /// How much of the line is in `out`, or was replaced there.
    copied: usize,
}

impl<'a> Walk<'a> {
    /// The new line; None if the line is not JSON.
    fn run(mut self) -> ScanResult<Vec<u8>, Line<'a>> {
        let mut scanner = Scanner::new(self.line);
        match scanner.next_token()? {
            Some(b'{') => self.object(&mut scanner, Part::Entry)?,
            _ => self.strings(&mut scanner).map(drop)?,
        }
        if scanner.next_token()?.is_some() {
            return Err(ScanError::Malformed);
        }
        self.copy_to(self.line.len())?;
        Ok(self.out)
    }

    /// Passes an object of the structure: only in its values the text is replaced.
    fn object(&mut self, scanner: &mut Scanner<Line<'a>>, part: Part) -> ScanResult<(), Line<'a>> {
        let mut is_thinking_changed = false;
        let mut signature = None;
        scanner.members(Key::of, |scanner, key| {
            match (key, scanner.next_token()?) {
                (Some(Key::Message), Some(b'{')) if part == Part::Entry => self.object(scanner, Part::Message)?,
                (Some(Key::Content), Some(b'[')) if part != Part::Block => self.content(scanner)?,
                (Some(Key::Thinking), _) => is_thinking_changed |= self.strings(scanner)?,
                (Some(Key::ThinkingSignature), Some(b'"')) => {
                    self.copy_to(scanner.at() + 1)?;
                    let from = self.out.len();
                    self.strings(scanner)?;
                    self.copy_to(scanner.at() - 1)?;
                    signature = Some(from..self.out.len());
                }
                (Some(Key::Name), Some(b'"')) if part == Part::Block => scanner.skip_string()?,
                (Some(Key::Kept), Some(b'"')) => scanner.skip_string()?,
                _ => self.strings(scanner).map(drop)?,
            }
            Ok(())
        })?;
        // It is not valid for another text.
        if let Some(signature) = signature.filter(|_| is_thinking_changed) {
            self.out.drain(signature);
        }
        Ok(())
    }

    fn content(&mut self, scanner: &mut Scanner<Line<'a>>) -> ScanResult<(), Line<'a>> {
        scanner.expect(b'[')?;
        let mut first = true;
        while scanner.next_element(&mut first, b']')? {
            match scanner.next_token()? {
                Some(b'{') => self.object(scanner, Part::Block)?,
                _ => self.strings(scanner).map(drop)?,
            }
        }
        scanner.expect(b']')
    }

    /// Passes a value, in which every string may change, keys as well. Gives whether one did.
    fn strings(&mut self, scanner: &mut Scanner<Line<'a>>) -> ScanResult<bool, Line<'a>> {
        let mut at = scanner.at();
        scanner.skip_value()?;
        let mut is_changed = false;
        let line = self.line;
        while let Some(skipped) = line.get(at..scanner.at()).and_then(|rest| memchr::memchr(b'"', rest)) {
            let mut end = Scanner::starting_at(line, at + skipped);
            end.skip_string()?;
            let from = at + skipped + 1;
            at = end.at();
            let string = line.get(from..at - 1).unwrap_or_default();
            if self.needle.is_in(string) {
                self.copy_to(from)?;
                is_changed |= self.needle.replace_in(string, &mut self.out)?;
                self.copied = at - 1;
            }
        }
        Ok(is_changed)
    }

    fn copy_to(&mut self, at: usize) -> memory::Result<()> {
        append(&mut self.out, self.line.get(self.copied..at).unwrap_or_default())?;
        self.copied = at;
        Ok(())
    }
}
