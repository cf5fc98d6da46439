//! Case folding: Unicode's simple folding, which maps each character to one character.
//!
//! `ſ` and `s`, `K` (the Kelvin sign) and `k`, `ς` and `σ` are the same letter. `ß` and `ss` are not, because `ss` is
//! more than one character. Turkish `ı` and `İ` are not the same as `i`. The search relies on `regex-syntax`, where
//! `(?i)` means the same folding.

use super::memory::{self, push_str};

/// Folds a character.
pub(crate) fn fold(c: char) -> char {
    match c {
        '\0'..='\u{7f}' => c.to_ascii_lowercase(),
        // Punctuation, and Asian scripts without cases: most characters that belong to no alphabet.
        '\u{2000}'..='\u{20ff}' | '\u{2e80}'..='\u{a63f}' | '\u{ac00}'..='\u{d7ff}' | '\u{1f000}'..='\u{1ffff}' => c,
        // Unicode's simple folding maps these to themselves, or not to the small letter of their capital.
        '\u{130}' | '\u{131}' => c,
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        // Small letters that share a capital are the same letter, and so are capitals that share a small letter.
        _ => one_or(one_or(c, c.to_uppercase()), one_or(c, c.to_uppercase()).to_lowercase()),
    }
}

/// The character of an iterator that has exactly one; else `c`.
fn one_or(c: char, mut all: impl Iterator<Item = char>) -> char {
    match (all.next(), all.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// Folds a text into a reused string.
pub(crate) fn fold_into(text: &str, out: &mut String) -> memory::Result<()> {
    out.clear();
    out.try_reserve(text.len())?;
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let (ascii, odd) = rest.split_at_checked(plain).unwrap_or((rest, ""));
        let from = out.len();
        push_str(out, ascii)?;
        out.get_mut(from..).unwrap_or_default().make_ascii_lowercase();
        let mut chars = odd.chars();
        rest = chars.as_str();
        while let Some(c) = chars.next().filter(|c| !c.is_ascii()) {
            push_str(out, fold(c).encode_utf8(&mut [0; 4]))?;
            rest = chars.as_str();
        }
    }
    Ok(())
}

/// A folded text.
pub(crate) fn folded(text: &str) -> String {
    text.chars().map(fold).collect()
}

#[cfg(test)]
mod tests;
