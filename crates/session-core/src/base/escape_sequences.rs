//! Terminal escape sequences (ECMA-48): colours, cursor movements, links. They are not part of a text, because a reader
//! does not see them.
//!
//! Only sequences that begin with U+001B are recognized. pi's screen also removes sequences of one character (U+009B,
//! U+009C). But programs do not write these in UTF-8, and the search's prefilter would have to parse each line with
//! another byte. An incomplete sequence is text.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use super::memory::{self, append};

/// The character that begins a sequence.
pub(crate) const ESC: u8 = 0x1b;

/// The end of the escape sequence at the start of a text; None if the text does not begin with a sequence.
pub(crate) fn sequence_end(text: &[u8]) -> Option<usize> {
    let mut rest = text.iter().copied().enumerate();
    let mut next = || rest.next().unwrap_or((0, 0));
    if next().1 != ESC {
        return None;
    }
    match next() {
        (_, b'[') => loop {
            match next() {
                (_, b' '..=b'?') => {}
                (at, b'@'..=b'~') => break Some(at + 1),
                _ => break None,
            }
        },
        // A command to the operating system (such as a link or the window's title), or a string for the device.
        (_, b']' | b'P' | b'X' | b'^' | b'_') => loop {
            match next() {
                (at, 0x07) => break Some(at + 1),
                (_, ESC) => match next() {
                    (at, b'\\') => break Some(at + 1),
                    _ => break None,
                },
                (_, ..=0x1f | 0x7f) => break None,
                _ => {}
            }
        },
        // A choice of a character set.
        (_, b'(' | b')' | b'*' | b'+' | b'#' | b'%') => match next() {
            (at, b'0'..=b'9' | b'A'..=b'Z' | b'@') => Some(at + 1),
            _ => None,
        },
        (at, b'7' | b'8' | b'=' | b'>' | b'c' | b'D' | b'E' | b'H' | b'M' | b'N' | b'O' | b'Z') => Some(at + 1),
        _ => None,
    }
}

/// Where the parts of a text between its escape sequences are.
fn plain_ranges(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let start_now = start.take()?;
        let mut from = start_now;
        while let Some(at) = memchr(ESC, text.get(from..)?).map(|found| from + found) {
            if let Some(length) = sequence_end(text.get(at..)?) {
                start = Some(at + length);
                return Some(start_now..at);
            }
            from = at + 1;
        }
        Some(start_now..text.len())
    })
}

/// The parts of a text between its escape sequences.
pub(crate) fn plain_parts(text: &str) -> impl Iterator<Item = &str> {
    plain_ranges(text.as_bytes()).filter_map(|range| text.get(range))
}

/// A text without its escape sequences.
pub(crate) fn without_sequences(text: &str) -> memory::Result<Cow<'_, str>> {
    let mut parts = plain_parts(text);
    let first = parts.next().unwrap_or_default();
    if first.len() == text.len() {
        return Ok(Cow::Borrowed(text));
    }
    let mut plain = String::new();
    plain.try_reserve(text.len())?;
    plain.push_str(first);
    parts.for_each(|part| plain.push_str(part));
    Ok(Cow::Owned(plain))
}

/// A text in WTF-8 without its escape sequences. Fails with `OutOfMemory` if the allocation fails.
pub fn wtf8_without_sequences(text: &[u8]) -> memory::Result<Vec<u8>> {
    let mut plain = Vec::new();
    plain_ranges(text).try_for_each(|range| append(&mut plain, text.get(range).unwrap_or_default()))?;
    Ok(plain)
}
