//! Processors without vector instructions that are used here.

use super::block::{check_padded, escapes, plain_masks, skip, Skipped};

/// Skips a string.
pub fn skip_string(bytes: &[u8], from: usize) -> Skipped {
    skip(bytes, from, plain_masks, escapes, |bytes, at, rest| check_padded(bytes, at, rest, plain_masks))
}

/// The end of a string without escapes that is shorter than sixteen bytes; None if it may be anything else.
#[cfg(any(not(target_arch = "x86_64"), test))]
#[inline]
pub fn short_end(bytes: &[u8], from: usize) -> Option<usize> {
    let start = bytes.get(from..)?.first_chunk::<16>()?;
    let end = start.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)?;
    (start.get(end) == Some(&b'"')).then_some(from + end + 1)
}
