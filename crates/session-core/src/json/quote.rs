//! JSON strings from UTF-16 units: in this form a JavaScript engine returns its strings fastest.

use std::cell::Cell;

use crate::base::memory::{self, append, keep};
use crate::base::wtf8::{push_escaped, push_utf16};

/// How many units are converted at once: few enough that they stay in the processor's cache between two steps.
const PIECE: usize = 1 << 14;

thread_local! {
    static TEXT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Appends the JSON text of a string, as `JSON.stringify` writes it.
pub fn push_quoted(out: &mut Vec<u8>, units: &[u16]) -> memory::Result<()> {
    let mut text = TEXT.take();
    let mut rest = units;
    append(out, b"\"")?;
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(piece_length(rest));
        rest = later;
        text.clear();
        push_utf16(&mut text, piece)?;
        push_escaped(out, &text)?;
    }
    keep(&TEXT, text);
    append(out, b"\"")
}

/// The length of the next piece. It does not end between the two surrogates of a character.
fn piece_length(units: &[u16]) -> usize {
    match units.get(PIECE - 1) {
        Some(0xD800..=0xDBFF) => PIECE - 1,
        _ => PIECE.min(units.len()),
    }
}

#[cfg(test)]
mod tests;
