//! Skipping the inside of a JSON string, 64 bytes at once.
//!
//! Most of a session is long strings of which only the end matters. For each block of 64 bytes three masks are made
//! (quotes, backslashes, control characters), one bit for each byte. They say where the string ends and whether it is
//! valid without a branch for each byte. A string is valid if `JSON.parse` accepts it. Bytes beyond ASCII are not examined:
//! none of them ends a string.

/// How far a string was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skipped {
    /// Its closing quote stands just before this position.
    Closed(usize),
    /// The bytes end before it does; with more of them it goes on from this position.
    Open(usize),
    /// The byte at this position makes it no JSON string.
    Bad(usize),
}

const BLOCK: usize = 64;

/// A bit for each byte of a block.
#[derive(Clone, Copy)]
struct Masks {
    quotes: u64,
    slashes: u64,
    controls: u64,
}

/// A bit for each byte of a block that is valid after a backslash, and for each `u`.
#[derive(Clone, Copy)]
struct Escapes {
    known: u64,
    unicode: u64,
}

/// The end of a string without escapes that is shorter than sixteen bytes, as most keys and many values are. None if
/// it may be anything else.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn short_end(bytes: &[u8], from: usize) -> Option<usize> {
    let start = bytes.get(from..)?.first_chunk::<16>()?;
    let [quotes, others] = x86::quotes_and_others(start);
    // Nothing but plain characters before the first quote.
    let before = quotes.wrapping_sub(1) & !quotes;
    (quotes != 0 && others & before == 0).then(|| from + quotes.trailing_zeros() as usize + 1)
}

/// The end of a string without escapes that is shorter than sixteen bytes, as most keys and many values are. None if
/// it may be anything else.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn short_end(bytes: &[u8], from: usize) -> Option<usize> {
    let start = bytes.get(from..)?.first_chunk::<16>()?;
    let end = start.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
    (start.get(end) == Some(&b'"')).then_some(from + end + 1)
}

/// Skips a string from a position inside it. The byte at that position must not be escaped by one before it.
#[cfg(target_arch = "x86_64")]
pub fn skip_string(bytes: &[u8], from: usize) -> Skipped {
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has what the function needs, as was just asked.
        return unsafe { x86::skip_avx2(bytes, from) };
    }
    skip(bytes, from, masks, escapes)
}

/// Skips a string from a position inside it. The byte at that position must not be escaped by one before it.
#[cfg(not(target_arch = "x86_64"))]
pub fn skip_string(bytes: &[u8], from: usize) -> Skipped {
    skip(bytes, from, masks, escapes)
}

#[inline(always)]
fn skip(
    bytes: &[u8],
    from: usize,
    wide_masks: impl Fn(&[u8; BLOCK]) -> Masks + Copy,
    wide_escapes: impl Fn(&[u8; BLOCK]) -> Escapes + Copy,
) -> Skipped {
    let mut at = from;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let judged = match rest.first_chunk::<BLOCK>() {
            Some(block) => judge(bytes, at, block, BLOCK, wide_masks, wide_escapes),
            None if rest.is_empty() => return Skipped::Open(at),
            None => judge_last(bytes, at, rest),
        };
        match judged {
            Skipped::Open(next) if next > at => at = next,
            other => return other,
        }
    }
}

/// Judges the last bytes, which are too few for a block. Not inlined: the loop is faster without it.
#[inline(never)]
fn judge_last(bytes: &[u8], at: usize, rest: &[u8]) -> Skipped {
    let mut padded = [b' '; BLOCK];
    for (to, byte) in padded.iter_mut().zip(rest) {
        *to = *byte;
    }
    judge(bytes, at, &padded, rest.len().min(BLOCK), masks, escapes)
}

/// Judges the first `len` bytes of the block at position `at`. `Open` gives where the next block starts, or `at` itself if
/// more bytes are needed.
#[inline(always)]
fn judge(
    bytes: &[u8],
    at: usize,
    block: &[u8; BLOCK],
    len: usize,
    masks: impl Fn(&[u8; BLOCK]) -> Masks,
    escapes: impl Fn(&[u8; BLOCK]) -> Escapes,
) -> Skipped {
    let masks = masks(block);
    let mut stops = masks.quotes;
    let mut escaped = 0;
    let mut step = len;
    if masks.slashes != 0 {
        escaped = after_odd_runs(masks.slashes);
        stops &= !escaped;
        // A backslash at the end escapes the next byte, so that the next block starts with that backslash. A rare
        // branch to a cold function lets the processor start the next block before the masks are known.
        if masks.slashes >> (len - 1) != 0 {
            step -= unpaired_at_end(masks.slashes, len);
        }
    }
    // The bits below the first stop; all of them if there is none.
    let inside = stops.wrapping_sub(1) & !stops;
    if masks.controls & inside != 0 {
        return bad(bytes, at);
    }
    escaped &= inside & (u64::MAX >> (BLOCK - len));
    if escaped != 0 {
        let escapes = escapes(block);
        if escaped & !escapes.known != 0 {
            return bad(bytes, at);
        }
        let mut unicode = escaped & escapes.unicode;
        while unicode != 0 {
            let u = at + unicode.trailing_zeros() as usize;
            match bytes.get(u + 1..u + 5) {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {}
                Some(_) => return bad(bytes, at),
                // Its backslash stands in this block, for no block starts with an escaped byte.
                None => return Skipped::Open(u - 1),
            }
            unicode &= unicode - 1;
        }
    }
    match stops {
        0 => Skipped::Open(at + step),
        _ => Skipped::Closed(at + stops.trailing_zeros() as usize + 1),
    }
}

