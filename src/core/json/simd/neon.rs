//! NEON, which every processor of this architecture has.

use std::arch::aarch64::*;

use super::block::{check_padded, short, skip, Escapes, Masks, Skipped, BLOCK_BYTES};

/// Skips a string.
pub fn skip_string(bytes: &[u8], from: usize) -> Skipped {
    skip(bytes, from, masks, escapes, check_last)
}

#[inline(never)]
fn check_last(bytes: &[u8], at: usize, rest: &[u8]) -> Skipped {
    check_padded(bytes, at, rest, masks)
}

/// The end of a string without escapes that is shorter than sixteen bytes; None if it may be anything else.
#[inline]
pub fn short_end(bytes: &[u8], from: usize) -> Option<usize> {
    let start = bytes.get(from..)?.first_chunk::<16>()?;
    // SAFETY: there are 16 bytes; every processor of this architecture has NEON.
    let [quotes, others] = unsafe {
        let bytes = vld1q_u8(start.as_ptr());
        let others = vorrq_u8(vceqq_u8(bytes, vdupq_n_u8(b'\\')), vcltq_u8(bytes, vdupq_n_u8(0x20)));
        // Four bits for each byte.
        let bits = |is: uint8x16_t| vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(vreinterpretq_u16_u8(is))));
        [bits(vceqq_u8(bytes, vdupq_n_u8(b'"'))), bits(others)]
    };
    Some(from + (short(quotes, others)? / 4) as usize + 1)
}

type Quarters = [uint8x16_t; 4];

#[inline(always)]
fn quarters(block: &[u8; BLOCK_BYTES]) -> Quarters {
    let from = block.as_ptr();
    // SAFETY: the block has 64 bytes; every processor of this architecture has NEON.
    unsafe { [vld1q_u8(from), vld1q_u8(from.add(16)), vld1q_u8(from.add(32)), vld1q_u8(from.add(48))] }
}

/// A bit for each byte that is 255 and none for each that is 0.
#[inline(always)]
fn bits(all: Quarters) -> u64 {
    const PLACES: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: there are 16 places; every processor of this architecture has NEON.
    unsafe {
        let places = vld1q_u8(PLACES.as_ptr());
        let [a, b, c, d] = all.map(|quarter| vandq_u8(quarter, places));
        // Sums of neighbours, three times: each byte of the last is eight bits.
        let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
    }
}

#[inline(always)]
fn equal(all: Quarters, byte: u8) -> u64 {
    // SAFETY: every processor of this architecture has NEON.
    bits(all.map(|quarter| unsafe { vceqq_u8(quarter, vdupq_n_u8(byte)) }))
}

#[inline(always)]
fn masks(block: &[u8; BLOCK_BYTES]) -> Masks {
    let all = quarters(block);
    // SAFETY: every processor of this architecture has NEON.
    let controls = bits(all.map(|quarter| unsafe { vcltq_u8(quarter, vdupq_n_u8(0x20)) }));
    Masks { quotes: equal(all, b'"'), slashes: equal(all, b'\\'), controls }
}

#[inline(always)]
fn escapes(block: &[u8; BLOCK_BYTES], _escaped: u64) -> Escapes {
    // A byte is known if its two halves have a bit in common: 1 for 2_, 2 for 5_, 4 for 6_, 8 for 7_.
    const LOW: [u8; 16] = [0, 0, 13, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1];
    const HIGH: [u8; 16] = [0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    let all = quarters(block);
    // SAFETY: the tables have 16 bytes; every processor of this architecture has NEON.
    let known = bits(all.map(|quarter| unsafe {
        let low = vqtbl1q_u8(vld1q_u8(LOW.as_ptr()), vandq_u8(quarter, vdupq_n_u8(15)));
        let high = vqtbl1q_u8(vld1q_u8(HIGH.as_ptr()), vshrq_n_u8::<4>(quarter));
        vtstq_u8(low, high)
    }));
    Escapes { known, unicode: equal(all, b'u') }
}
