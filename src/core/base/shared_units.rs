//! Code units of many texts in one allocation, which is freed with the last of them.

use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Texts of fewer bytes are better copied: what is kept for a shared one takes some hundred bytes.
pub const LEAST: usize = 1 << 10;

/// The code units of one text.
#[derive(Debug)]
pub struct SharedUnits<T> {
    memory: Arc<Memory<T>>,
    range: Range<usize>,
}

/// The code units of all texts that share it.
#[derive(Debug)]
pub struct Memory<T> {
    units: Vec<T>,
    is_counted: AtomicBool,
}

impl<T> Memory<T> {
    /// Memory for texts.
    pub fn new(units: Vec<T>) -> Arc<Self> {
        Arc::new(Self { units, is_counted: AtomicBool::new(false) })
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.units)
    }

    /// Marks it as counted. Gives whether it was not before: whoever counts memory counts each once.
    pub fn count(&self) -> bool {
        !self.is_counted.swap(true, Ordering::Relaxed)
    }

    /// Whether it was counted.
    pub fn is_counted(&self) -> bool {
        self.is_counted.load(Ordering::Relaxed)
    }
}

impl<T> SharedUnits<T> {
    /// A text in shared memory; an empty one if it does not reach so far.
    pub fn of(memory: &Arc<Memory<T>>, range: Range<usize>) -> Self {
        let range = if memory.units.get(range.clone()).is_some() { range } else { 0..0 };
        Self { memory: memory.clone(), range }
    }

    /// The memory that it is in.
    pub fn memory(&self) -> &Arc<Memory<T>> {
        &self.memory
    }
}

impl<T> Deref for SharedUnits<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.memory.units.get(self.range.clone()).unwrap_or_default()
    }
}

impl<T> Clone for SharedUnits<T> {
    fn clone(&self) -> Self {
        Self { memory: self.memory.clone(), range: self.range.clone() }
    }
}

impl<T> From<Vec<T>> for SharedUnits<T> {
    fn from(units: Vec<T>) -> Self {
        let range = 0..units.len();
        Self { memory: Memory::new(units), range }
    }
}

impl<T: PartialEq> PartialEq for SharedUnits<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for SharedUnits<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_freed_with_the_last_of_its_texts() {
        let memory = Memory::new(b"onetwo".to_vec());
        let freed = Arc::downgrade(&memory);
        let (one, two) = (SharedUnits::of(&memory, 0..3), SharedUnits::of(&memory, 3..6));
        drop(memory);
        assert_eq!((&*one, &*two), (&b"one"[..], &b"two"[..]));
        drop(one);
        assert_eq!(freed.upgrade().map(|memory| memory.bytes()), Some(6));
        assert_eq!(&*two.clone(), b"two");
        drop(two);
        assert!(freed.upgrade().is_none());
    }

    #[test]
    fn memory_is_counted_once() {
        let text = SharedUnits::from(vec![0u16; 4]);
        assert!(!text.memory().is_counted());
        assert!(text.memory().count());
        assert!(!text.clone().memory().count());
        assert!(text.memory().is_counted());
    }

    #[test]
    fn a_text_outside_of_the_memory_is_empty() {
        assert!(SharedUnits::of(&Memory::new(vec![1u8; 4]), 2..5).is_empty());
    }
}
