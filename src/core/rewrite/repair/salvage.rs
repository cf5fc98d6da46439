//! Salvage of whole objects from lines that are no JSON: two lines that were fused, a torn line with a whole one behind it.
//!
//! The scanner reads a line once and stops at the first byte that is no JSON; there the line is cut. A whole object is
//! salvaged at the start of the line, behind another whole one, and behind a cut: inside of a string that never ended, or
//! where no value may be. An object where a value may be belongs to the torn object around it, however much it resembles an
//! entry: the arguments of a tool call are no entries. (If a line was torn exactly before a value and then fused with a whole
//! one, that one is lost. The backup has it.)
//!
//! No byte is read more than twice: only the opening bracket, the white space and the quote at a cut are read again.

use std::convert::Infallible;

use crate::core::json::scanner::{ScanError, Scanner};

/// Fields of an object that may have lost its end, as their JSON texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields<'a>(Vec<(&'static str, &'a str)>);

/// The fields that are taken from half a line.
const KNOWN: [&str; 8] = ["type", "id", "parentId", "version", "timestamp", "cwd", "parentSession", "branchedFrom"];

impl<'a> Fields<'a> {
    /// The text of a field's value; as in JavaScript the last counts.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The text of a whole object; None for something that cannot be read.
    pub whole: Option<&'a str>,
    /// The fields that can be read.
    pub fields: Fields<'a>,
}

impl Piece<'_> {
    /// Whether it is a header, or what is left of one.
    pub fn is_header(&self) -> bool {
        self.fields.get("type") == Some("\"session\"")
    }
}

/// The pieces of a line, in order.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut all: Vec<Piece<'_>> = Vec::new();
    let lose = |all: &mut Vec<Piece<'_>>| {
        if all.last().is_none_or(|last| last.whole.is_some()) {
            all.push(Piece { whole: None, fields: Fields::default() });
        }
    };
    let bytes = text.as_bytes();
    let mut from = 0;
    let mut start = Start::Sure;
    while let Some(&byte) = bytes.get(from) {
        if start == Start::Sure && is_nothing(byte, text, from) {
            from += if byte > b' ' { BOM.len() } else { 1 };
            continue;
        }
        if !(byte == b'{' || byte == b'[' && start == Start::Sure) {
            lose(&mut all);
            start = Start::Doubtful;
            match memchr::memchr(b'{', bytes.get(from..).unwrap_or_default()) {
                Some(at) => from += at,
                None => break,
            }
            continue;
        }
        match scan(text, from) {
            (_, End::Whole(end)) if is_part(bytes, start, from, end) => {
                lose(&mut all);
                (start, from) = (Start::Doubtful, end);
            }
            (fields, End::Whole(end)) => {
                all.push(Piece { whole: text.get(from..end), fields });
                (start, from) = (Start::Sure, end);
            }
            (fields, End::Torn { at, cut }) => {
                // What began behind something unreadable, and cannot be read either, is the same loss unless it says more.
                match fields.0.is_empty() {
                    true => lose(&mut all),
                    false => all.push(Piece { whole: None, fields }),
                }
                start = if cut { Start::Cut } else { Start::Doubtful };
                // Where it was torn is behind the bracket that it began with.
                from = at.max(from + 1);
            }
        }
    }
    all
}

const BOM: &str = "\u{feff}";

/// Whether nothing is lost with this: white space, zeros and their like, a byte order mark.
fn is_nothing(byte: u8, text: &str, at: usize) -> bool {
    byte <= b' ' || text.get(at..).is_some_and(|rest| rest.starts_with(BOM))
}

/// How sure it is that what comes next is no part of something else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The start of the line, or a whole object, stands before it.
    Sure,
    /// It cannot be part of what was being read.
    Cut,
    /// Something unreadable stands before it.
    Doubtful,
}

/// Whether an object goes on as the part of something: behind it, or before it if what is there cannot be read.
fn is_part(bytes: &[u8], start: Start, from: usize, end: usize) -> bool {
    let next = bytes.get(end..).unwrap_or_default().iter().find(|byte| **byte > b' ');
    let goes_on = next.is_some_and(|byte| b",:]}".contains(byte));
    match start {
        Start::Sure => false,
        Start::Cut => goes_on,
        Start::Doubtful => {
            let before = bytes.get(..from).unwrap_or_default().iter().rev().find(|byte| !is_space(**byte));
            goes_on || before.is_some_and(|byte| b",:[".contains(byte))
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

enum End {
    /// It is whole and ends before this byte.
    Whole(usize),
    /// It broke off before this byte; `cut`: something new begins there.
    Torn { at: usize, cut: bool },
}

/// Scans the object or the list at `from`.
fn scan(text: &str, from: usize) -> (Fields<'_>, End) {
    let bytes = text.as_bytes();
    let mut fields = Fields::default();
    let mut scanner = Scanner::starting_at(bytes, from);
    let scanned = members(&mut scanner, text, &mut fields);
    let at = scanner.at();
    if scanned.is_ok() {
        return (fields, End::Whole(at));
    }
    if bytes.get(at) == Some(&b'{') {
        return (fields, End::Torn { at, cut: true });
    }
    // A torn string ends at the first quote of the line that follows it: that line begins before the quote.
    let before = |at: usize| bytes.get(..at)?.iter().rposition(|byte| !is_space(*byte));
    let quote = before(at).filter(|&quote| at < bytes.len() && bytes.get(quote) == Some(&b'"'));
    match quote.and_then(before).filter(|&cut| cut > from && bytes.get(cut) == Some(&b'{')) {
        Some(cut) => {
            // The text of such a string is not what was written.
            fields.0.retain(|(_, value)| value.as_ptr() as usize + value.len() <= text.as_ptr() as usize + cut);
            (fields, End::Torn { at: cut, cut: true })
        }
        None => (fields, End::Torn { at, cut: false }),
    }
}

/// Scans an object, whose known fields are added, or a list.
fn members<'a>(
    scanner: &mut Scanner<&[u8]>,
    text: &'a str,
    fields: &mut Fields<'a>,
) -> Result<(), ScanError<Infallible>> {
    if scanner.next_token()? != Some(b'{') {
        return scanner.skip_value();
    }
    scanner.skip_byte();
    let mut first = true;
    while scanner.next_element(&mut first, b'}')? {
        let key = scanner.key(usize::MAX)?;
        let known = key.get(1..key.len() - 1).and_then(|key| KNOWN.into_iter().find(|known| known.as_bytes() == key));
        scanner.expect(b':')?;
        let is_container = matches!(scanner.next_token()?, Some(b'{' | b'['));
        let from = scanner.at();
        scanner.skip_value()?;
        let value = text.get(from..scanner.at());
        fields.0.extend(known.filter(|_| !is_container).zip(value));
    }
    scanner.expect(b'}')
}
