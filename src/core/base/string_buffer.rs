//! A text in the letters that JavaScript's engines keep: a byte each where all are Latin-1, else two.

use encoding_rs::mem::{convert_str_to_utf16, convert_utf8_to_latin1_lossy, is_utf8_latin1};

use super::wtf8::to_utf16;

/// How much memory is kept for the next text: fresh memory is what costs most.
const KEPT: usize = 8 << 20;

/// A text's letters, and memory for the next one's.
#[derive(Debug, Default)]
pub struct Letters {
    bytes: Vec<u8>,
    units: Vec<u16>,
    size: usize,
    is_wide: bool,
}

/// What a text's letters are.
#[derive(Debug, PartialEq, Eq)]
pub enum Form<'a> {
    Latin1(&'a [u8]),
    Utf16(&'a [u16]),
}

impl Letters {
    /// Makes them those of a text in WTF-8.
    pub fn set(&mut self, text: &[u8]) {
        self.is_wide = !is_utf8_latin1(text);
        if !self.is_wide {
            self.size = convert_utf8_to_latin1_lossy(text, room(&mut self.bytes, text.len()));
        } else if let Ok(text) = simdutf8::basic::from_utf8(text) {
            self.size = convert_str_to_utf16(text, room(&mut self.units, text.len()));
        } else {
            self.units = to_utf16(text);
            self.size = self.units.len();
        }
    }

    /// The letters.
    pub fn get(&self) -> Form<'_> {
        match self.is_wide {
            true => Form::Utf16(self.units.get(..self.size).unwrap_or_default()),
            false => Form::Latin1(self.bytes.get(..self.size).unwrap_or_default()),
        }
    }

    /// Lets memory go that is too much to keep.
    pub fn trim(&mut self) {
        if self.bytes.capacity() + 2 * self.units.capacity() > KEPT {
            *self = Self::default();
        }
    }
}

/// The memory, with room for that many.
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
    fn letters_are_those_of_the_text_whatever_was_there_before() {
        let mut letters = Letters::default();
        for text in
            ["ascii, and more of it", "", "Å caf\u{e9}", "wide \u{4e2d} and \u{1f600}", "short", "\u{ff}\u{100}"]
        {
            letters.set(text.as_bytes());
            let units: Vec<u16> = text.encode_utf16().collect();
            let is_wide = units.iter().any(|unit| *unit > 0xff);
            match letters.get() {
                Form::Latin1(bytes) => assert!(!is_wide && bytes.iter().map(|byte| u16::from(*byte)).eq(units)),
                Form::Utf16(found) => assert!(is_wide && found == units),
            }
        }
        // A surrogate without its other half.
        letters.set(b"a\xed\xa0\x80b");
        assert_eq!(letters.get(), Form::Utf16(&[0x61, 0xd800, 0x62]));
    }

    #[test]
    fn little_memory_is_kept() {
        let mut letters = Letters::default();
        letters.set("\u{4e2d}".repeat(KEPT).as_bytes());
        letters.trim();
        assert_eq!(letters.units.capacity(), 0);
        letters.set(b"small");
        letters.trim();
        assert_eq!(letters.get(), Form::Latin1(b"small"));
    }
}
