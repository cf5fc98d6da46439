//! The end of a JSON string, found and checked 64 bytes at once.
//!
//! Most of a session is text with an escape every few dozen bytes: looking for the next quote or backslash starts over
//! at each of them. Here each block becomes bit masks, escapes are told by arithmetic on them, and nothing depends on
//! how many there are. (The arithmetic is that of Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019.)

/// What a block holds, a bit for each byte.
struct Masks {
    quotes: u64,
    backslashes: u64,
    /// Bytes that a string must not hold as they are.
    controls: u64,
    /// Bytes that may stand behind a backslash.
    escapable: u64,
    /// The letter u.
    us: u64,
}

const BLOCK: usize = 64;
const EVEN: u64 = 0x5555_5555_5555_5555;

/// Where the string ends whose opening quote stands right before `bytes`: the position of its closing quote. None if
/// `bytes` do not start with the rest of a JSON string.
#[inline]
pub fn end_of_string(bytes: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { avx2::end_of_string(bytes) };
    }
    search(bytes, portable)
}

#[inline(always)]
fn search(bytes: &[u8], masks_of: impl Fn(&[u8; BLOCK]) -> Masks) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut escaped_first = 0;
    for (at, block) in blocks.iter().enumerate() {
        let masks = masks_of(block);
        if let Some(found) = step(bytes, at * BLOCK, masks, !0, &mut escaped_first) {
            return found;
        }
    }
    let mut last = [0; BLOCK];
    last.get_mut(..rest.len())?.copy_from_slice(rest);
    let there = (1u64 << rest.len()) - 1;
    step(bytes, blocks.len() * BLOCK, masks_of(&last), there, &mut escaped_first).flatten()
}

/// Looks at one block, whose bytes of the text are `there`: None to go on, else what the search comes to.
#[inline(always)]
fn step(bytes: &[u8], at: usize, masks: Masks, there: u64, escaped_first: &mut u64) -> Option<Option<usize>> {
    let escaped = match masks.backslashes | *escaped_first {
        0 => 0,
        _ => escaped(masks.backslashes, escaped_first),
    };
    let ends = masks.quotes & !escaped & there;
    // The bytes before the closing quote, or all that are there.
    let inside = ends.wrapping_sub(1) & !ends & there;
    if (masks.controls | escaped & !masks.escapable) & inside != 0 {
        return Some(None);
    }
    let mut codes = escaped & masks.us & inside;
    while codes != 0 {
        let digits = at + codes.trailing_zeros() as usize + 1;
        let hex = bytes.get(digits..digits + 4).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        if !hex {
            return Some(None);
        }
        codes &= codes - 1;
    }
    (ends != 0).then(|| Some(at + ends.trailing_zeros() as usize))
}

/// The bytes that a backslash stands before which is not itself escaped. `escaped_first` says so of the block's first
/// byte, and then of the next block's.
#[inline(always)]
fn escaped(backslashes: u64, escaped_first: &mut u64) -> u64 {
    let backslashes = backslashes & !*escaped_first;
    let follows = backslashes << 1 | *escaped_first;
    // Runs of backslashes that start at odd positions: adding them carries to the end of each run.
    let odd_starts = backslashes & !EVEN & !follows;
    let (even_runs, carried) = odd_starts.overflowing_add(backslashes);
    *escaped_first = u64::from(carried);
    (EVEN ^ even_runs << 1) & follows
}

