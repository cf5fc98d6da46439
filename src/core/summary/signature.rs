//! Signatures: which groups of four bytes occur in the texts of a session that are searched by default. A search leaves out a
//! session whose signature lacks a group of the query.
//!
//! Texts are folded, as a query is. Only every second group of a text is added, so a word is looked for twice: as if it began at an
//! even position of its text, and at an odd one. A signature may have groups that no text has, never the reverse. It therefore
//! takes a text as JSON writes it where that has the same groups, and characters that JSON escapes are not looked for.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::base::fold::folded;
use crate::base::memory;
use crate::base::wtf8::to_string_lossy;
use crate::io::line_reader::text_of;
use crate::json::string_bytes;

/// The sizes of a signature in bytes, powers of two.
const LARGEST: usize = 16 << 10;
const SMALLEST: usize = 64;

/// How many bytes a group has, and how far apart the groups of a text are.
const GROUP: usize = 4;
const STEP: usize = 2;

/// What JSON may write in place of a character that it need not escape.
static ESCAPES: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| [Finder::new(b"\\u"), Finder::new(b"\\/")]);

/// The groups of a session's texts: a set of bits, one or more groups to each.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature(Box<[u8; LARGEST]>);

impl Default for Signature {
    fn default() -> Self {
        Self(Box::new([0; LARGEST]))
    }
}

impl Signature {
    /// Adds a text: a JSON string as it is in the file.
    pub fn add_json(&mut self, json: &[u8]) -> memory::Result<()> {
        if ESCAPES.iter().any(|escape| escape.find(json).is_some()) {
            string_bytes(&text_of(json))?.iter().for_each(|text| self.add_text(text));
        } else if json.is_ascii() {
            self.add_groups(json);
        } else {
            self.add_groups(folded(&text_of(json)).as_bytes());
        }
        Ok(())
    }

    /// Adds a text in WTF-8.
    pub fn add_text(&mut self, text: &[u8]) {
        self.add_groups(folded(&to_string_lossy(text)).as_bytes());
    }

    fn add_groups(&mut self, text: &[u8]) {
        for group in text.windows(GROUP).step_by(STEP).filter_map(group_of) {
            let at = bit_of(group) % (8 * LARGEST);
            if let Some(byte) = self.0.get_mut(at / 8) {
                *byte |= 1 << (at % 8);
            }
        }
    }

    /// The signature in as few bytes as it needs: at most a third of the bits are set, unless it has the largest size.
    pub fn pack(&self) -> Vec<u8> {
        let mut bits = self.0.to_vec();
        let count = |bits: &[u8]| bits.iter().map(|byte| byte.count_ones() as usize).sum::<usize>();
        while bits.len() > SMALLEST && 6 * count(&bits) < 8 * bits.len() {
            let upper = bits.split_off(bits.len() / 2);
            bits.iter_mut().zip(upper).for_each(|(byte, upper)| *byte |= upper);
        }
        bits
    }

    /// What was packed, with more groups than before; None if that is not a signature.
    pub fn unpack(packed: &[u8]) -> Option<Self> {
        let mut bits = Self::default();
        let is_packed = packed.len().is_power_of_two() && packed.len() <= LARGEST;
        is_packed.then(|| bits.0.chunks_exact_mut(packed.len()).for_each(|part| part.copy_from_slice(packed)))?;
        Some(bits)
    }
}

fn group_of(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_le_bytes)
}

