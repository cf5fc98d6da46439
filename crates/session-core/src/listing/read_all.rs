//! Reads the data that a list shows of many session files: from the catalog, or from the files on several threads.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;

use super::candidates::Candidate;
use crate::base::error::{Error, Result};
use crate::base::threads::{into_inner, locked, try_on_threads};
use crate::catalog::connection::Catalog;
use crate::catalog::error::CatalogResult;
use crate::catalog::location::CatalogLocation;
use crate::catalog::rows::{self, CacheValidity, CatalogRow, PackedFile};
use crate::io::file_fingerprint::{now, FileFingerprint};
use crate::io::fs;
use crate::io::head_tail_hash::head_tail_hash;
use crate::io::open::{self, is_exhausted, Access};
use crate::summary::session_summary::{read_on, FileKind, ListedSession, SummaryProgress};
use crate::summary::usage::session_usage::{SessionUsage, LARGEST_KEPT};

/// A file that has to be read.
struct Job<'a> {
    at: usize,
    file: &'a Candidate,
    row: Option<CatalogRow>,
    /// The usage in the part of the file that the row covers. None if the file must be read from its start.
    usage: Option<SessionUsage>,
}

/// The first file of the list comes first, then the largest, because a giant file at the end would be read by one
/// thread while the others wait.
fn in_reading_order(jobs: &mut [Job<'_>]) {
    jobs.sort_by_key(|job| {
        (job.at != 0, std::cmp::Reverse(job.file.fingerprint.map_or(0, |fingerprint| fingerprint.size)))
    });
}

/// Calls `each` with the index of each file and the data that a list shows; None for a file that is not a session or
/// cannot be read. With `largest`, the data includes the usage of each session, with so many of its largest entries.
/// Valid rows of the catalog at `location` are used, and new data is written there before the last call. If `cancelled`
/// is set, the remaining calls are not made. Fails if no file descriptor is left for a file.
pub(crate) fn read_all(
    files: &[Candidate],
    location: Option<&CatalogLocation>,
    largest: Option<usize>,
    cancelled: &AtomicBool,
    each: &(dyn Fn(usize, Option<ListedSession>) + Sync),
) -> Result<()> {
    // The catalog does not keep more of them.
    let location = location.filter(|_| largest.is_none_or(|largest| largest <= LARGEST_KEPT));
    read(files, location.and_then(Catalog::open), location, largest, cancelled, each)
}

fn read(
    files: &[Candidate],
    mut catalog: Option<Catalog>,
    location: Option<&CatalogLocation>,
    largest: Option<usize>,
    cancelled: &AtomicBool,
    each: &(dyn Fn(usize, Option<ListedSession>) + Sync),
) -> Result<()> {
    let mut rows = Rows::new();
    if let Some(open) = catalog.take() {
        match rows_of(&open, files) {
            Ok(known) => (catalog, rows) = (Some(open), known),
            Err(error) => open.discard_if_corrupt(&error),
        }
    }
    let (left, held) = (AtomicUsize::new(files.len()), Mutex::new(None));
    let reading = Reading { largest, is_cached: location.is_some(), cancelled, each, left, held };
    let mut jobs = Vec::new();
    for (at, file) in files.iter().enumerate() {
        // A file whose row cannot be unpacked is read again, as if it had no row, and the row is replaced.
        let row = rows.get_mut(&file.dir).and_then(|names| names.remove(&file.name)).flatten();
        jobs.extend(reading.job_of((at, file), row, catalog.as_ref()));
        if cancelled.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
    in_reading_order(&mut jobs);
    let jobs: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let updates = Mutex::new(Vec::new());
    let done = try_on_threads(jobs.len(), |buffer: &mut Box<[u8]>, job| {
        let job = jobs.get(job).and_then(|job| locked(job).take());
        let Some(job) = job.filter(|_| !cancelled.load(Ordering::Relaxed)) else { return Ok(()) };
        let (at, path) = (job.at, &job.file.path);
        let read = match reading.read_one(job, buffer) {
            // The error is not about this file, and a list without the file would be wrong.
            Err(error) if is_exhausted(&error) => return Err(Error::io("open", path, error)),
            read => read.ok().flatten(),
        };
        if read.is_some() || !cancelled.load(Ordering::Relaxed) {
            let (found, update) = read.unwrap_or_default();
            locked(&updates).extend(update);
            reading.give(at, found);
        }
        Ok(())
    });
    // Results that were read before a cancellation are cached too.
    write_rows(catalog, location, &into_inner(updates), &rows);
    if !cancelled.load(Ordering::Relaxed) {
        done?;
        if let Some((at, found)) = into_inner(reading.held) {
            each(at, found);
        }
    }
    Ok(())
}

/// The options of a reading, and the receiver of its results.
struct Reading<'a> {
    /// Whether usage is read too, and with how many of the largest entries.
    largest: Option<usize>,
    /// Whether results are written to the catalog.
    is_cached: bool,
    cancelled: &'a AtomicBool,
    each: &'a (dyn Fn(usize, Option<ListedSession>) + Sync),
    /// How many calls of `each` are left. The last call is delayed until everything else is done.
    left: AtomicUsize,
    held: Mutex<Option<(usize, Option<ListedSession>)>>,
}

impl Reading<'_> {
    fn give(&self, at: usize, found: Option<ListedSession>) {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            1 => *locked(&self.held) = Some((at, found)),
            _ => (self.each)(at, found),
        }
    }

    /// The job that reads a file. `row` is its row of the catalog, if it has one. None if no reading is needed, because
    /// the row or the file's absence is the result, which is then passed on.
    fn job_of<'a>(
        &self,
        (at, file): (usize, &'a Candidate),
        row: Option<CatalogRow>,
        catalog: Option<&Catalog>,
    ) -> Option<Job<'a>> {
        let Some(fingerprint) = file.fingerprint else {
            self.give(at, None);
            return None;
        };
        let Some((row, catalog)) = row.zip(catalog) else {
            return Some(Job { at, file, row: None, usage: None });
        };
        let validity = row.validity(&fingerprint);
        // If the catalog does not have the usage, it is read from the file.
        let usage = match (validity, &row.progress.kind) {
            (CacheValidity::Invalid, _) => None,
            (CacheValidity::Valid, _) if self.largest.is_none() => Some(SessionUsage::default()),
            (_, FileKind::Session(..)) => rows::usage_of(catalog.db(), row.row).ok().flatten(),
            (_, FileKind::Undetermined | FileKind::NotASession) => Some(SessionUsage::default()),
        };
        match usage {
            Some(usage) if validity == CacheValidity::Valid => {
                let CatalogRow { progress: SummaryProgress { kind, end, .. }, head_tail_hash, .. } = row;
                let listed = |summary| ListedSession { summary, fingerprint, end, head_tail_hash, usage };
                self.give(at, kind.into_summary().map(listed));
                None
            }
            usage => Some(Job { at, file, row: Some(row), usage }),
        }
    }

    /// Reads a file, or the part that its row does not cover. None if it was cancelled.
    fn read_one<'a>(
        &self,
        job: Job<'a>,
        buffer: &mut Box<[u8]>,
    ) -> io::Result<Option<(Option<ListedSession>, Option<Update<'a>>)>> {
        let file = open::regular(Path::new(&job.file.path), Access::Read)?;
        let seen = now();
        let fingerprint = fs::stat(&file)?.fingerprint();
        let Job { file: candidate, row, usage, .. } = job;
        let had_row = row.is_some();
        let row = row.filter(|row| match row.validity(&fingerprint) {
            CacheValidity::Valid => true,
            // If the file cannot be read here, the reading below fails.
            CacheValidity::IfSamePrefix => {
                head_tail_hash(&file, row.progress.end).is_ok_and(|hash| hash == row.head_tail_hash)
            }
            CacheValidity::Invalid => false,
        });
        let known = match (row, usage) {
            (Some(row), Some(usage)) => SummaryProgress { usage, ..row.progress },
            _ => {
                let kept = self.largest.unwrap_or_default().max(LARGEST_KEPT);
                SummaryProgress { usage: SessionUsage::keeping(kept), ..SummaryProgress::default() }
            }
        };
        // The values for the complete lines.
        let (mut hash, mut packed) = (0, None);
        let mut complete = |progress: &SummaryProgress| -> io::Result<()> {
            hash = head_tail_hash(&file, progress.end)?;
            if self.is_cached {
                packed = Some(PackedFile::of(&fingerprint, seen, hash, progress)?);
            }
            Ok(())
        };
        let read = read_on(&file, fingerprint.size, known, buffer, &[self.cancelled], &mut complete)?;
        let Some(SummaryProgress { kind, usage, end }) = read else { return Ok(None) };
        let usage = self.largest.map_or_else(SessionUsage::default, |_| usage);
        let listed = |summary| ListedSession { summary, fingerprint, end, head_tail_hash: hash, usage };
        let packed = packed.map(|packed| Some(packed).filter(PackedFile::is_kept));
        let update = packed.filter(|packed| packed.is_some() || had_row);
        let update = update.map(|packed| Update { file: candidate, fingerprint, packed });
        Ok(Some((kind.into_summary().map(listed), update)))
    }
}

