//! Reads named fields of a JSON text; the [`Scanner`] skips everything else.
//!
//! It accepts what `JSON.parse` accepts. It builds no values: a field is a [`Raw`] span.

use std::borrow::Cow;

use super::scanner::{ScanError, ScanResult, Scanner};
use super::string_bytes;
use crate::base::memory::{self, push, with_capacity};

/// The text of a JSON value that has been checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// The text, without white space around it.
    pub fn get(self) -> &'a str {
        self.0
    }
}

/// A type that can be read from a JSON value.
pub(crate) trait FromJson<'a>: Sized {
    /// Reads the next value.
    fn take(scanner: &mut Scanner<&'a str>) -> ScanResult<Self, &'a str>;
}

impl<'a> FromJson<'a> for Raw<'a> {
    fn take(scanner: &mut Scanner<&'a str>) -> ScanResult<Self, &'a str> {
        scanner.span(Scanner::skip_value).map(Raw)
    }
}

/// Reads a whole text as one value; None if it is not JSON, or not a value of type `T`.
pub(crate) fn read<'a, T: FromJson<'a>>(text: &'a str) -> Option<T> {
    let mut scanner = Scanner::new(text);
    let value = T::take(&mut scanner).ok()?;
    (scanner.next_token() == Ok(None)).then_some(value)
}

/// Whether the text is one JSON value by `JSON.parse`'s rules.
pub fn is_json(text: &str) -> bool {
    read::<Raw<'_>>(text).is_some()
}

/// The elements of a JSON text that is an array. An iterator, because a line may have millions of them.
pub(crate) fn elements(json: &str) -> impl Iterator<Item = &str> {
    let mut scanner = Scanner::new(json);
    let is_list = scanner.take(b'[') == Ok(true);
    let mut first = true;
    std::iter::from_fn(move || {
        if !is_list || scanner.next_element(&mut first, b']') != Ok(true) {
            return None;
        }
        scanner.span(Scanner::skip_value).ok()
    })
}

/// The members of an object whose keys are known only at run time. If they are known before, a struct of `fields!` is
/// faster.
pub(crate) struct Members<'a>(Vec<(Cow<'a, [u8]>, Raw<'a>)>);

impl<'a> Members<'a> {
    /// Reads a text as an object; None if it is not one. Fails with `OutOfMemory` if the allocation fails.
    pub(crate) fn read(text: &'a str) -> memory::Result<Option<Self>> {
        let mut members = Self(with_capacity(12)?);
        match members.take(text) {
            Ok(()) => Ok(Some(members)),
            Err(error) => error.cause().map_or(Ok(None), Err),
        }
    }

    fn take(&mut self, text: &'a str) -> ScanResult<(), &'a str> {
        let mut scanner = Scanner::new(text);
        scanner.expect(b'{')?;
        let mut first = true;
        while scanner.next_element(&mut first, b'}')? {
            let key = scanner.span(Scanner::skip_string)?;
            let key = string_bytes(key)?.ok_or(ScanError::Malformed)?;
            scanner.expect(b':')?;
            push(&mut self.0, (key, Raw::take(&mut scanner)?))?;
        }
        scanner.expect(b'}')?;
        scanner.next_token()?.map_or(Ok(()), |_| Err(ScanError::Malformed))
    }

    /// The value of a key; the last one if the key is repeated.
    pub(crate) fn get(&self, key: &str) -> Option<Raw<'a>> {
        let found = self.0.iter().rev().find(|(name, _)| **name == *key.as_bytes())?;
        Some(found.1)
    }
}

#[cfg(test)]
pub(super) mod tests;
