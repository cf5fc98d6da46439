//! Allocations whose size depends on a file. Rust's collections abort the process if an allocation fails. The functions
//! here fail with [`OutOfMemory`] instead; `?` converts it into the caller's error (`ENOMEM` in messages).

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet, TryReserveError};
use std::fmt;
use std::hash::Hash;
use std::io;
use std::thread::LocalKey;

/// The system refused memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory;

/// A result whose error is [`OutOfMemory`].
pub type Result<T> = std::result::Result<T, OutOfMemory>;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not enough memory")
    }
}

impl std::error::Error for OutOfMemory {}

impl From<OutOfMemory> for io::Error {
    fn from(_: OutOfMemory) -> Self {
        io::ErrorKind::OutOfMemory.into()
    }
}

impl From<TryReserveError> for OutOfMemory {
    fn from(_: TryReserveError) -> Self {
        Self
    }
}

impl From<hashbrown::TryReserveError> for OutOfMemory {
    fn from(_: hashbrown::TryReserveError) -> Self {
        Self
    }
}

/// Reserves memory for `more` more elements.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    Ok(list.try_reserve(more)?)
}

/// Resizes a list. New elements have the default value.
pub fn resize<T: Clone + Default>(list: &mut Vec<T>, len: usize) -> Result<()> {
    let more = len.saturating_sub(list.len());
    list.try_reserve_exact(more)?;
    list.resize(len, T::default());
    Ok(())
}

/// Adds an element to a list.
pub fn push<T>(list: &mut Vec<T>, element: T) -> Result<()> {
    reserve(list, 1)?;
    list.push(element);
    Ok(())
}

pub(crate) fn extend<T>(list: &mut Vec<T>, elements: impl IntoIterator<Item = T>) -> Result<()> {
    let mut elements = elements.into_iter();
    reserve(list, elements.size_hint().0)?;
    elements.try_for_each(|element| push(list, element))
}

/// Collects the elements into a list.
pub fn collect<T>(elements: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut list = Vec::new();
    extend(&mut list, elements)?;
    Ok(list)
}

/// Inserts a value into a map. Returns the value that the key had before.
pub(crate) fn insert<K: Eq + Hash, V>(map: &mut HashMap<K, V>, key: K, value: V) -> Result<Option<V>> {
    map.try_reserve(1)?;
    Ok(map.insert(key, value))
}

/// Inserts a value into a set. Returns whether it is new.
pub(crate) fn insert_into<T: Eq + Hash>(set: &mut HashSet<T>, value: T) -> Result<bool> {
    set.try_reserve(1)?;
    Ok(set.insert(value))
}

/// Appends bytes.
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    reserve(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// Joins parts, with `between` between them.
pub fn joined(parts: &[impl AsRef<[u8]>], between: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        append(&mut out, if at > 0 { between } else { b"" })?;
        append(&mut out, part.as_ref())?;
    }
    Ok(out)
}

/// An empty list with memory for `capacity` elements.
pub fn with_capacity<T>(capacity: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    reserve(&mut list, capacity)?;
    Ok(list)
}

/// The largest buffer, in bytes, that is kept for its next use. Buffers are kept because the page faults of fresh
/// memory cost more than the work in it.
const KEPT: usize = 8 << 20;

/// Keeps a buffer for the next use by this thread, unless it is large. The next use gets it by `buffer.take()`.
pub fn keep<T>(buffer: &'static LocalKey<Cell<Vec<T>>>, mut list: Vec<T>) {
    list.clear();
    if size_of::<T>() * list.capacity() <= KEPT {
        buffer.set(list);
    }
}

/// A list with `len` copies of one value.
pub(crate) fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut list = with_capacity(len)?;
    list.resize(len, value);
    Ok(list)
}

pub(crate) fn push_str(out: &mut String, text: &str) -> Result<()> {
    out.try_reserve(text.len())?;
    out.push_str(text);
    Ok(())
}

/// A writer into memory. `Vec<u8>`, which is a writer too, aborts the process if an allocation fails.
#[derive(Default)]
pub(crate) struct MemoryWriter(pub Vec<u8>);

impl io::Write for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        append(&mut self.0, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A copy of bytes.
pub fn copy_of_bytes(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    append(&mut copy, bytes)?;
    Ok(copy)
}

/// The bytes as an owned list. Copies them only if they are borrowed.
pub(crate) fn owned(bytes: Cow<'_, [u8]>) -> Result<Vec<u8>> {
    match bytes {
        Cow::Borrowed(bytes) => copy_of_bytes(bytes),
        Cow::Owned(bytes) => Ok(bytes),
    }
}

pub(crate) fn copy_of(text: &str) -> Result<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())?;
    copy.push_str(text);
    Ok(copy)
}

#[cfg(test)]
mod tests;
