//! Reads named fields of a JSON text; the [`Scanner`] skips everything else.
//!
//! It accepts what `JSON.parse` accepts. It builds no values: a field is a [`Raw`] span.

use std::borrow::Cow;

use super::scanner::{ScanError, ScanResult, Scanner};
use super::string_bytes;
use crate::base::memory::{self, push};

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

/// Calls `each` with the key and the value of each member of a JSON text. False if the text is not an object; `each`
/// may then have been called.
pub(super) fn each_member<'a>(
    text: &'a str,
    mut each: impl FnMut(Cow<'a, [u8]>, &'a str) -> memory::Result<()>,
) -> memory::Result<bool> {
    let mut scanner = Scanner::new(text);
    let mut read = || -> ScanResult<bool, &'a str> {
        scanner.expect(b'{')?;
        let mut first = true;
        while scanner.next_element(&mut first, b'}')? {
            let key = scanner.span(Scanner::skip_string)?;
            let key = string_bytes(key)?.ok_or(ScanError::Malformed)?;
            scanner.expect(b':')?;
            each(key, scanner.span(Scanner::skip_value)?)?;
        }
        scanner.expect(b'}')?;
        Ok(scanner.next_token()?.is_none())
    };
    read().or_else(|error| error.cause().map_or(Ok(false), Err))
}

/// The members of an object whose keys are known only at run time. If they are known before, a struct of `fields!` is
/// faster.
pub(crate) struct Members<'a>(Vec<(Cow<'a, [u8]>, Raw<'a>)>);

impl<'a> Members<'a> {
    /// Reads a text as an object; None if it is not one. Fails with `OutOfMemory` if the allocation fails.
    pub(crate) fn read(text: &'a str) -> memory::Result<Option<Self>> {
        let mut members = Vec::with_capacity(12);
        let is_object = each_member(text, |key, value| push(&mut members, (key, Raw(value))))?;
        Ok(is_object.then_some(Self(members)))
    }

    /// The value of a key; the last one if the key is repeated.
    pub(crate) fn get(&self, key: &str) -> Option<Raw<'a>> {
        let found = self.0.iter().rev().find(|(name, _)| **name == *key.as_bytes())?;
        Some(found.1)
    }
}

#[cfg(test)]
pub(super) mod tests;
