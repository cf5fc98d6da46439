//! A hash that most changes of a file change.

use std::fs::File;
use std::io;

use xxhash_rust::xxh3::Xxh3Default;

use super::fs::read_exact_at;

/// How many bytes at each end are hashed.
const LOOK: usize = 4 << 10;

/// A hash of the length, the head and the tail of a file's first `end` bytes.
pub fn head_tail_hash(file: &File, end: u64) -> io::Result<u64> {
    let mut hash = Xxh3Default::new();
    hash.update(&end.to_le_bytes());
    let mut bytes = [0; LOOK];
    for from in [0, end.saturating_sub(LOOK as u64)] {
        let size = usize::try_from(end - from).unwrap_or(LOOK).min(LOOK);
        let into = bytes.get_mut(..size).unwrap_or_default();
        read_exact_at(file, from, into)?;
        hash.update(into);
    }
    Ok(hash.digest())
}
