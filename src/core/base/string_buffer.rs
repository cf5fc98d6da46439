//! Conversion of WTF-8 to the two forms that a JavaScript engine stores: Latin-1 where every character fits, else UTF-16.

use encoding_rs::mem::{convert_str_to_utf16, convert_utf8_to_latin1_lossy, is_utf8_latin1};

use super::shared_units::SharedUnits;
use super::wtf8::to_utf16;

/// How much memory is kept for the next text: page faults of fresh memory cost more than the conversion.
const KEPT: usize = 8 << 20;

/// One converted text, in memory that the next one reuses.
#[derive(Debug, Default)]
pub struct StringBuffer {
    bytes: Vec<u8>,
    units: Vec<u16>,
    size: usize,
    is_wide: bool,
}

/// The form of a text and its code units.
#[derive(Debug, PartialEq, Eq)]
pub enum Form<'a> {
    Latin1(&'a [u8]),
    Utf16(&'a [u16]),
}

/// The code units of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Units {
    Latin1(SharedUnits<u8>),
    Utf16(SharedUnits<u16>),
}

impl Units {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Units::Latin1(units) => units.len(),
            Units::Utf16(units) => units.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl StringBuffer {
    /// The code units of a text in WTF-8.
    pub fn units_of(&mut self, text: &[u8]) -> Units {
        if text.is_ascii() {
            return Units::Latin1(text.to_vec().into());
        }
        self.set(text);
        match self.get() {
            Form::Latin1(units) => Units::Latin1(units.to_vec().into()),
            Form::Utf16(units) => Units::Utf16(units.to_vec().into()),
        }
    }

    /// Converts a text in WTF-8, in place of the last one.
    pub fn set(&mut self, text: &[u8]) {
        self.is_wide = is_wide(text);
        self.size = match self.is_wide {
            true => write_utf16(text, room(&mut self.units, text.len())),
            false => convert_utf8_to_latin1_lossy(text, room(&mut self.bytes, text.len())),
        };
    }

    /// The converted text.
    pub fn get(&self) -> Form<'_> {
        match self.is_wide {
            true => Form::Utf16(self.units.get(..self.size).unwrap_or_default()),
            false => Form::Latin1(self.bytes.get(..self.size).unwrap_or_default()),
        }
    }

    /// Frees the memory if it is more than is kept for the next text.
    pub fn trim(&mut self) {
        if self.bytes.capacity() + 2 * self.units.capacity() > KEPT {
            *self = Self::default();
        }
    }
}

/// Whether a text in WTF-8 has characters beyond Latin-1.
pub fn is_wide(text: &[u8]) -> bool {
    !is_utf8_latin1(text)
}

/// Writes a text in WTF-8 as UTF-16, into room for as many units as it has bytes. Gives how many units that were.
pub fn write_utf16(text: &[u8], room: &mut [u16]) -> usize {
    if let Ok(text) = simdutf8::basic::from_utf8(text) {
        return convert_str_to_utf16(text, room);
    }
    let units = to_utf16(text);
    if let Some(room) = room.get_mut(..units.len()) {
        room.copy_from_slice(&units);
    }
    units.len()
}

/// The memory, grown to at least `size` units.
fn room<T: Copy + Default>(memory: &mut Vec<T>, size: usize) -> &mut [T] {
    if memory.len() < size {
        memory.resize(size, T::default());
    }
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversion_leaves_nothing_of_the_one_before() {
        let mut buffer = StringBuffer::default();
        for text in
            ["ascii, and more of it", "", "Å caf\u{e9}", "wide \u{4e2d} and \u{1f600}", "short", "\u{ff}\u{100}"]
        {
            buffer.set(text.as_bytes());
            let units: Vec<u16> = text.encode_utf16().collect();
            let is_wide = units.iter().any(|unit| *unit > 0xff);
            match buffer.get() {
                Form::Latin1(bytes) => assert!(!is_wide && bytes.iter().map(|byte| u16::from(*byte)).eq(units)),
                Form::Utf16(found) => assert!(is_wide && found == units),
            }
        }
        // A surrogate without its other half.
        buffer.set(b"a\xed\xa0\x80b");
        assert_eq!(buffer.get(), Form::Utf16(&[0x61, 0xd800, 0x62]));
    }

    #[test]
    fn little_memory_is_kept() {
        let mut buffer = StringBuffer::default();
        buffer.set("\u{4e2d}".repeat(KEPT).as_bytes());
        buffer.trim();
        assert_eq!(buffer.units.capacity(), 0);
        buffer.set(b"small");
        buffer.trim();
        assert_eq!(buffer.get(), Form::Latin1(b"small"));
    }
}
