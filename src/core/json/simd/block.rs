//! Where a string ends, by the masks of its blocks.

/// How far a string was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skipped {
    /// Its closing quote is just before this position.
    Closed(usize),
    /// The bytes end before it does; with more of them it goes on from this position.
    Open(usize),
    /// The byte at this position makes it invalid.
    Bad(usize),
}

pub const BLOCK_BYTES: usize = 64;

/// A bit for each byte of a block.
#[derive(Clone, Copy)]
pub struct Masks {
    pub quotes: u64,
    pub slashes: u64,
    pub controls: u64,
}

/// A bit for each byte of a block that is valid after a backslash, and for each `u`, at least of those that are escaped.
#[derive(Clone, Copy)]
pub struct Escapes {
    pub known: u64,
    pub unicode: u64,
}

/// Skips a string with these ways to find the masks of a block and to check the last bytes, which are too few for one.
#[inline(always)]
pub fn skip(
    bytes: &[u8],
    from: usize,
    masks: impl Fn(&[u8; BLOCK_BYTES]) -> Masks + Copy,
    escapes: impl Fn(&[u8; BLOCK_BYTES], u64) -> Escapes + Copy,
    check_last: impl Fn(&[u8], usize, &[u8]) -> Skipped,
) -> Skipped {
    let mut at = from;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let checked = match rest.first_chunk::<BLOCK_BYTES>() {
            Some(block) => check_block(bytes, at, block, BLOCK_BYTES, masks, escapes),
            None if rest.is_empty() => return Skipped::Open(at),
            None => check_last(bytes, at, rest),
        };
        match checked {
            Skipped::Open(next) if next > at => at = next,
            other => return other,
        }
    }
}

/// The position of the first quote in these bits, if no other special character is before it.
#[inline(always)]
pub fn short(quotes: u64, others: u64) -> Option<u32> {
    let before = quotes.wrapping_sub(1) & !quotes;
    (quotes != 0 && others & before == 0).then(|| quotes.trailing_zeros())
}

/// Checks the last bytes of a text. Callers keep it out of the loop over whole blocks, which is faster without it.
#[inline(always)]
pub fn check_padded(bytes: &[u8], at: usize, rest: &[u8], masks: impl Fn(&[u8; BLOCK_BYTES]) -> Masks) -> Skipped {
    let mut padded = [b' '; BLOCK_BYTES];
    for (to, byte) in padded.iter_mut().zip(rest) {
        *to = *byte;
    }
    check_block(bytes, at, &padded, rest.len().min(BLOCK_BYTES), masks, escapes)
}

/// Checks the first `len` bytes of the block at position `at`. `Open` gives where the next block starts, or `at` itself if
/// more bytes are needed.
#[inline(always)]
fn check_block(
    bytes: &[u8],
    at: usize,
    block: &[u8; BLOCK_BYTES],
    len: usize,
    masks: impl Fn(&[u8; BLOCK_BYTES]) -> Masks,
    escapes: impl Fn(&[u8; BLOCK_BYTES], u64) -> Escapes,
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
    escaped &= inside & (u64::MAX >> (BLOCK_BYTES - len));
    if escaped != 0 {
        let escapes = escapes(block, escaped);
        if escaped & !escapes.known != 0 {
            return bad(bytes, at);
        }
        let mut unicode = escaped & escapes.unicode;
        while unicode != 0 {
            let u = at + unicode.trailing_zeros() as usize;
            match bytes.get(u + 1..u + 5) {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {}
                Some(_) => return bad(bytes, at),
                // Its backslash is in this block, for no block starts with an escaped byte.
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
pub fn bytewise(bytes: &[u8], from: usize) -> Skipped {
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
    // ends at an odd one, and the other way round.
    let starts = slashes & !follows;
    let after_even = slashes.wrapping_add(starts & EVEN) & !slashes;
    let after_odd = slashes.wrapping_add(starts & !EVEN) & !slashes;
    follows & ((after_even & !EVEN) | (after_odd & EVEN))
}

/// The same without vector instructions.
#[cfg(any(not(target_arch = "aarch64"), test))]
pub fn plain_masks(block: &[u8; BLOCK_BYTES]) -> Masks {
    let mask = |is: fn(u8) -> bool| block.iter().rev().fold(0, |all, byte| all << 1 | u64::from(is(*byte)));
    Masks { quotes: mask(|byte| byte == b'"'), slashes: mask(|byte| byte == b'\\'), controls: mask(|byte| byte < 0x20) }
}

/// Which of the escaped bytes of a block are valid after a backslash, and which are `u`.
pub fn escapes(block: &[u8; BLOCK_BYTES], mut escaped: u64) -> Escapes {
    let mut found = Escapes { known: 0, unicode: 0 };
    while escaped != 0 {
        let bit = escaped & escaped.wrapping_neg();
        match block.get(escaped.trailing_zeros() as usize) {
            Some(b'u') => (found.known, found.unicode) = (found.known | bit, found.unicode | bit),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => found.known |= bit,
            _ => {}
        }
        escaped &= escaped - 1;
    }
    found
}
