//! Reads what a list shows of many session files: from the catalog, or from the files on several threads.

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
use crate::catalog::rows::{self, CacheValidity, CatalogRow, Update};
use crate::io::file_fingerprint::{now, FileFingerprint};
use crate::io::fs;
use crate::io::head_tail_hash::head_tail_hash;
use crate::io::open::is_exhausted;
use crate::io::open::{self, Access};
use crate::summary::session_summary::{read_on, FileKind, ListedSession, SummaryProgress};
use crate::summary::usage::session_usage::{SessionUsage, LARGEST_KEPT};

/// A file that has to be read.
struct Job<'a> {
    at: usize,
    file: &'a Candidate,
    row: Option<CatalogRow>,
    /// The usage in the part of the file that the row covers. Without it the file is read from its start.
    usage: Option<SessionUsage>,
}

/// The first file of the list first, then the largest: a giant file that came last would be read by one thread while the
/// others wait.
fn in_reading_order(jobs: &mut [Job<'_>]) {
    jobs.sort_by_key(|job| {
        (job.at != 0, std::cmp::Reverse(job.file.fingerprint.map_or(0, |fingerprint| fingerprint.size)))
    });
}

/// Calls `each` with the position of each file and what a list shows of it; None for a file that is not a session or cannot be
/// read. Rows of the catalog at `location` that are valid are used, and what is read is written there before the last call.
/// Once `cancelled` is set the remaining calls are not made. Gives the catalog, if there is one that works. An error if no file
/// descriptor is left for a file.
pub fn read_all(
    files: &[Candidate],
    location: Option<&CatalogLocation>,
    cancelled: &AtomicBool,
    each: &(dyn Fn(usize, Option<ListedSession>) + Sync),
) -> Result<Option<Catalog>> {
    read(files, location.and_then(Catalog::open), location, ReadScope::default(), cancelled, each)
}

/// Reads the files as [`read_all`] does, and what each session's calls used, with this many of its largest entries.
pub fn read_all_with_usage(
    files: &[Candidate],
    location: Option<&CatalogLocation>,
    largest: usize,
    cancelled: &AtomicBool,
    each: &(dyn Fn(usize, Option<ListedSession>) + Sync),
) -> Result<Option<Catalog>> {
    // The catalog has no more of them.
    let location = location.filter(|_| largest <= LARGEST_KEPT);
    let scope = ReadScope { usage: Some(largest.max(LARGEST_KEPT)), ..ReadScope::default() };
    read(files, location.and_then(Catalog::open), location, scope, cancelled, each)
}

/// What is read of each session besides its summary.
#[derive(Debug, Clone, Copy, Default)]
struct ReadScope {
    /// What its calls used, with this many of its largest entries.
    usage: Option<usize>,
    /// Whether there is, or may be, a catalog to write it to.
    is_cached: bool,
}

fn read(
    files: &[Candidate],
    mut catalog: Option<Catalog>,
    location: Option<&CatalogLocation>,
    scope: ReadScope,
    cancelled: &AtomicBool,
    each: &(dyn Fn(usize, Option<ListedSession>) + Sync),
) -> Result<Option<Catalog>> {
    let scope = ReadScope { is_cached: catalog.is_some() || location.is_some(), ..scope };
    let mut rows = Rows::default();
    if let Some(open) = catalog.take() {
        match Rows::load(&open, files) {
            Ok(loaded) => (catalog, rows) = (Some(open), loaded),
            Err(error) => open.discard_if_corrupt(&error),
        }
    }
    let last = HoldsBackLast { left: AtomicUsize::new(files.len()), held: Mutex::new(None), each };
    let mut jobs = Vec::new();
    for (at, file) in files.iter().enumerate() {
        jobs.extend(job_of((at, file), rows.take(file), catalog.as_ref(), scope, &last));
        if cancelled.load(Ordering::Relaxed) {
            return Ok(catalog);
        }
    }
    in_reading_order(&mut jobs);
    let jobs: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let updates = Mutex::new(Vec::new());
    let done = try_on_threads(jobs.len(), |buffer: &mut Box<[u8]>, job| {
        let job = jobs.get(job).and_then(|job| locked(job).take());
        let Some(job) = job.filter(|_| !cancelled.load(Ordering::Relaxed)) else { return Ok(()) };
        let (at, path) = (job.at, &job.file.path);
        let read = match read_one(job, scope, buffer, cancelled) {
            // The error says nothing about this file: a list without it would be wrong.
            Err(error) if is_exhausted(&error) => return Err(Error::io("open", path, error)),
            read => read.ok().flatten(),
        };
        if read.is_some() || !cancelled.load(Ordering::Relaxed) {
            let (found, update) = read.unwrap_or_default();
            locked(&updates).extend(update);
            last.give(at, found);
        }
        Ok(())
    });
    // Results read before a cancellation are cached as well.
    catalog = write_rows(catalog, location, &into_inner(updates), &rows);
    if !cancelled.load(Ordering::Relaxed) {
        done?;
        last.finish();
    }
    Ok(catalog)
}

/// The reading of a file whose row of the catalog, if it has one, is given. None if the row, or the file's absence, says what a list
/// shows: then that was given to `last`.
fn job_of<'a>(
    (at, file): (usize, &'a Candidate),
    row: Option<CatalogRow>,
    catalog: Option<&Catalog>,
    scope: ReadScope,
    last: &HoldsBackLast<'_>,
) -> Option<Job<'a>> {
    let Some(fingerprint) = &file.fingerprint else {
        last.give(at, None);
        return None;
    };
    let Some((row, db)) = row.zip(catalog.map(Catalog::db)) else {
        return Some(Job { at, file, row: None, usage: None });
    };
    let validity = row.validity(fingerprint);
    // Usage that the catalog cannot give is read from the file.
    let usage = match (validity, &row.progress.kind) {
        (CacheValidity::Invalid, _) => None,
        (CacheValidity::Valid, _) if scope.usage.is_none() => Some(SessionUsage::default()),
        (_, FileKind::Session(..)) => rows::usage_of(db, row.row).ok().flatten(),
        (_, FileKind::Undetermined | FileKind::NotASession) => Some(SessionUsage::default()),
    };
    match usage {
        Some(usage) if validity == CacheValidity::Valid => {
            last.give(at, listed(*fingerprint, row, usage));
            None
        }
        usage => Some(Job { at, file, row: Some(row), usage }),
    }
}

