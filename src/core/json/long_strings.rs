//! Takes the long strings out of a JSON text. A JavaScript engine makes a string from bytes ten times as fast as it parses
//! one, so it parses only the rest.

use super::reader::is_json;
use super::simd::{skip_string, unescape_start, Skipped};
use crate::base::shared_units::{Memory, SharedUnits, LEAST};
use crate::base::string_buffer::{is_wide, write_utf16, Form, StringBuffer, Units};
use crate::base::wtf8::push_utf16;
use std::ops::Range;
use std::sync::Arc;

/// What replaces a long string in a text. The string's number follows where the text is parsed again. It needs no escape.
pub const STRING_PLACEHOLDER: &str = "\u{7f}";
/// The least length of a long string, in bytes of JSON text, or in units where a value is written: taking a shorter one
/// out costs more than it saves.
pub const LONG: usize = 256;
/// A text of fewer bytes is taken apart though its long strings are few, or none.
const SHORT: usize = 4 << 10;
/// Texts that are nested deeper keep their strings: the code that puts strings back is recursive.
const DEEP: usize = 64;
/// How many bytes of a string are looked at together.
const WORD: usize = 8;

/// A JSON text in the form that a JavaScript engine takes fastest.
#[derive(Debug, PartialEq, Eq)]
pub enum Parts<S = Units> {
    /// The text as it is.
    Whole(String),
    /// The text with a placeholder for each long string.
    Apart(Apart<S>),
}

/// A JSON text without its long strings.
#[derive(Debug, PartialEq, Eq)]
pub struct Apart<S = Units> {
    /// The text with a placeholder for each long string.
    pub rest: Vec<u8>,
    /// These strings.
    pub strings: Vec<S>,
}

/// Where the strings of texts are put that are taken apart together.
#[derive(Debug, Default)]
pub struct Strings {
    /// How many bytes of texts there will be.
    expected: usize,
    latin1: Room<u8>,
    utf16: Room<u16>,
    buffer: StringBuffer,
}

/// A string among those of other texts.
#[derive(Debug)]
pub enum StringLocation {
    Latin1(Range<usize>),
    Utf16(Range<usize>),
    /// It is in memory of its own.
    Apart(Units),
}

/// Units of strings, and room for more.
#[derive(Debug, Default)]
struct Room<T> {
    units: Vec<T>,
    used: usize,
}

impl Parts {
    /// The parts of a text; None if it is no JSON.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let mut strings = Strings::of(bytes.len());
        let parts = Parts::among(bytes, &mut strings)?;
        strings.share(vec![parts]).pop()
    }
}

impl Parts<StringLocation> {
    /// The parts of a text, its strings among others; None if it is no JSON.
    pub fn among(bytes: &[u8], strings: &mut Strings) -> Option<Self> {
        let text = simdutf8::basic::from_utf8(bytes).ok()?;
        // A long string that is closed is a valid one.
        let is_valid = |apart: &Apart<StringLocation>| std::str::from_utf8(&apart.rest).is_ok_and(is_json);
        match strings.add_all(|strings| take_apart_among(text, strings).filter(is_valid)) {
            Some(apart) => Some(Parts::Apart(apart)),
            None => is_json(text).then(|| Parts::Whole(text.to_owned())),
        }
    }
}

/// Takes the long strings out of a text. None if that is not worth it, if a string of the text could be mistaken for a
/// placeholder, or if the text is not JSON.
pub fn take_apart(text: &str) -> Option<Apart> {
    let mut strings = Strings::of(text.len());
    let apart = take_apart_among(text, &mut strings)?;
    match strings.share(vec![Parts::Apart(apart)]).pop()? {
        Parts::Apart(apart) => Some(apart),
        Parts::Whole(_) => None,
    }
}

