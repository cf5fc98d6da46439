//! The order of sessions with the newest first: by the time of the last message, as lists sort them. We do not use the
//! times of files alone, because restores and programs that sync change them.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::candidates::Candidate;
use crate::catalog::connection::Catalog;
use crate::catalog::rows::times_in;

/// Sorts session files, the newest first. The time of a file is the one in its row of the catalog, if the file still
/// has the size with which the row was read; its times and its inode do not matter. Other files use their own
/// modification time, because they were changed since, or no list has read them.
pub(crate) fn sort_newest_first(files: &mut [Candidate], catalog: Option<&Catalog>) {
    let mut dirs = HashMap::new();
    for file in catalog.iter().flat_map(|_| &*files) {
        if !dirs.contains_key(&file.dir) {
            let times = catalog.and_then(|catalog| times_in(catalog.db(), &file.dir).ok());
            dirs.insert(file.dir.clone(), times.unwrap_or_default());
        }
    }
    files.sort_by_cached_key(|file| {
        let ms = file.fingerprint.map(|fingerprint| {
            let row = dirs.get(&file.dir).and_then(|times| times.get(&file.name));
            let known = row.filter(|(size, _)| *size == fingerprint.size as i64);
            known.map_or_else(|| fingerprint.modified_ms(), |(_, modified)| *modified)
        });
        // In nanoseconds, because several files may be written in one millisecond.
        Reverse((ms.map(|ms| (ms * 1e6) as i64), file.path.clone()))
    });
}