/// The first byte of a block at `at` that makes the string invalid. Nothing before the block does.
#[cold]
#[inline(never)]
fn bad(bytes: &[u8], at: usize) -> Skipped {
    bytewise(bytes, at)
}

/// Skips a string byte by byte, as the grammar has it.
fn bytewise(bytes: &[u8], from: usize) -> Skipped {
    let mut at = from;
    loop {
        match bytes.get(at..).unwrap_or_default() {
            [] => return Skipped::Open(at),
            [b'"', ..] => return Skipped::Closed(at + 1),
            [b'\\'] => return Skipped::Open(at),
            [b'\\', b'u', rest @ ..] => match rest.iter().take(4).position(|digit| !digit.is_ascii_hexdigit()) {
                Some(digit) => return Skipped::Bad(at + 2 + digit),
                None if rest.len() < 4 => return Skipped::Open(at),
                None => at += 6,
            },
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => at += 2,
            [b'\\', ..] => return Skipped::Bad(at + 1),
            [0..=0x1f, ..] => return Skipped::Bad(at),
            _ => at += 1,
        }
    }
}

/// 1 if a run of backslashes of odd length stands at the end of the first `len` bytes of a block, else 0.
#[cold]
#[inline(never)]
fn unpaired_at_end(slashes: u64, len: usize) -> usize {
    (slashes << (BLOCK - len)).leading_ones() as usize % 2
}

/// The bytes that are escaped: those behind a run of backslashes of odd length.
#[inline(always)]
fn after_odd_runs(slashes: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let follows = slashes << 1;
    if slashes & follows == 0 {
        return follows;
    }
    // Adding a run's first bit carries to the bit behind the run. A run of odd length that starts at an even place
    // ends at an odd one, and the other way round.
    let starts = slashes & !follows;
    let behind_even = slashes.wrapping_add(starts & EVEN) & !slashes;
    let behind_odd = slashes.wrapping_add(starts & !EVEN) & !slashes;
    follows & ((behind_even & !EVEN) | (behind_odd & EVEN))
}

/// The same without vector instructions.
#[cfg(any(not(target_arch = "x86_64"), test))]
fn plain_masks(block: &[u8; BLOCK]) -> Masks {
    let mask = |is: fn(u8) -> bool| block.iter().rev().fold(0, |all, byte| all << 1 | u64::from(is(*byte)));
    Masks { quotes: mask(|byte| byte == b'"'), slashes: mask(|byte| byte == b'\\'), controls: mask(|byte| byte < 0x20) }
}