fn take_apart_among(text: &str, among: &mut Strings) -> Option<Apart<StringLocation>> {
    let bytes = text.as_bytes();
    let (mut rest, mut strings) = (Vec::new(), Vec::new());
    let (mut at, mut copied, mut depth) = (0, 0, 0usize);
    let mut taken = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            b'"' => {
                let Skipped::Closed(end) = skip_string(bytes, at) else { return None };
                let string = bytes.get(at..end - 1)?;
                if string.starts_with(STRING_PLACEHOLDER.as_bytes()) || string.starts_with(b"\\u007") {
                    return None;
                }
                if string.len() >= LONG && !is_key(bytes, end) {
                    rest.extend_from_slice(bytes.get(copied..at)?);
                    rest.extend_from_slice(STRING_PLACEHOLDER.as_bytes());
                    rest.extend_from_slice(strings.len().to_string().as_bytes());
                    strings.push(among.add(string));
                    copied = end - 1;
                    taken += string.len();
                }
                at = end;
            }
            _ => {}
        }
        if depth > DEEP {
            return None;
        }
    }
    rest.extend_from_slice(bytes.get(copied..)?);
    (taken > text.len() / 2 || text.len() < SHORT).then_some(Apart { rest, strings })
}

impl Strings {
    /// Memory for the strings of so many bytes of texts.
    pub fn of(expected: usize) -> Self {
        Self { expected, ..Self::default() }
    }

    /// How many characters share the memory.
    pub fn length(&self) -> usize {
        self.latin1.used + self.utf16.used
    }

    /// Adds the strings of a text, or none if `work` refuses the text.
    fn add_all<T>(&mut self, work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let before = (self.latin1.used, self.utf16.used);
        let done = work(self);
        if done.is_none() {
            (self.latin1.used, self.utf16.used) = before;
        }
        done
    }

    /// Adds a valid JSON string, given without its quotes.
    fn add(&mut self, string: &[u8]) -> StringLocation {
        let size = self.expected.max(string.len() + WORD);
        let room = self.latin1.room(string.len() + WORD, size);
        let (text, is_ascii) = match unescape(string, room) {
            Some((length, is_ascii)) => (room.get(..length).unwrap_or_default(), is_ascii),
            None => (string, false),
        };
        if text.len() < LEAST {
            return StringLocation::Apart(self.buffer.units_of(text));
        }
        if is_ascii {
            let length = text.len();
            return StringLocation::Latin1(self.latin1.add(length));
        }
        if is_wide(text) {
            let length = write_utf16(text, self.utf16.room(text.len(), size));
            return StringLocation::Utf16(self.utf16.add(length));
        }
        self.buffer.set(text);
        let Form::Latin1(units) = self.buffer.get() else { return StringLocation::Apart(self.buffer.units_of(text)) };
        let length = units.len();
        if let Some(room) = self.latin1.room(length, size).get_mut(..length) {
            room.copy_from_slice(units);
        }
        StringLocation::Latin1(self.latin1.add(length))
    }

    /// These texts, with their strings, which share the memory.
    pub fn share(self, texts: Vec<Parts<StringLocation>>) -> Vec<Parts> {
        Self::shared(texts, self.latin1.share(), self.utf16.share())
    }

    /// These texts, with their strings, which share memory that is just large enough. The strings of other texts may be added then.
    pub fn share_copy(&mut self, texts: Vec<Parts<StringLocation>>) -> Vec<Parts> {
        Self::shared(texts, self.latin1.share_copy(), self.utf16.share_copy())
    }

    fn shared(texts: Vec<Parts<StringLocation>>, latin1: Arc<Memory<u8>>, utf16: Arc<Memory<u16>>) -> Vec<Parts> {
        let string = |place| match place {
            StringLocation::Latin1(range) => Units::Latin1(SharedUnits::of(&latin1, range)),
            StringLocation::Utf16(range) => Units::Utf16(SharedUnits::of(&utf16, range)),
            StringLocation::Apart(units) => units,
        };
        let parts = |parts| match parts {
            Parts::Whole(text) => Parts::Whole(text),
            Parts::Apart(Apart { rest, strings }) => {
                Parts::Apart(Apart { rest, strings: strings.into_iter().map(string).collect() })
            }
        };
        texts.into_iter().map(parts).collect()
    }
}

impl<T: Copy + Default> Room<T> {
    /// Room for so many units more. The first time there is room for `expected`: pages that are not written take no memory.
    fn room(&mut self, count: usize, expected: usize) -> &mut [T] {
        if self.units.is_empty() {
            self.units = vec![T::default(); expected.max(count)];
        }
        if self.units.len() < self.used + count {
            self.units.resize(self.used + count, T::default());
        }
        self.units.get_mut(self.used..).unwrap_or_default()
    }

