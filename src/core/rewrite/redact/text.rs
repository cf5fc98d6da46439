//! Replaces a text in the strings of a line.
//!
//! The strings of a line may write any character of the text as an escape, and a string may itself hold JSON, as arguments of tools do. So
//! the text is compared with what the strings mean, character by character, and also looked for as JSON writes it, twice over.

use memchr::memmem;

use crate::base::error::{Error, Result};
use crate::base::memory::{self, append, copy_of_bytes};
use crate::base::wtf8::{encode_wtf8, push_escaped};
use crate::io::line_reader::line_text;
use crate::json::long_strings::escape_at;
use crate::json::reader::is_json;

/// How often the text may have been written as JSON inside a string.
const LEVELS: usize = 2;

/// The deepest container that belongs to an entry's structure: a block of a message's content.
const DEEPEST: usize = 4;

/// The keys whose values hold a session together, or say what kind of thing a value is.
pub(super) const KEPT: [&[u8]; 19] = [
    b"type",
    b"id",
    b"parentId",
    b"timestamp",
    b"targetId",
    b"fromId",
    b"firstKeptEntryId",
    b"customType",
    b"role",
    b"toolCallId",
    b"toolName",
    b"api",
    b"provider",
    b"model",
    b"modelId",
    b"thinkingLevel",
    b"stopReason",
    b"mimeType",
    b"responseId",
];

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
        let mut out = Vec::new();
        let is_json = is_json(&line_text(line)?);
        if is_json {
            Walk { line, needle: self, out: &mut out, at: 0, copied: 0 }.run()?;
        } else {
            // Of a damaged line nobody knows what is a string.
            self.replace_in(line, &mut out)?;
        }
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

/// A way through the JSON of a line, which is known to be valid.
struct Walk<'a> {
    line: &'a [u8],
    needle: &'a Needle,
    out: &'a mut Vec<u8>,
    at: usize,
    copied: usize,
}

/// An open container of an entry's structure.
struct Container<'a> {
    is_object: bool,
    /// The key before the next value.
    key: &'a [u8],
    /// Whether a thinking block lost some of its text: its signature is not valid any more.
    is_unsigned: bool,
}

impl<'a> Walk<'a> {
    fn run(mut self) -> memory::Result<()> {
        let mut open: Vec<Container<'a>> = Vec::with_capacity(DEEPEST);
        // How many containers are open that are not part of the structure: in them every string may change.
        let mut free = 0usize;
        while let Some(skipped) =
            self.line.get(self.at..).and_then(|rest| rest.iter().position(|byte| b"\"{[}]".contains(byte)))
        {
            self.at += skipped;
            let byte = self.line.get(self.at).copied().unwrap_or_default();
            match byte {
                b'{' | b'[' => {
                    if free == 0 && is_structure(&open, byte == b'{') {
                        open.push(Container { is_object: byte == b'{', key: b"", is_unsigned: false });
                    } else {
                        free += 1;
                    }
                    self.at += 1;
                }
                b'}' | b']' => {
                    if free > 0 {
                        free -= 1;
                    } else {
                        open.pop();
                    }
                    self.at += 1;
                }
                _ => {
                    let is_block = open.len() > 2;
                    self.string(open.last_mut().filter(|_| free == 0), is_block)?;
                }
            }
        }
        append(self.out, self.line.get(self.copied..).unwrap_or_default())
    }

    /// Passes a string, a key or a value. `container` is what it stands in, if that is part of the structure, `is_block` whether that is
    /// a block of content.
    fn string(&mut self, container: Option<&mut Container<'a>>, is_block: bool) -> memory::Result<()> {
        let from = self.at + 1;
        let mut to = from;
        while let Some(skipped) = memchr::memchr2(b'"', b'\\', self.line.get(to..).unwrap_or_default()) {
            to += skipped;
            if self.line.get(to) == Some(&b'"') {
                break;
            }
            to += 2;
        }
        self.at = to + 1;
        let line = self.line;
        let string = line.get(from..to).unwrap_or_default();
        let Some(container) = container else { return self.replace(from, string).map(drop) };
        let after = line.get(self.at..).unwrap_or_default().iter().find(|byte| !byte.is_ascii_whitespace());
        if container.is_object && after == Some(&b':') {
            container.key = string;
            return Ok(());
        }
        if container.is_object && container.key == b"thinkingSignature" && container.is_unsigned {
            return self.put(from, b"", to);
        }
        let is_kept = KEPT.contains(&container.key) || is_block && container.key == b"name";
        if container.is_object && is_kept {
            return Ok(());
        }
        if self.replace(from, string)? && container.key == b"thinking" {
            container.is_unsigned = true;
        }
        Ok(())
    }

    fn replace(&mut self, from: usize, string: &[u8]) -> memory::Result<bool> {
        if !self.needle.is_in(string) {
            return Ok(false);
        }
        append(self.out, self.line.get(self.copied..from).unwrap_or_default())?;
        self.copied = from + string.len();
        self.needle.replace_in(string, self.out)
    }

    fn put(&mut self, from: usize, bytes: &[u8], to: usize) -> memory::Result<()> {
        append(self.out, self.line.get(self.copied..from).unwrap_or_default())?;
        self.copied = to;
        append(self.out, bytes)
    }
}

/// Whether a container that opens now is part of an entry's structure: the entry, its message, a list of content, a block of it.
fn is_structure(open: &[Container<'_>], is_object: bool) -> bool {
    match open.last() {
        None => is_object,
        Some(outer) if outer.is_object => match outer.key {
            b"message" => is_object && open.len() == 1,
            b"content" => !is_object && open.len() <= 2,
            _ => false,
        },
        Some(_) => is_object,
    }
}