fn escapes(block: &[u8; BLOCK]) -> Escapes {
    let mask = |is: fn(u8) -> bool| block.iter().rev().fold(0, |all, byte| all << 1 | u64::from(is(*byte)));
    Escapes {
        known: mask(|byte| matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u')),
        unicode: mask(|byte| byte == b'u'),
    }
}

#[cfg(not(target_arch = "x86_64"))]
use plain_masks as masks;
#[cfg(target_arch = "x86_64")]
use x86::masks;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Escapes, Masks, Skipped, BLOCK};
    use std::arch::x86_64::*;

    /// As [`super::skip_string`], with AVX2.
    #[target_feature(enable = "avx2,bmi1")]
    pub fn skip_avx2(bytes: &[u8], from: usize) -> Skipped {
        super::skip(bytes, from, |block| masks_avx2(block), |block| escapes_avx2(block))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(block: &[u8; BLOCK]) -> [__m256i; 2] {
        let from = block.as_ptr().cast::<__m256i>();
        // SAFETY: the block has 64 bytes; these loads need no alignment.
        unsafe { [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))] }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits([low, high]: [__m256i; 2]) -> u64 {
        u64::from(_mm256_movemask_epi8(low) as u32) | u64::from(_mm256_movemask_epi8(high) as u32) << 32
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal(halves: [__m256i; 2], byte: u8) -> u64 {
        let wanted = _mm256_set1_epi8(byte as i8);
        bits([_mm256_cmpeq_epi8(halves[0], wanted), _mm256_cmpeq_epi8(halves[1], wanted)])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn masks_avx2(block: &[u8; BLOCK]) -> Masks {
        let both = halves(block);
        let last = _mm256_set1_epi8(0x1f);
        let low = [_mm256_min_epu8(both[0], last), _mm256_min_epu8(both[1], last)];
        Masks {
            quotes: equal(both, b'"'),
            slashes: equal(both, b'\\'),
            controls: bits([_mm256_cmpeq_epi8(low[0], both[0]), _mm256_cmpeq_epi8(low[1], both[1])]),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn escapes_avx2(block: &[u8; BLOCK]) -> Escapes {
        let both = halves(block);
        // A byte is known if its two halves have a bit in common: 1 for 2_, 2 for 5_, 4 for 6_, 8 for 7_.
        let low = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 13, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1));
        let high = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0));
        let nibble = _mm256_set1_epi8(15);
        let unknown = |half: __m256i| {
            let upper = _mm256_and_si256(_mm256_srli_epi16(half, 4), nibble);
            let common = _mm256_and_si256(_mm256_shuffle_epi8(low, half), _mm256_shuffle_epi8(high, upper));
            _mm256_cmpeq_epi8(common, _mm256_setzero_si256())
        };
        Escapes { known: !bits([unknown(both[0]), unknown(both[1])]), unicode: equal(both, b'u') }
    }

    /// A bit for each quote of sixteen bytes, and for each byte that is no plain character.
    #[inline(always)]
    pub fn quotes_and_others(start: &[u8; 16]) -> [u32; 2] {
        // SAFETY: there are 16 bytes, and the load needs no alignment; every processor of this architecture has SSE2.
        unsafe {
            let bytes = _mm_loadu_si128(start.as_ptr().cast());
            let equal = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
            let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
            let others = _mm_or_si128(equal(b'\\'), control);
            [_mm_movemask_epi8(equal(b'"')) as u32, _mm_movemask_epi8(others) as u32]
        }
    }

    /// What SSE2 finds, which every processor of this architecture has.
    #[inline(always)]
    pub fn masks(block: &[u8; BLOCK]) -> Masks {
        let mut masks = Masks { quotes: 0, slashes: 0, controls: 0 };
        for (at, quarter) in block.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: the quarter has 16 bytes; this load needs no alignment.
            let bytes = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
            // SAFETY: these need SSE2, which every processor of this architecture has.
            let [quotes, slashes, controls] = unsafe {
                let equal = |byte: u8| _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8)));
                let low = _mm_min_epu8(bytes, _mm_set1_epi8(0x1f));
                [equal(b'"'), equal(b'\\'), _mm_movemask_epi8(_mm_cmpeq_epi8(low, bytes))]
            };
            masks.quotes |= u64::from(quotes as u16) << (16 * at);
            masks.slashes |= u64::from(slashes as u16) << (16 * at);
            masks.controls |= u64::from(controls as u16) << (16 * at);
        }
        masks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes that resemble a string's, with quotes, backslashes and control characters at any distance.
    fn near_string() -> impl Strategy<Value = Vec<u8>> {
        let plain = (0usize..70).prop_map(|size| vec![b'x'; size]);
        let piece = prop_oneof![
            6 => plain,
            3 => (1usize..9).prop_map(|size| vec![b'\\'; size]),
            2 => prop::sample::select(vec!["\"", "n", "u00e9", "\\n", "\\ud83d", "\\u12", "é", "\\\"", "b", "ux"])
                .prop_map(|text| text.as_bytes().to_vec()),
            1 => any::<u8>().prop_map(|byte| vec![byte]),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn blocks_agree_with_single_bytes(bytes in near_string(), from in 0usize..3) {
            // Not from behind a backslash, as is asked of the caller.
            let from = if bytes.get(..from).is_some_and(|before| !before.contains(&b'\\')) { from } else { 0 };
            let want = bytewise(&bytes, from);
            let ways = [skip_string(&bytes, from), skip(&bytes, from, masks, escapes), skip(&bytes, from, plain_masks, escapes)];
            for found in ways {
                // Where the bytes end before the string, one may stop sooner, and go on from there.
                match found {
                    Skipped::Open(at) => prop_assert_eq!(bytewise(&bytes, at), want),
                    found => prop_assert_eq!(found, want),
                }
            }
        }

        /// The quick way over short strings ends where the other does.
        #[test]
        fn short_strings_end_where_long_ones_do(text in "[ -~é\"\\\\\u{0}-\u{1f}]{0,24}", rest in "[a\"]{0,40}") {
            let bytes = format!("{text}{rest}");
            if let Some(end) = short_end(bytes.as_bytes(), 0) {
                prop_assert_eq!(skip_string(bytes.as_bytes(), 0), Skipped::Closed(end));
                prop_assert!(end <= 16 && !bytes.as_bytes()[..end].contains(&b'\\'));
            }
        }
    }

    #[test]
    fn every_byte_after_a_backslash_is_judged() {
        for byte in 0..=255u8 {
            let mut bytes = vec![b'x'; 100];
            bytes.extend([b'\\', byte]);
            bytes.extend(b"0041 and so on, for longer than a block has room, so that nothing is padded at all\"");
            let good = b"\"\\/bfnrtu".contains(&byte);
            assert_eq!(skip_string(&bytes, 0) != Skipped::Bad(101), good, "{byte}");
        }
    }
}
