//! The text of JSON strings from UTF-16 units, with AVX2.
//!
//! Sixteen units are converted and escaped at once, as if all had as many bytes as the first; what follows the first that has
//! not is thrown away. 10,000 Japanese characters take 11 µs, where encoding_rs alone takes 18 and leaves the escapes to be
//! found. In ASCII each character that is escaped is moved to make room for its backslash, without a branch for each.

use std::arch::x86_64::*;

use crate::base::wtf8;

const BLOCK: usize = 16;
/// How many bytes three-byte characters leave of a block, and eight more.
const WIDE: usize = 3 * BLOCK + 8;

/// Where each of eight bytes goes that get a backslash where there is a bit: their places, and 0x80 for a backslash.
static SPREAD: [[u8; BLOCK]; 256] = spread();

// The compiler evaluates this: an index that is out of range is an error of the build.
#[expect(clippy::indexing_slicing)]
const fn spread() -> [[u8; BLOCK]; 256] {
    let mut all = [[0; BLOCK]; 256];
    let mut escaped = 0;
    while escaped < all.len() {
        let (mut from, mut to) = (0, 0);
        while from < 8 {
            if escaped >> from & 1 == 1 {
                all[escaped][to] = 0x80;
                to += 1;
            }
            all[escaped][to] = from;
            (from, to) = (from + 1, to + 1);
        }
        escaped += 1;
    }
    all
}

/// Appends the WTF-8 of units as it is within a JSON string.
#[target_feature(enable = "avx2,popcnt")]
pub fn push_escaped_avx2(out: &mut Vec<u8>, units: &[u16]) {
    out.reserve(3 * units.len() + WIDE);
    let mut rest = units;
    while let Some(block) = rest.first_chunk::<BLOCK>() {
        let taken = match block {
            [0..0x80, ..] => match push_ascii(out, block) {
                0 => push_other(out, &block[..1]),
                count => count,
            },
            [0x80..0x800, ..] => push_two_bytes(out, block),
            [0xD800..0xDC00, 0xDC00..0xE000, ..] => push_other(out, &block[..2]),
            [0xD800..0xE000, ..] => push_other(out, &block[..1]),
            _ => push_three_bytes(out, block),
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    push_other(out, rest);
}

fn push_other(out: &mut Vec<u8>, units: &[u16]) -> usize {
    wtf8::push_escaped(out, &wtf8::from_utf16(units));
    units.len()
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &[u16; BLOCK]) -> __m256i {
    // SAFETY: the block has 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }
}

/// How many units are before the first that is marked by ones.
#[inline]
#[target_feature(enable = "avx2")]
fn before(marks: __m256i) -> usize {
    let bits = u64::from(_mm256_movemask_epi8(marks) as u32) | 1 << 32;
    bits.trailing_zeros() as usize / 2
}

/// Marks the units that are not `least..end`.
#[inline]
#[target_feature(enable = "avx2")]
fn outside(units: __m256i, least: i16, end: i16) -> __m256i {
    let below = _mm256_cmpgt_epi16(_mm256_set1_epi16(least), units);
    _mm256_or_si256(below, _mm256_cmpgt_epi16(units, _mm256_set1_epi16(end - 1)))
}

/// Appends the first `count` bytes.
#[inline]
fn push_first<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N], count: usize) {
    let start = out.len();
    out.extend_from_slice(&bytes);
    out.truncate(start + count);
}

/// Appends the first units, with backslashes, up to one that is not ASCII or has an escape like `\u0001`.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn push_ascii(out: &mut Vec<u8>, block: &[u16; BLOCK]) -> usize {
    let units = load(block);
    let bytes = _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(_mm256_packus_epi16(units, units)));
    let below = |end: u8| _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(end as i8 - 1)), bytes);
    let is = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
    let bits = |bytes: __m128i| _mm_movemask_epi8(bytes) as u32;
    // The letter that stands for a control character after the backslash; 0 for others.
    let letters = _mm_shuffle_epi8(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 98, 116, 110, 0, 102, 114, 0, 0), bytes);
    let letters = _mm_and_si128(letters, below(0x10));
    let unknown = _mm_andnot_si128(_mm_cmpgt_epi8(letters, _mm_setzero_si128()), below(0x20));
    // A block that is ASCII to its end is told by a branch: the processor begins the next one before the count is known.
    let is_ascii = _mm256_testz_si256(units, _mm256_set1_epi16(!0x7f)) == 1;
    let count = match (is_ascii, bits(unknown)) {
        (true, 0) => BLOCK,
        (_, unknown) => before(outside(units, 0, 0x80)).min((unknown | 1 << BLOCK).trailing_zeros() as usize),
    };
    let escaped = bits(_mm_or_si128(below(0x20), _mm_or_si128(is(b'"'), is(b'\\'))));
    let bytes = _mm_blendv_epi8(bytes, letters, below(0x20));
    out.reserve(2 * BLOCK);
    let [low, high, ..] = escaped.to_le_bytes();
    let (Some(first), Some(second)) = (SPREAD.get(usize::from(low)), SPREAD.get(usize::from(high))) else { return 0 };
    // SAFETY: there is room for 32 bytes more: the second sixteen begin sixteen bytes behind the first at most. All are written
    // up to the new length, which is that of `count` bytes with a backslash each at most. Neither load nor store needs alignment.
    unsafe {
        let end = out.as_mut_ptr().add(out.len());
        let place = |places: &[u8; BLOCK]| _mm_loadu_si128(places.as_ptr().cast());
        let spread =
            |eight, places| _mm_blendv_epi8(_mm_shuffle_epi8(eight, places), _mm_set1_epi8(b'\\' as i8), places);
        _mm_storeu_si128(end.cast(), spread(bytes, place(first)));
        let next = end.add(8 + low.count_ones() as usize);
        _mm_storeu_si128(next.cast(), spread(_mm_srli_si128::<8>(bytes), place(second)));
        out.set_len(out.len() + count + (escaped & ((1 << count) - 1)).count_ones() as usize);
    }
    count
}