    /// Adds so many units, which are in the room.
    fn add(&mut self, count: usize) -> Range<usize> {
        let from = self.used;
        self.used += count;
        from..self.used
    }

    fn share(mut self) -> Arc<Memory<T>> {
        self.units.truncate(self.used);
        self.units.shrink_to_fit();
        Memory::new(self.units)
    }

    fn share_copy(&mut self) -> Arc<Memory<T>> {
        let used = std::mem::take(&mut self.used);
        Memory::new(self.units.get(..used).unwrap_or_default().to_vec())
    }
}

/// Whether a colon comes next.
fn is_key(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) == Some(&b':')
}

/// Writes the WTF-8 of a valid JSON string's text, given without its quotes. Gives how long it is, and whether it is all
/// ASCII; None if it is no string. What an escape stands for is shorter than the escape, but a word more is written than
/// is used: the room must be a word longer than the string.
pub fn unescape(string: &[u8], room: &mut [u8]) -> Option<(usize, bool)> {
    const SLASHES: u64 = u64::from_ne_bytes([b'\\'; WORD]);
    const ONES: u64 = u64::from_ne_bytes([1; WORD]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; WORD]);
    let (mut at, mut to, mut all) = unescape_start(string, room);
    loop {
        let rest = string.get(at..)?;
        if let Some(word) = rest.first_chunk::<WORD>() {
            room.get_mut(to..to + WORD)?.copy_from_slice(word);
            let word = u64::from_le_bytes(*word);
            all |= word;
            // The lowest bit that is set is of the first backslash.
            let found = word ^ SLASHES;
            let found = found.wrapping_sub(ONES) & !found & HIGH;
            let length = if found == 0 { WORD } else { found.trailing_zeros() as usize / 8 };
            at += length;
            to += length;
            if found == 0 {
                continue;
            }
        } else {
            let Some(&byte) = rest.first() else { break };
            if byte != b'\\' {
                *room.get_mut(to)? = byte;
                all |= u64::from(byte);
                at += 1;
                to += 1;
                continue;
            }
        }
        let escape = string.get(at..)?;
        let byte = match escape.get(1)? {
            kind @ (b'"' | b'\\' | b'/') => *kind,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (units, length) = units_of(escape)?;
                let mut text = Vec::new();
                push_utf16(&mut text, &units);
                room.get_mut(to..to + text.len())?.copy_from_slice(&text);
                all |= text.iter().fold(0, |all, byte| all | u64::from(*byte));
                let (read, written, bits) =
                    unescape_start(string.get(at + length..)?, room.get_mut(to + text.len()..)?);
                at += length + read;
                to += text.len() + written;
                all |= bits;
                continue;
            }
            _ => return None,
        };
        *room.get_mut(to)? = byte;
        at += 2;
        to += 1;
    }
    Some((to, all & HIGH == 0))
}

/// The units of the `\uXXXX` escapes that the bytes begin with, as two that follow one another may be the halves of a
/// character, and how many bytes they take.
fn units_of(escapes: &[u8]) -> Option<(Vec<u16>, usize)> {
    let mut units = Vec::new();
    while let Some(unit) = unit_of(escapes.get(6 * units.len()..).unwrap_or_default()) {
        units.push(unit);
    }
    let length = 6 * units.len();
    (length > 0).then_some((units, length))
}

