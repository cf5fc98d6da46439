//! Salvages whole objects from lines that are not JSON, mostly two fused lines: the start of one, and a whole one after
//! it.
//!
//! The scanner reads a line once and stops at the first byte that is not JSON. If an object begins at this byte, or at
//! the quote before it that ended an incomplete string, the line is cut there. Whole objects are salvaged at the start
//! of the line, after other whole objects, and after a cut. An object at the place of a value belongs to the incomplete
//! object around it, however similar to an entry it is, because the arguments of a tool call are not entries. (If a
//! line broke off exactly before a value and was then fused with a whole line, that line is not salvaged. The backup
//! contains it.)
//!
//! No byte is read more than twice: only the opening bracket, the white space and the quote at a cut are read again.

use crate::base::error::Result;
use crate::base::memory;
use crate::format::entry::{EntryHead, Parent};
use crate::index::surveyed_line::{entry_in, SurveyedLine};
use crate::json::scanner::{ScanResult, Scanner};
use crate::json::string_bytes;
use crate::lines::line_reader::owned_text;
use crate::storage::storage::{bytes_at, Storage};

/// Longer damaged lines are not searched for entries, because after a power failure, or in a sparse file, a line may
/// consist of any number of zeros.
const MAX_SEARCHED_BYTES: u64 = 64 << 20;

/// The text of a damaged line; invalid UTF-8 becomes U+FFFD. None if the line is too long.
pub(crate) fn damaged_text(storage: &dyn Storage, line: &SurveyedLine) -> Result<Option<String>> {
    if line.len > MAX_SEARCHED_BYTES {
        return Ok(None);
    }
    Ok(Some(owned_text(bytes_at(storage, line.span())?)?))
}

/// The head of an entry that was salvaged from a line. It must have a parent, because blocks inside of messages have
/// types too, and some have ids.
pub(crate) fn salvaged_entry(text: &str) -> memory::Result<Option<EntryHead<'static>>> {
    Ok(entry_in(text)?.filter(|head| matches!(head.parent, Parent::Null | Parent::Id(_))))
}

/// The fields that are read from an incomplete object.
const KNOWN: [&str; 9] =
    ["type", "id", "parentId", "version", "timestamp", "cwd", "parentSession", "branchedFrom", "kind"];

/// Fields of an object whose end may be missing, as their JSON texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields<'a> {
    /// The values of the [`KNOWN`] fields.
    values: [Option<&'a str>; KNOWN.len()],
    /// The index of the field that was added last, and its value before.
    last: Option<(usize, Option<&'a str>)>,
}

impl<'a> Fields<'a> {
    /// The text of a field's value. As in JavaScript, the last one counts.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let at = KNOWN.iter().position(|known| *known == name)?;
        self.values.get(at).copied().flatten()
    }

    fn add(&mut self, at: usize, value: &'a str) {
        if let Some(place) = self.values.get_mut(at) {
            self.last = Some((at, place.replace(value)));
        }
    }

    /// Restores the last field's earlier value if its value ends after this address.
    fn cut(&mut self, end: usize) {
        let Some((place, before)) = self.last.and_then(|(at, before)| Some((self.values.get_mut(at)?, before))) else {
            return;
        };
        if place.is_some_and(|value| value.as_ptr() as usize + value.len() > end) {
            *place = before;
        }
    }

    fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SalvagedPiece<'a> {
    /// The text of a whole object; None if it is not whole.
    pub whole: Option<&'a str>,
    /// The fields that can be read.
    pub fields: Fields<'a>,
}

impl SalvagedPiece<'_> {
    /// Whether it is a header, or the rest of one.
    pub(crate) fn is_header(&self) -> bool {
        self.has("type", b"session")
    }

    /// Whether a field is this string.
    pub(crate) fn has(&self, name: &str, text: &[u8]) -> bool {
        let value = self.fields.get(name).and_then(|value| string_bytes(value).ok().flatten());
        value.as_deref() == Some(text)
    }
}

/// The pieces of a line, in order. Consecutive damaged pieces without readable fields count as one.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = SalvagedPiece<'_>> {
    let (mut from, mut is_after_cut, mut is_after_whole) = (start(text, 0), false, true);
    std::iter::from_fn(move || {
        while from < text.len() {
            let (fields, end) = scan(text, from);
            let whole = match end {
                // After a cut an object counts only if it is not part of something larger.
                End::Whole(end) if !(is_after_cut && is_part_of_more(text, end)) => text.get(from..end),
                _ => None,
            };
            (from, is_after_cut) = match (end, whole) {
                (End::Whole(end), Some(_)) => (start(text, end), false),
                (End::Incomplete(Some(cut)), _) => (cut.max(from + 1), true),
                _ => (text.len(), false),
            };
            if whole.is_some() || !fields.is_empty() || is_after_whole {
                is_after_whole = whole.is_some();
                return Some(SalvagedPiece { whole, fields });
            }
        }
        None
    })
}

/// The start of the content from this byte on, after white space, control characters such as zeros, and byte order
/// marks.
fn start(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    text.len() - rest.trim_start_matches(|c: char| c <= ' ' || c == '\u{feff}').len()
}

/// Whether the value that ends at this byte is part of something larger.
fn is_part_of_more(text: &str, end: usize) -> bool {
    text.as_bytes().get(start(text, end)).is_some_and(|byte| b",:]}".contains(byte))
}

#[derive(Clone, Copy)]
enum End {
    /// The value is whole and ends before this byte.
    Whole(usize),
    /// The value broke off. A new value begins at this byte, if there is one.
    Incomplete(Option<usize>),
}

/// Scans the value at `from`.
fn scan(text: &str, from: usize) -> (Fields<'_>, End) {
    let bytes = text.as_bytes();
    let mut fields = Fields::default();
    let mut scanner = Scanner::starting_at(text, from);
    let scanned = members(&mut scanner, &mut fields);
    let at = scanner.at();
    let is_object = |at: &usize| bytes.get(*at) == Some(&b'{');
    match scanned {
        Ok(()) => return (fields, End::Whole(at)),
        Err(_) if is_object(&start(text, at)) => return (fields, End::Incomplete(Some(start(text, at)))),
        Err(_) => {}
    }
    // An incomplete string ends at the first quote of the next fused line, so that line begins before the quote.
    let before = |at: usize| bytes.get(..at)?.iter().rposition(|byte| !byte.is_ascii_whitespace());
    let quote = before(at).filter(|&quote| at < bytes.len() && bytes.get(quote) == Some(&b'"'));
    let cut = quote.and_then(before).filter(|&cut| cut > from).filter(is_object);
    if let Some(cut) = cut {
        // The text of such a string is not the text that was written.
        fields.cut(text.as_ptr() as usize + cut);
    }
    (fields, End::Incomplete(cut))
}

/// Scans an object and adds its known fields, or scans another value.
fn members<'a>(scanner: &mut Scanner<&'a str>, fields: &mut Fields<'a>) -> ScanResult<(), &'a str> {
    if scanner.next_token()? != Some(b'{') {
        return scanner.skip_value();
    }
    let find = |key: &[u8]| KNOWN.iter().position(|known| known.as_bytes() == key);
    scanner.members(find, |scanner, known| {
        let is_container = matches!(scanner.next_token()?, Some(b'{' | b'['));
        let value = scanner.span(Scanner::skip_value)?;
        if let Some(known) = known.filter(|_| !is_container) {
            fields.add(known, value);
        }
        Ok(())
    })
}
