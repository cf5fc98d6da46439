//! Replaces a text in the strings of a line.
//!
//! The strings of a line may contain any character of the text as an escape. A string may itself contain JSON, for
//! example the arguments of a tool; each program escapes other characters there (Python `é`, PHP `/`, Go `&`, .NET
//! `+`). So each character of the text is compared with the string's characters after escapes are decoded once, twice
//! and three times.

use memchr::memmem;

use crate::base::error::{Error, Result};
use crate::base::memory::{self, append, copy_of_bytes, push};
use crate::base::wtf8::{push_escaped, surrogate_at};
use crate::format::kinds::is_name;
use crate::json::scanner::{ScanError, ScanResult, Scanner};
use crate::json::string::escape_at;

/// How many times escapes are decoded: once in the line, and twice for JSON inside a string.
const LEVELS: usize = 3;

/// The keys that are treated differently.
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
            key if is_name(key) => Self::Kept,
            _ => return None,
        })
    }
}

/// A text to replace, in all forms in which the strings of a line can contain it.
#[derive(Debug, Clone)]
pub(super) struct Needle {
    text: Vec<u8>,
    characters: Vec<u32>,
    /// The replacement, escaped for JSON.
    replacement: Vec<u8>,
}

impl Needle {
    /// The longest text, and the longest replacement, in bytes.
    const MAX_BYTES: usize = 1 << 20;

    /// `text` and `replacement` are WTF-8. Fails if the text is empty, or if one of them is too long.
    pub(super) fn new(text: &[u8], replacement: &[u8]) -> Result<Self> {
        if text.is_empty() || text.len().max(replacement.len()) > Self::MAX_BYTES {
            return Err(Error::argument("text must have 1 to 1048576 bytes, and replacement no more"));
        }
        let mut characters = Vec::new();
        let mut at = 0;
        while let Some((character, next)) = character_at(text, at, 0) {
            push(&mut characters, character)?;
            at = next;
        }
        let mut written = Vec::new();
        push_escaped(&mut written, replacement)?;
        Ok(Self { text: copy_of_bytes(text)?, characters, replacement: written })
    }

    /// Whether the text is anywhere in a line.
    pub(super) fn is_in(&self, line: &[u8]) -> bool {
        Occurrences::of(line, self).next().is_some()
    }

    /// The new line. None if the text is in no string that may change.
    pub(super) fn redacted(&self, line: &[u8]) -> memory::Result<Option<Vec<u8>>> {
        if !self.is_in(line) {
            return Ok(None);
        }
        let out = match (Walk { line, needle: self, out: Vec::new(), copied: 0 }).run() {
            Ok(out) => out,
            Err(ScanError::Malformed) => {
                // In a damaged line we cannot tell which parts are strings.
                let mut out = Vec::new();
                self.replace_in(line, &mut out)?;
                out
            }
            Err(ScanError::Input(error)) => return Err(error),
        };
        Ok((out != line).then_some(out))
    }

    /// Appends the inside of a string with the text replaced. Returns whether the text was in it.
    fn replace_in(&self, string: &[u8], out: &mut Vec<u8>) -> memory::Result<bool> {
        let mut copied = 0;
        for (from, to) in Occurrences::of(string, self) {
            append(out, string.get(copied..from).unwrap_or_default())?;
            append(out, &self.replacement)?;
            copied = to;
        }
        append(out, string.get(copied..).unwrap_or_default())?;
        Ok(copied > 0)
    }
}

/// The occurrences of a text in the inside of a string, each as long as possible.
struct Occurrences<'a> {
    string: &'a [u8],
    needle: &'a Needle,
    /// The position of the first escape. Before it each byte represents itself.
    first_escape: usize,
    at: usize,
}

impl<'a> Occurrences<'a> {
    fn of(string: &'a [u8], needle: &'a Needle) -> Self {
        let first_escape = memchr::memchr(b'\\', string).unwrap_or(string.len());
        Self { string, needle, first_escape, at: 0 }
    }
}

impl Iterator for Occurrences<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let text = &self.needle.text;
        let first = *text.first()?;
        if let Some(plain) = self.string.get(self.at..self.first_escape) {
            if let Some(found) = memmem::find(plain, text) {
                let from = self.at + found;
                self.at = from + text.len();
                return Some((from, self.at));
            }
            self.at = self.at.max((self.first_escape + 1).saturating_sub(text.len()));
        }
        while let Some(skipped) = memchr::memchr2(first, b'\\', self.string.get(self.at..)?) {
            let from = self.at + skipped;
            if let Some(to) = end_of_match(self.string, from, &self.needle.characters) {
                self.at = to;
                return Some((from, to));
            }
            self.at = from + escape_at(self.string.get(from..)?).map_or(1, |(_, length)| length);
        }
        self.at = self.string.len();
        None
    }
}

