//! Code units of many texts in one allocation, which is freed with the last of them.

use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

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
    counter: OnceLock<MemoryCounter>,
}

impl<T> Memory<T> {
    /// Memory for texts.
    pub fn new(units: Vec<T>) -> Arc<Self> {
        Arc::new(Self { units, counter: OnceLock::new() })
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.units)
    }

    /// Adds its size to a counter, from which it is taken when the memory is freed. Later counters change nothing.
    pub fn count_in(&self, counter: &MemoryCounter) {
        self.counter.get_or_init(|| {
            counter.add(self.counted());
            counter.clone()
        });
    }

    /// The counter that it was added to.
    pub fn counter(&self) -> Option<&MemoryCounter> {
        self.counter.get()
    }

    fn counted(&self) -> i64 {
        i64::try_from(self.bytes()).unwrap_or(i64::MAX)
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        if let Some(counter) = self.counter.get() {
            counter.add(-self.counted());
        }
    }
}

/// How many bytes of shared memory came, less those that were freed, since this was last taken. Copies count as one, on
/// whatever thread memory is freed: the sum of what was taken is never below zero.
#[derive(Clone, Debug, Default)]
pub struct MemoryCounter(Arc<AtomicI64>);

impl MemoryCounter {
    fn add(&self, bytes: i64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The number of bytes.
    pub fn bytes(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The number of bytes, from which it counts anew.
    pub fn take(&self) -> i64 {
        self.0.swap(0, Ordering::Relaxed)
    }

    /// Whether the two count as one.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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
    fn memory_is_counted_once_until_it_is_freed() {
        let (counter, other) = (MemoryCounter::default(), MemoryCounter::default());
        let text = SharedUnits::from(vec![0u16; 4]);
        text.memory().count_in(&counter);
        text.clone().memory().count_in(&other);
        assert!(text.memory().counter().is_some_and(|found| found.is(&counter) && !found.is(&other)));
        assert_eq!((counter.take(), counter.bytes(), other.bytes()), (8, 0, 0));
        std::thread::spawn(move || drop(text)).join().unwrap();
        assert_eq!(counter.take(), -8);
    }

    #[test]
    fn memory_that_comes_and_goes_before_it_is_taken_counts_nothing() {
        let counter = MemoryCounter::default();
        let text = SharedUnits::from(vec![0u8; 1000]);
        text.memory().count_in(&counter);
        std::thread::spawn(move || drop(text)).join().unwrap();
        assert_eq!(counter.take(), 0);
    }

    #[test]
    fn a_text_outside_of_the_memory_is_empty() {
        assert!(SharedUnits::of(&Memory::new(vec![1u8; 4]), 2..5).is_empty());
    }
}
