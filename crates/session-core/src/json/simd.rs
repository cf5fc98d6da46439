//! Skips the inside of a JSON string, 64 bytes at once.
//!
//! Most of a session is long strings of which only the end matters. For each block of 64 bytes we compute three masks
//! (quotes, backslashes, control characters) with one bit for each byte. They show where the string ends and whether it
//! is valid, without a branch for each byte. A string is valid if `JSON.parse` accepts it. Bytes beyond ASCII are not
//! examined, because none of them ends a string.
//!
//! Opening a session of 128 MB took 195 ms with serde_json, 82 ms with a search for the next quote or backslash, and 44
//! ms with masks computed by AVX2. We use only the vector instructions that every processor of a target has. So the
//! code need not find out which processor it runs on, and none of it is `unsafe`. That costs some 5 ms more.

use wide::{u8x16, u8x64};

/// How far a string was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skipped {
    /// The string is closed: its closing quote is just before this position.
    Closed(usize),
    /// The bytes end before the string does. With more bytes, skipping continues at this position.
    Open(usize),
    /// The byte at this position makes it invalid.
    Bad(usize),
}

const BLOCK_BYTES: usize = 64;

/// Skips the inside of a string.
pub(super) fn skip_string(bytes: &[u8], from: usize) -> Skipped {
    let mut at = from;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let checked = match rest.first_chunk() {
            Some(block) => check_block(bytes, at, block, BLOCK_BYTES),
            None if rest.is_empty() => return Skipped::Open(at),
            None => check_last(bytes, at, rest),
        };
        match checked {
            Skipped::Open(next) if next > at => at = next,
            other => return other,
        }
    }
}

/// The end of a string without escapes that is shorter than sixteen bytes; None if it is any other string.
#[inline]
pub(super) fn short_end(bytes: &[u8], from: usize) -> Option<usize> {
    let start = u8x16::new(*bytes.get(from..)?.first_chunk()?);
    let control = start.min(u8x16::splat(0x1f)).simd_eq(start);
    let quotes = start.simd_eq(u8x16::splat(b'"')).to_bitmask();
    let others = (start.simd_eq(u8x16::splat(b'\\')) | control).to_bitmask();
    let before = quotes.wrapping_sub(1) & !quotes;
    (quotes != 0 && others & before == 0).then(|| from + quotes.trailing_zeros() as usize + 1)
}

/// Checks the last bytes of a text, which are too few for a block. It is a function of its own, because the loop over
/// whole blocks is faster without it.
#[inline(never)]
fn check_last(bytes: &[u8], at: usize, rest: &[u8]) -> Skipped {
    let mut padded = [b' '; BLOCK_BYTES];
    for (to, byte) in padded.iter_mut().zip(rest) {
        *to = *byte;
    }
    check_block(bytes, at, &padded, rest.len().min(BLOCK_BYTES))
}

/// Checks the first `len` bytes of the block at position `at`. `Open` contains the start of the next block, or `at`
/// itself if more bytes are needed.
#[inline(always)]
fn check_block(bytes: &[u8], at: usize, block: &[u8; BLOCK_BYTES], len: usize) -> Skipped {
    let block = u8x64::from(*block);
    let is_byte = |byte| block.simd_eq(u8x64::splat(byte));
    let slashes = is_byte(b'\\').to_bitmask();
    let controls = block.min(u8x64::splat(0x1f)).simd_eq(block).to_bitmask();
    let mut stops = is_byte(b'"').to_bitmask();
    let mut escaped = 0;
    let mut step = len;
    if slashes != 0 {
        escaped = after_odd_runs(slashes);
        stops &= !escaped;
        // A backslash at the end of the block escapes the next byte, so the next block must start with that backslash.
        // This is a rare branch to a cold function, so that the processor can start the next block before the masks are
        // computed.
        if slashes >> (len - 1) != 0 {
            step -= unpaired_at_end(slashes, len);
        }
    }
    // The bits below the first stop; all bits if there is none.
    let inside = stops.wrapping_sub(1) & !stops;
    if controls & inside != 0 {
        return bad(bytes, at);
    }
    escaped &= inside & (u64::MAX >> (BLOCK_BYTES - len));
    if escaped != 0 {
        let mut unicode = is_byte(b'u').to_bitmask();
        let known = b"\"\\/bfnrt".iter().fold(u8x64::splat(0), |known, byte| known | is_byte(*byte));
        if escaped & !(known.to_bitmask() | unicode) != 0 {
            return bad(bytes, at);
        }
        unicode &= escaped;
        while unicode != 0 {
            let u = at + unicode.trailing_zeros() as usize;
            match bytes.get(u + 1..u + 5) {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {}
                Some(_) => return bad(bytes, at),
                // The escape's backslash is in this block, because no block starts with an escaped byte.
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

/// The first byte of a block at `at` that makes the string invalid. Everything before the block is valid.
#[cold]
#[inline(never)]
fn bad(bytes: &[u8], at: usize) -> Skipped {
    bytewise(bytes, at)
}

/// Skips a string byte by byte, by the grammar of JSON.
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

/// 1 if a run of backslashes of odd length is at the end of the first `len` bytes of a block, else 0.
#[cold]
#[inline(never)]
fn unpaired_at_end(slashes: u64, len: usize) -> usize {
    (slashes << (BLOCK_BYTES - len)).leading_ones() as usize % 2
}

/// The bytes that are escaped: those after a run of backslashes of odd length.
#[inline(always)]
fn after_odd_runs(slashes: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let follows = slashes << 1;
    if slashes & follows == 0 {
        return follows;
    }
    // Adding a run's first bit carries to the bit after the run. A run of odd length that starts at an even position
    // ends just before an odd one, and vice versa.
    let starts = slashes & !follows;
    let after_even = slashes.wrapping_add(starts & EVEN) & !slashes;
    let after_odd = slashes.wrapping_add(starts & !EVEN) & !slashes;
    follows & ((after_even & !EVEN) | (after_odd & EVEN))
}

#[cfg(test)]
mod tests;