/// Where these characters end if they begin at this place, at the latest.
fn end_of_match(string: &[u8], from: usize, characters: &[u32]) -> Option<usize> {
    // A backslash may be one, or the first half of an escape at any level: all ways to read the string are followed at
    // once.
    let mut ends = vec![from];
    let mut next = Vec::new();
    for &character in characters {
        for &at in &ends {
            // Only this reading of the string has reached its end.
            let Some(plain) = character_at(string, at, 1) else { continue };
            let is_plain = plain.0 != BACKSLASH;
            for level in 1..=if is_plain { 1 } else { LEVELS } {
                let read =
                    character_at(string, at, level).filter(|&(read, end)| read == character && !next.contains(&end));
                next.extend(read.map(|(_, end)| end));
            }
        }
        if next.is_empty() {
            return None;
        }
        std::mem::swap(&mut ends, &mut next);
        next.clear();
    }
    ends.into_iter().max()
}

const BACKSLASH: u32 = b'\\' as u32;

/// The character at a position and its end, if escapes are decoded `level` times. A backslash that begins no escape is
/// a character.
fn character_at(string: &[u8], at: usize, level: usize) -> Option<(u32, usize)> {
    let Some(inner) = level.checked_sub(1) else { return raw_character_at(string, at) };
    let plain = character_at(string, at, inner)?;
    Some(match plain {
        (BACKSLASH, end) => escaped_character(string, end, inner).unwrap_or(plain),
        plain => plain,
    })
}

/// The character of an escape whose backslash ends at this position, and the end of the escape.
fn escaped_character(string: &[u8], at: usize, level: usize) -> Option<(u32, usize)> {
    let (kind, end) = character_at(string, at, level)?;
    let character = match u8::try_from(kind).ok()? {
        kind @ (b'"' | b'\\' | b'/') => kind,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let unit = unit_at(string, end, level)?;
            return Some(low_half(string, unit, level).unwrap_or(unit));
        }
        _ => return None,
    };
    Some((character.into(), end))
}

/// The UTF-16 unit of four hexadecimal digits, and their end.
fn unit_at(string: &[u8], at: usize, level: usize) -> Option<(u32, usize)> {
    (0..4).try_fold((0, at), |(unit, at), _| {
        let (digit, end) = character_at(string, at, level)?;
        Some((unit << 4 | char::from_u32(digit)?.to_digit(16)?, end))
    })
}

/// The character whose first surrogate is this unit, if the second one follows as an escape.
fn low_half(string: &[u8], (first, at): (u32, usize), level: usize) -> Option<(u32, usize)> {
    let (backslash, end) = character_at(string, at, level).filter(|_| (0xD800..0xDC00).contains(&first))?;
    let (kind, end) = character_at(string, end, level).filter(|_| backslash == BACKSLASH)?;
    let (second, end) = unit_at(string, end, level).filter(|_| kind == u32::from(b'u'))?;
    let is_half = (0xDC00..0xE000).contains(&second);
    is_half.then(|| (0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF), end))
}

/// The character of WTF-8 at a position, and its end. A byte that is not WTF-8 returns a number that no character has.
fn raw_character_at(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let rest = bytes.get(at..)?;
    let first = *rest.first()?;
    if first.is_ascii() {
        return Some((first.into(), at + 1));
    }
    if let Some(surrogate) = surrogate_at(rest) {
        return Some((surrogate.into(), at + 3));
    }
    let character = rest.get(..4.min(rest.len())).and_then(|start| start.utf8_chunks().next()?.valid().chars().next());
    Some(character.map_or((0x11_0000 | u32::from(first), at + 1), |c| (c.into(), at + c.len_utf8())))
}

/// The part of an entry that an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Entry,
    Message,
    /// A block of a content.
    Block,
}

type Line<'a> = &'a [u8];

/// A walk over the JSON of a line.
struct Walk<'a> {
    line: Line<'a>,
    needle: &'a Needle,
    out: Vec<u8>,
    /// The position up to which the line was copied to `out` or replaced.
    copied: usize,
}

impl<'a> Walk<'a> {
    /// The new line. None if the line is not JSON.
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

    /// Walks over an object of the entry's structure. The text is replaced only in its values.
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
        // The signature is not valid for a changed text.
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

    /// Walks over a value in which every string may change, even keys. Returns whether one changed.
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