/// The masks of a block, on any processor.
#[inline(always)]
fn portable(block: &[u8; BLOCK]) -> Masks {
    let bits = |wanted: fn(u8) -> bool| {
        let bit = |all: u64, (at, byte): (usize, &u8)| all | u64::from(wanted(*byte)) << at;
        block.iter().enumerate().fold(0, bit)
    };
    let backslashes = bits(|byte| byte == b'\\');
    Masks {
        quotes: bits(|byte| byte == b'"'),
        backslashes,
        controls: bits(|byte| byte < 0x20),
        escapable: bits(|byte| matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u')),
        us: bits(|byte| byte == b'u'),
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{search, Masks, BLOCK};

    /// What may stand behind a backslash, by the low half of the byte: a bit for each high half it goes with.
    const LOW: [i8; 16] = {
        let mut table = [0; 16];
        table[0x2] = TWO | SIX | SEVEN; // " b r
        table[0x4] = SEVEN; // t
        table[0x5] = SEVEN; // u
        table[0x6] = SIX; // f
        table[0xC] = FIVE; // \
        table[0xE] = SIX; // n
        table[0xF] = TWO; // /
        table
    };
    /// The bit of a high half.
    const HIGH: [i8; 16] = {
        let mut table = [0; 16];
        table[2] = TWO;
        table[5] = FIVE;
        table[6] = SIX;
        table[7] = SEVEN;
        table
    };
    const TWO: i8 = 1;
    const FIVE: i8 = 2;
    const SIX: i8 = 4;
    const SEVEN: i8 = 8;

    #[target_feature(enable = "avx2")]
    pub fn end_of_string(bytes: &[u8]) -> Option<usize> {
        search(bytes, |block| masks(block))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn masks(block: &[u8; BLOCK]) -> Masks {
        let (low, high) = block.split_at(BLOCK / 2);
        // SAFETY: each half has the 32 bytes that are read; they need not be aligned.
        let halves = unsafe { [_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())] };
        let is = |byte: u8| both(halves.map(|half| _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8))));
        let backslashes = is(b'\\');
        Masks {
            quotes: is(b'"'),
            backslashes,
            controls: both(halves.map(|half| {
                let most = _mm256_set1_epi8(0x1F);
                _mm256_cmpeq_epi8(_mm256_max_epu8(half, most), most)
            })),
            escapable: both(halves.map(|half| {
                let low = _mm256_shuffle_epi8(table(LOW), half);
                // Bytes beyond ASCII have a low-table answer of zero: the shuffle gives zero where the top bit is set.
                let halved = _mm256_and_si256(_mm256_srli_epi16::<4>(half), _mm256_set1_epi8(0x0F));
                let high = _mm256_shuffle_epi8(table(HIGH), halved);
                let none = _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256());
                _mm256_xor_si256(none, _mm256_set1_epi8(-1))
            })),
            us: is(b'u'),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn table(values: [i8; 16]) -> __m256i {
        let bytes = i128::from_le_bytes(values.map(|value| value as u8));
        let (low, high) = (bytes as i64, (bytes >> 64) as i64);
        _mm256_set_epi64x(high, low, high, low)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn both([low, high]: [__m256i; 2]) -> u64 {
        let bits = |half| u64::from(_mm256_movemask_epi8(half) as u32);
        bits(low) | bits(high) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Byte by byte.
    fn oracle(bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            match *bytes.get(at)? {
                b'"' => return Some(at),
                b'\\' => {
                    at += match *bytes.get(at + 1)? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                        b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                        _ => return None,
                    }
                }
                byte if byte < 0x20 => return None,
                _ => at += 1,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn blocks_find_what_bytes_find(pieces in prop::collection::vec(prop::sample::select(vec![
            "\\", "\\\\", "\\\"", "\\n", "\\u12aF", "\\u12g4", "\\x", "u", "plain text without anything in it", "é", "\u{e}", "a",
            "\\t\\r\\b\\f\\/", "a long run of forty-four bytes, give or take", "0123456789abcdef0123456789abcdef0123456789abcdef",
        ]), 0..12), tail in ".{0,70}") {
            let text = format!("{}\"{tail}", pieces.concat());
            let bytes = text.as_bytes();
            prop_assert_eq!(end_of_string(bytes), oracle(bytes));
            prop_assert_eq!(search(bytes, portable), oracle(bytes));
        }
    }

    #[test]
    fn every_byte_behind_a_backslash_at_every_place_in_a_block() {
        for byte in 0..=u8::MAX {
            for before in 0..130 {
                let mut bytes = vec![b'x'; before];
                bytes.extend_from_slice(&[b'\\', byte, b'0', b'0', b'0', b'0', b'"', b'"']);
                assert_eq!(end_of_string(&bytes), oracle(&bytes), "{byte} behind {before}");
                assert_eq!(search(&bytes, portable), oracle(&bytes), "{byte} behind {before}");
            }
        }
    }
}
