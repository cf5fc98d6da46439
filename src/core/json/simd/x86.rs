//! AVX2, and for short strings SSE2.

use std::arch::x86_64::*;

use super::block::{check_padded, short, skip, Escapes, Masks, Skipped, BLOCK_BYTES};

/// Skips a string, with AVX2 where the processor has it.
pub fn skip_string(bytes: &[u8], from: usize) -> Skipped {
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has the features that the function needs.
        return unsafe { skip_avx2(bytes, from) };
    }
    super::plain::skip_string(bytes, from)
}

#[target_feature(enable = "avx2,bmi1")]
fn skip_avx2(bytes: &[u8], from: usize) -> Skipped {
    let check_last = |bytes: &[u8], at, rest: &[u8]| check_last(bytes, at, rest);
    skip(bytes, from, |block| masks_avx2(block), |block, _| escapes_avx2(block), check_last)
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1")]
fn check_last(bytes: &[u8], at: usize, rest: &[u8]) -> Skipped {
    check_padded(bytes, at, rest, |block| masks_avx2(block))
}

/// The end of a string without escapes that is shorter than sixteen bytes; None if it may be anything else.
#[inline]
pub fn short_end(bytes: &[u8], from: usize) -> Option<usize> {
    let start = bytes.get(from..)?.first_chunk::<16>()?;
    let [quotes, others] = quotes_and_others(start);
    Some(from + short(u64::from(quotes), u64::from(others))? as usize + 1)
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(block: &[u8; BLOCK_BYTES]) -> [__m256i; 2] {
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
fn masks_avx2(block: &[u8; BLOCK_BYTES]) -> Masks {
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
fn escapes_avx2(block: &[u8; BLOCK_BYTES]) -> Escapes {
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

/// A bit for each quote of sixteen bytes, and for each byte that is not a plain character.
#[inline(always)]
fn quotes_and_others(start: &[u8; 16]) -> [u32; 2] {
    // SAFETY: there are 16 bytes, and the load needs no alignment; every processor of this architecture has SSE2.
    unsafe {
        let bytes = _mm_loadu_si128(start.as_ptr().cast());
        let equal = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        let others = _mm_or_si128(equal(b'\\'), control);
        [_mm_movemask_epi8(equal(b'"')) as u32, _mm_movemask_epi8(others) as u32]
    }
}