/// The bit of a group, modulo the number of bits. Of ASCII letters the case is ignored.
fn bit_of(group: u32) -> usize {
    (u64::from(group | 0x2020_2020).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

/// The groups of a query.
pub struct QueryGroups {
    /// Of each part of a word: those of an even and of an odd position.
    parts: Vec<[Vec<u32>; STEP]>,
}

impl QueryGroups {
    /// The groups of folded words; None if they have too few letters.
    pub fn of(words: &[String]) -> Option<Self> {
        let is_escaped = |c: char| c < ' ' || matches!(c, '"' | '\\' | '\u{fffd}');
        let parts = words.iter().flat_map(|word| word.split(is_escaped)).filter(|part| part.len() > GROUP);
        let groups_from = |part: &str, from: usize| {
            let groups = part.as_bytes().get(from..).unwrap_or_default().windows(GROUP).step_by(STEP);
            groups.filter_map(group_of).collect()
        };
        let parts: Vec<_> = parts.map(|part| [groups_from(part, 0), groups_from(part, 1)]).collect();
        (!parts.is_empty()).then_some(Self { parts })
    }

    /// Whether texts with this packed signature can hold the words.
    pub fn may_be_in(&self, packed: &[u8]) -> bool {
        let has = |group: &u32| {
            let at = bit_of(*group) % (8 * packed.len());
            packed.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
        };
        let may_hold = |part: &[Vec<u32>; STEP]| part.iter().any(|groups| groups.iter().all(has));
        !packed.len().is_power_of_two() || self.parts.iter().all(may_hold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::quoted;
    use proptest::prelude::*;

    fn groups(query: &str) -> Option<QueryGroups> {
        QueryGroups::of(&[folded(query)])
    }

    proptest! {
        /// Every part of a text may be in it, however JSON writes it, also after the signature was packed and continued.
        #[test]
        fn a_text_is_never_denied(
            pieces in prop::collection::vec(prop::sample::select(vec!["need", "LE", "le", "ſt", "K\u{212a}", "Σς", "日本", "🙂", "\"", "\\", "/", "\n", "\u{0}", "\u{fffd}", " ", "x"]), 0..30),
            escapes in prop::collection::vec(0usize..9, 90),
            from in 0usize..40,
            length in 1usize..30,
        ) {
            let text: Vec<char> = pieces.concat().chars().collect();
            let written = |(c, escape): (&char, &usize)| match (escape, c) {
                (0, c) => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect(),
                (1, '/') => "\\/".to_owned(),
                (_, c) => quoted(c.to_string().as_bytes()).expect("memory").strip_prefix('"').expect("a quote").strip_suffix('"').expect("a quote").to_owned(),
            };
            let inside: String = text.iter().zip(&escapes).map(written).collect();
            let json = format!("\"{}\"", inside);
            let query: String = text.iter().skip(from).take(length).collect();
            let mut signature = Signature::default();
            signature.add_json(json.as_bytes()).expect("memory");
            let mut packed = signature.pack();
            for _ in 0..2 {
                for word in query.split_whitespace().chain([&*query]) {
                    prop_assert!(groups(word).is_none_or(|groups| groups.may_be_in(&packed)), "{word:?} in {json}");
                }
                let mut continued = Signature::unpack(&packed).expect("a signature");
                (0..2_000).for_each(|n| continued.add_json(format!("\"another text {n}\"").as_bytes()).expect("memory"));
                packed = continued.pack();
            }
        }
    }

    #[test]
    fn other_words_are_denied() {
        let mut signature = Signature::default();
        for n in 0..500 {
            signature.add_json(format!("\"Where is the Needle of {n}?\\nÜber dem Fluß\"").as_bytes()).expect("memory");
        }
        let packed = signature.pack();
        assert!(packed.len() < 1 << 10, "{}", packed.len());
        for held in ["needle", "EEDLE", "is the needle of", "über", "fluß", "needle\" dem"] {
            assert!(groups(held).is_some_and(|groups| groups.may_be_in(&packed)), "{held}");
        }
        let denied = ["haystack", "kubernetes", "unterwegs", "where\\haystack", "日本語"];
        assert!(denied.iter().all(|word| !groups(word).expect("long enough").may_be_in(&packed)));
        assert!(groups("need").is_none() && groups("\"\\\n\u{fffd}").is_none());
        // A row that was changed by somebody denies nothing.
        assert!(["", "abc"].iter().all(|other| groups("haystack").expect("groups").may_be_in(other.as_bytes())));
        assert!(Signature::unpack(b"abc").is_none() && Signature::unpack(&[0; 2 * LARGEST]).is_none());
    }
}
