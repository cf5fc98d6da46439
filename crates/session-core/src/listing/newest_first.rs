//! The order of sessions where the newest comes first: by the time of the last message, as lists sort them. Restores and programs that sync
//! change the times of files.

use std::cmp::Reverse;

use super::candidates::Candidate;
use super::read_all::{rows_of, Rows};
use crate::catalog::connection::Catalog;
use crate::catalog::rows::CatalogRow;
use crate::summary::session_summary::ListedSession;

/// Sorts the files of sessions, the newest first. The time of one is that of the catalog's row if the file has the size that the row was
/// read at, whatever its times and its inode are now. Other files go by their own time: they were written to since, or no list has read
/// them.
pub(crate) fn sort_newest_first(files: &mut [Candidate], catalog: Option<&Catalog>) {
    let mut rows = catalog.and_then(|catalog| rows_of(catalog, files).ok()).unwrap_or_default();
    files.sort_by_cached_key(|file| {
        let ms = time_in(&mut rows, file).or_else(|| Some(file.fingerprint?.modified_ms()));
        // Whole milliseconds, as a list has them.
        Reverse((ms.map(|ms| ms.floor() as i64), file.path.clone()))
    });
}

/// When a session was modified, by its row.
fn time_in(rows: &mut Rows, file: &Candidate) -> Option<f64> {
    let fingerprint = file.fingerprint?;
    let CatalogRow { fingerprint: read, progress, head_tail_hash, .. } =
        rows.get_mut(&file.dir)?.remove(&file.name)??;
    let summary = progress.kind.into_summary().filter(|_| read.size == fingerprint.size)?;
    let listed = ListedSession { summary, fingerprint, end: progress.end, head_tail_hash, usage: progress.usage };
    Some(listed.modified()).filter(|ms| !ms.is_nan())
}