/// Holds the last call back until everything else is done.
struct HoldsBackLast<'a> {
    left: AtomicUsize,
    held: Mutex<Option<(usize, Option<ListedSession>)>>,
    each: &'a (dyn Fn(usize, Option<ListedSession>) + Sync),
}

impl HoldsBackLast<'_> {
    fn give(&self, at: usize, found: Option<ListedSession>) {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            1 => *locked(&self.held) = Some((at, found)),
            _ => (self.each)(at, found),
        }
    }

    fn finish(&self) {
        let held = locked(&self.held).take();
        if let Some((at, found)) = held {
            (self.each)(at, found);
        }
    }
}

fn listed(fingerprint: FileFingerprint, row: CatalogRow, usage: SessionUsage) -> Option<ListedSession> {
    let CatalogRow { progress, head_tail_hash, .. } = row;
    let end = progress.end;
    progress.kind.into_summary().map(|summary| ListedSession { summary, fingerprint, end, head_tail_hash, usage })
}

/// Reads a file, or the part that its row does not have.
fn read_one(
    job: Job<'_>,
    scope: ReadScope,
    buffer: &mut Box<[u8]>,
    cancelled: &AtomicBool,
) -> io::Result<Option<(Option<ListedSession>, Option<Update>)>> {
    let file = open::regular(Path::new(&job.file.path), Access::Read)?;
    let seen = now();
    let fingerprint = fs::stat(&file)?.fingerprint();
    let Job { file: candidate, row, usage, .. } = job;
    let had_row = row.is_some();
    let row = row.filter(|row| match row.validity(&fingerprint) {
        CacheValidity::Valid => true,
        // A file that cannot be read here fails below.
        CacheValidity::IfSamePrefix => {
            head_tail_hash(&file, row.progress.end).is_ok_and(|head_tail_hash| head_tail_hash == row.head_tail_hash)
        }
        CacheValidity::Invalid => false,
    });
    let known = match (row, usage) {
        (Some(row), Some(usage)) => SummaryProgress { usage, ..row.progress },
        _ => {
            let usage = scope.usage.map_or_else(SessionUsage::default, SessionUsage::keeping);
            SummaryProgress { usage, ..SummaryProgress::default() }
        }
    };
    // What the complete lines say, for the catalog.
    let mut cached = None;
    let mut complete = |progress: &SummaryProgress| -> io::Result<()> {
        if scope.is_cached {
            cached = Some((progress.kind.try_clone()?, progress.usage.pack()?));
        }
        Ok(())
    };
    let read = read_on(&file, fingerprint.size, known, buffer, &[cancelled], &mut complete)?;
    let Some(SummaryProgress { kind, usage, end }) = read else { return Ok(None) };
    let head_tail_hash = head_tail_hash(&file, end)?;
    let usage = scope.usage.map_or_else(SessionUsage::default, |_| usage);
    let listed = kind.into_summary().map(|summary| ListedSession { summary, fingerprint, end, head_tail_hash, usage });
    let update = cached.map(|(kind, usage)| {
        let progress = SummaryProgress { kind, end, ..SummaryProgress::default() };
        Update {
            dir: candidate.dir.clone(),
            name: candidate.name.clone(),
            had_row,
            file: CatalogRow { row: 0, fingerprint, seen, progress, head_tail_hash },
            usage,
        }
    });
    Ok(Some((listed, update)))
}