#[inline]
#[target_feature(enable = "avx2")]
fn push_two_bytes(out: &mut Vec<u8>, block: &[u16; BLOCK]) -> usize {
    let units = load(block);
    let count = before(outside(units, 0x80, 0x800));
    let first = _mm256_srli_epi16::<6>(units);
    let second = _mm256_slli_epi16::<8>(_mm256_and_si256(units, _mm256_set1_epi16(0x3f)));
    let bytes = _mm256_or_si256(_mm256_or_si256(first, second), _mm256_set1_epi16(0x80C0_u16 as i16));
    // SAFETY: both have 32 bytes, and any are good.
    push_first(out, unsafe { std::mem::transmute::<__m256i, [u8; 2 * BLOCK]>(bytes) }, 2 * count);
    count
}

#[inline]
#[target_feature(enable = "avx2")]
fn push_three_bytes(out: &mut Vec<u8>, block: &[u16; BLOCK]) -> usize {
    let units = load(block);
    let top = _mm256_and_si256(units, _mm256_set1_epi16(0xF800_u16 as i16));
    let surrogates = _mm256_cmpeq_epi16(top, _mm256_set1_epi16(0xD800_u16 as i16));
    let count = before(_mm256_or_si256(_mm256_cmpeq_epi16(top, _mm256_setzero_si256()), surrogates));
    let low = _mm256_set1_epi16(0x3f);
    let second = _mm256_slli_epi16::<8>(_mm256_and_si256(_mm256_srli_epi16::<6>(units), low));
    let lead =
        _mm256_or_si256(_mm256_or_si256(_mm256_srli_epi16::<12>(units), second), _mm256_set1_epi16(0x80E0_u16 as i16));
    let last = _mm256_or_si256(_mm256_and_si256(units, low), _mm256_set1_epi16(0x80));
    // In each half, two bytes of each unit from `lead` and one from `last`: 16 bytes, and the 8 after them.
    let order = |bytes: __m128i| _mm256_broadcastsi128_si256(bytes);
    let head = _mm256_or_si256(
        _mm256_shuffle_epi8(lead, order(_mm_setr_epi8(0, 1, -1, 2, 3, -1, 4, 5, -1, 6, 7, -1, 8, 9, -1, 10))),
        _mm256_shuffle_epi8(last, order(_mm_setr_epi8(-1, -1, 0, -1, -1, 2, -1, -1, 4, -1, -1, 6, -1, -1, 8, -1))),
    );
    let tail = _mm256_or_si256(
        _mm256_shuffle_epi8(lead, order(_mm_setr_epi8(11, -1, 12, 13, -1, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1))),
        _mm256_shuffle_epi8(last, order(_mm_setr_epi8(-1, 10, -1, -1, 12, -1, -1, 14, -1, -1, -1, -1, -1, -1, -1, -1))),
    );
    let mut bytes = [0; WIDE];
    let at = bytes.as_mut_ptr();
    // SAFETY: the last of them ends with the 56 bytes; stores need no alignment.
    unsafe {
        _mm_storeu_si128(at.cast(), _mm256_castsi256_si128(head));
        _mm_storeu_si128(at.add(16).cast(), _mm256_castsi256_si128(tail));
        _mm_storeu_si128(at.add(24).cast(), _mm256_extracti128_si256::<1>(head));
        _mm_storeu_si128(at.add(40).cast(), _mm256_extracti128_si256::<1>(tail));
    }
    push_first(out, bytes, 3 * count);
    count
}