/// The unit of an escape like `\u65e5`, which the bytes begin with.
fn unit_of(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit: u16, digit| Some(unit << 4 | (*digit as char).to_digit(16)? as u16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::wtf8::from_utf16;
    use crate::json::quoted;
    use proptest::prelude::*;

    fn unescaped(string: &str) -> Option<Vec<u8>> {
        // What was there before does not matter.
        let mut room = b"before".repeat(9 + string.len() / 6);
        let (length, is_ascii) = unescape(string.as_bytes(), &mut room)?;
        assert!(!is_ascii || room[..length].is_ascii());
        room.truncate(length);
        Some(room)
    }

    /// Letters, characters that are escaped, and any others.
    fn unit() -> impl Strategy<Value = u16> {
        let escaped = prop::sample::select("\\\"\n\r\t\u{8}\u{c}\u{1}".encode_utf16().collect::<Vec<_>>());
        prop_oneof![8 => 0x20u16..0x7f, 4 => escaped, 1 => Just(u16::from(b'u')), 1 => 0u16..0x100, 1 => 0xd7f0u16..0xe010, 1 => any::<u16>()]
    }

    proptest! {
        #[test]
        fn what_was_escaped_comes_back(units in prop::collection::vec(unit(), 0..64), plain in 0usize..40) {
            let text = ["x".repeat(plain).into_bytes(), from_utf16(&units)].concat();
            let json = quoted(&text);
            prop_assert_eq!(unescaped(&json[1..json.len() - 1]), Some(text));
        }
    }

    #[test]
    fn escapes_may_begin_at_any_byte_of_a_block() {
        let escapes = [
            r#"\""#,
            r"\\",
            r"\/",
            r"\b",
            r"\f",
            r"\n",
            r"\r",
            r"\t",
            r"\u0041",
            r"\\n",
            r"\\\n",
            r"\\\\u",
            r"\\\u65e5",
        ];
        for (escape, before) in escapes.iter().flat_map(|escape| (0..70).map(move |before| (escape, before))) {
            let json = format!("{}{escape}u{escape}nrt{}", "x".repeat(before), "bfnrtu".repeat(12));
            let text: String = serde_json::from_str(&format!("\"{json}\"")).expect("JSON");
            assert_eq!(unescaped(&json), Some(text.into_bytes()), "{json}");
        }
    }

    #[test]
    fn each_escape_is_one_character() {
        assert_eq!(unescaped(r#"\"\\\/\b\f\n\r\t\u0041\u65E5"#).as_deref(), Some("\"\\/\x08\x0c\n\r\tA日".as_bytes()));
        // Two halves make a character, whether they are escaped or not both.
        assert_eq!(unescaped(r"\ud83d\ude00").as_deref(), Some("😀".as_bytes()));
        assert_eq!(unescaped(r"\ud83dx\ude00"), Some(from_utf16(&[0xd83d, 0x78, 0xde00])));
        for bad in [r"\", r"\x", r"\u12", r"\u12g4", r"a\u"] {
            assert_eq!(unescaped(bad), None, "{bad}");
        }
    }

    #[test]
    fn long_strings_are_taken_out_and_keys_are_not() {
        let long = "x".repeat(LONG);
        let text = format!(r#"{{"{long}" : 1,"a":["{long}\n",{{"b":"{long}"}},"short"],"c":"{long}{long}"}}"#);
        let apart = take_apart;
        let Apart { rest: found, strings } = apart(&text).expect("long strings");
        let rest = format!("{{\"{long}\" : 1,\"a\":[\"\x7f0\",{{\"b\":\"\x7f1\"}},\"short\"],\"c\":\"\x7f2\"}}");
        assert_eq!(String::from_utf8_lossy(&found), rest);
        let units = |text: String| Units::Latin1(text.into_bytes().into());
        assert_eq!(strings, [units(format!("{long}\n")), units(long.clone()), units([&*long, &*long].concat())]);
        let short = format!(r#"["{}"]"#, "x".repeat(LONG - 1));
        assert_eq!(apart(&short), Some(Apart { rest: short.clone().into(), strings: Vec::new() }));
        assert_eq!(apart(&format!("[{}1]", "1,".repeat(SHORT))), None);
        // A text that is refused leaves nothing among the strings of others.
        let mut among = Strings::of(0);
        for refused in
            [format!(r#"["{long}{long}{long}{long}","\u007f"]"#), format!(r#"["{long}{long}{long}{long}",]"#)]
        {
            assert!(!matches!(Parts::among(refused.as_bytes(), &mut among), Some(Parts::Apart(_))));
            assert_eq!(among.length(), 0);
        }
        // One that begins with a mark could be mistaken.
        for marked in ["\x7f0", r"\u007f0", r"\u007F"] {
            assert!(apart(&format!(r#"["{long}","{marked}"]"#)).is_none(), "{marked}");
        }
        let deep = format!("{}\"{long}\"{}", "[".repeat(DEEP + 1), "]".repeat(DEEP + 1));
        assert!(apart(&deep).is_none());
    }
}
