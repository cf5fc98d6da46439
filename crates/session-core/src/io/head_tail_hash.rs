//! A hash of a file's length, its first 4 KB and its last 4 KB. The hash notices most changes. We do not hash the whole
//! file, because that would cost as much as listing it again.

use std::fs::File;
use std::io;

use xxhash_rust::xxh3::Xxh3Default;

use super::fs::read_exact_at;

/// How many bytes at each end are hashed.
const HASHED: usize = 4 << 10;

/// The hash of a file's first `end` bytes: it covers `end` itself, and the first and the last 4 KB of these bytes.
pub(crate) fn head_tail_hash(file: &File, end: u64) -> io::Result<u64> {
    let mut hash = Xxh3Default::new();
    hash.update(&end.to_le_bytes());
    let mut bytes = [0; HASHED];
    for from in [0, end.saturating_sub(HASHED as u64)] {
        let size = usize::try_from(end - from).unwrap_or(HASHED).min(HASHED);
        let into = bytes.get_mut(..size).unwrap_or_default();
        read_exact_at(file, from, into)?;
        hash.update(into);
    }
    Ok(hash.digest())
}