/// A file whose row must be written; without `packed`, deleted.
struct Update<'a> {
    file: &'a Candidate,
    /// The fingerprint of the file that was read.
    fingerprint: FileFingerprint,
    packed: Option<PackedFile>,
}

impl Update<'_> {
    /// Whether the file that was read still exists, unchanged or longer. A redaction replaces the file and then deletes
    /// the row, so the row must not be written again after that.
    fn is_current(&self) -> bool {
        let now = fs::stat_path(Path::new(&self.file.path)).ok().flatten().map(|stat| stat.fingerprint());
        let read = &self.fingerprint;
        now.is_some_and(|now| now == *read || now.file_id == read.file_id && now.size > read.size)
    }
}

/// The catalog's rows of the listed directories, by directory and file name.
type Rows = HashMap<String, HashMap<String, Option<CatalogRow>>>;

fn rows_of(catalog: &Catalog, files: &[Candidate]) -> CatalogResult<Rows> {
    let mut rows = Rows::new();
    for file in files {
        if !rows.contains_key(&file.dir) {
            rows.insert(file.dir.clone(), rows::in_dir(catalog.db(), &file.dir)?);
        }
    }
    Ok(rows)
}

/// Writes the results, and deletes the remaining rows, whose files are gone. Rows that cannot be written are read again
/// by the next list.
fn write_rows(catalog: Option<Catalog>, location: Option<&CatalogLocation>, updates: &[Update<'_>], gone: &Rows) {
    let has_gone = gone.values().any(|names| !names.is_empty());
    let has_changes = has_gone || !updates.is_empty();
    let Some(mut catalog) = catalog.or_else(|| Catalog::create(location.filter(|_| has_changes)?)) else { return };
    if catalog.is_read_only() {
        return;
    }
    if has_changes {
        let written = catalog.write(|transaction| {
            for update in updates {
                let Update { file, packed, .. } = update;
                match packed {
                    // The transaction is exclusive: no other process writes to the catalog in the meantime.
                    Some(packed) if update.is_current() => rows::put(transaction, &file.dir, &file.name, packed)?,
                    Some(_) | None => rows::forget(transaction, &file.dir, &file.name)?,
                }
            }
            for (dir, names) in gone {
                names.keys().try_for_each(|name| rows::forget(transaction, dir, name))?;
            }
            Ok(())
        });
        if let Err(error) = written {
            return catalog.discard_if_corrupt(&error);
        }
    }
    let has_deleted = has_gone || updates.iter().any(|update| update.packed.is_none());
    tidy(&mut catalog, gone, has_deleted);
}

/// Deletes the rows of directories that are gone, and removes deleted rows from the log. If a step fails, a later list
/// repeats it.
fn tidy(catalog: &mut Catalog, listed: &Rows, has_deleted: bool) {
    let listed = listed.keys().map(String::as_str).collect();
    if rows::forget_empty_dirs(catalog, &listed).unwrap_or(false) || has_deleted {
        let _ = catalog.checkpoint();
    } else {
        catalog.truncate_log();
    }
}

#[cfg(test)]
mod tests;