/// The catalog's rows of the listed directories.
#[derive(Default)]
struct Rows {
    dirs: HashMap<String, HashMap<String, CatalogRow>>,
}

impl Rows {
    fn load(catalog: &Catalog, files: &[Candidate]) -> CatalogResult<Self> {
        let mut loaded = Self::default();
        for file in files {
            if !loaded.dirs.contains_key(&file.dir) {
                loaded.dirs.insert(file.dir.clone(), rows::in_dir(catalog.db(), &file.dir)?);
            }
        }
        Ok(loaded)
    }

    fn take(&mut self, file: &Candidate) -> Option<CatalogRow> {
        self.dirs.get_mut(&file.dir)?.remove(&file.name)
    }
}

/// Writes what was read, and deletes the rows that are left: their files are gone. What cannot be written is read again by the
/// next list.
fn write_rows(
    catalog: Option<Catalog>,
    location: Option<&CatalogLocation>,
    updates: &[Update],
    gone: &Rows,
) -> Option<Catalog> {
    let is_cacheable = |update: &&Update| update.file.progress.kind.summary().is_none_or(rows::is_cacheable);
    let (cached, uncached): (Vec<&Update>, Vec<&Update>) = updates.iter().partition(is_cacheable);
    let outgrown: Vec<&Update> = uncached.into_iter().filter(|update| update.had_row).collect();
    let has_gone = gone.dirs.values().any(|names| !names.is_empty());
    if cached.is_empty() && outgrown.is_empty() && !has_gone {
        return catalog.map(|catalog| tidied(catalog, gone, false));
    }
    let mut catalog = catalog.or_else(|| Catalog::create(location?))?;
    if catalog.is_read_only() {
        return Some(catalog);
    }
    let written = catalog.write(|transaction| {
        for update in &cached {
            rows::put(transaction, update)?;
        }
        for update in &outgrown {
            rows::forget(transaction, &update.dir, &update.name)?;
        }
        for (dir, names) in &gone.dirs {
            for name in names.keys() {
                rows::forget(transaction, dir, name)?;
            }
        }
        Ok(())
    });
    match written {
        Ok(()) => Some(tidied(catalog, gone, has_gone || !outgrown.is_empty())),
        Err(error) => {
            catalog.discard_if_corrupt(&error);
            None
        }
    }
}

/// Deletes the rows of directories that are gone, what is left of deleted rows in the log, and catalogs of earlier formats. What fails
/// is done by a later list.
fn tidied(mut catalog: Catalog, listed: &Rows, has_deleted: bool) -> Catalog {
    if !catalog.is_read_only() {
        catalog.remove_earlier();
        let listed = listed.dirs.keys().map(String::as_str).collect();
        let has_deleted = rows::forget_empty_dirs(&mut catalog, &listed).unwrap_or(false) || has_deleted;
        match has_deleted {
            true => drop(catalog.checkpoint()),
            false => catalog.truncate_log(),
        }
    }
    catalog
}

#[cfg(test)]
mod tests;
