//! What a list shows of many session files: from the catalog, or read on several threads.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::candidates::Candidate;
use crate::core::base::error::{Error, Result};
use crate::core::base::threads::on_threads;
use crate::core::catalog::connection::{discard_if_corrupt, Catalog};
use crate::core::catalog::error::CatalogResult;
use crate::core::catalog::location::Location;
use crate::core::catalog::rows::{self, CacheValidity, CatalogRow, Update};
use crate::core::io::fd_limit::is_exhausted;
use crate::core::io::file_version::{head_tail_hash, now, FileFingerprint};
use crate::core::io::open::{self, Access};
use crate::core::summary::session_summary::{read_on, ListedSession, SummaryProgress};

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file whose row in the catalog is not enough.
struct Job<'a> {
    at: usize,
    file: &'a Candidate,
    remembered: Option<CatalogRow>,
}

/// The one that a list shows first, then the large ones: a giant must not come last, alone.
fn in_reading_order(jobs: &mut [Job<'_>]) {
    jobs.sort_by_key(|job| {
        (job.at != 0, std::cmp::Reverse(job.file.fingerprint.map_or(0, |fingerprint| fingerprint.size)))
    });
}

/// Gives what a list shows of each of `files`, by its position; None for a file that is no session or cannot be read.
/// What the catalog at `location` knows is not read again, and what is read is written there before the last of all is
/// given. Stops early, without giving the rest, once `cancelled` is set. Gives the catalog, if there is one that works. An error if
/// no file descriptor is left for a file.
pub fn read_all(
    files: &[Candidate],
    location: Option<&Location>,
    cancelled: &AtomicBool,
    each: &(dyn Fn(usize, Option<ListedSession>) + Sync),
) -> Result<Option<Catalog>> {
    read_with(files, location.and_then(Catalog::open), location, cancelled, each)
}

/// As [`read_all`], with a catalog that is open.
pub fn read_with(
    files: &[Candidate],
    mut catalog: Option<Catalog>,
    location: Option<&Location>,
    cancelled: &AtomicBool,
    each: &(dyn Fn(usize, Option<ListedSession>) + Sync),
) -> Result<Option<Catalog>> {
    let mut rows = Rows::default();
    if let Some(open) = &catalog {
        if let Err(error) = rows.load(open, files) {
            if let Some(location) = location {
                discard_if_corrupt(location, &error);
            }
            (catalog, rows) = (None, Rows::default());
        }
    }
    let last = Last { left: AtomicUsize::new(files.len()), held: Mutex::new(None), each };
    let mut jobs = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let remembered = rows.take(file);
        match (&file.fingerprint, remembered) {
            (None, _) => last.give(at, None),
            (Some(fingerprint), Some(known)) if known.validity(fingerprint) == CacheValidity::Valid => {
                last.give(at, listed(*fingerprint, known))
            }
            (Some(_), remembered) => jobs.push(Job { at, file, remembered }),
        }
        if cancelled.load(Ordering::Relaxed) {
            return Ok(catalog);
        }
    }
    in_reading_order(&mut jobs);
    let updates = Mutex::new(Vec::new());
    let failed = Mutex::new(None);
    let is_over = || cancelled.load(Ordering::Relaxed) || locked(&failed).is_some();
    on_threads(jobs.len(), |buffer: &mut Box<[u8]>, job| {
        let Some(job) = jobs.get(job).filter(|_| !is_over()) else { return };
        let read = match read_one(job, buffer, cancelled) {
            // The system's limit says nothing of this file: a list without it would be wrong.
            Err(error) if is_exhausted(&error) => {
                *locked(&failed) = Some(Error::io("open", &job.file.path, error));
                return;
            }
            read => read.ok().flatten(),
        };
        if read.is_none() && cancelled.load(Ordering::Relaxed) {
            return;
        }
        let (found, update) = read.map_or((None, None), |(found, update)| (found, Some(update)));
        locked(&updates).extend(update);
        last.give(job.at, found);
    });
    let updates = updates.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Results read before a cancellation are cached as well.
    catalog = remember(catalog, location, &updates, &rows);
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        _ if cancelled.load(Ordering::Relaxed) => Ok(catalog),
        Some(error) => Err(error),
        None => {
            last.finish();
            Ok(catalog)
        }
    }
}

/// Keeps the last of all back until everything else is done.
struct Last<'a> {
    left: AtomicUsize,
    held: Mutex<Option<(usize, Option<ListedSession>)>>,
    each: &'a (dyn Fn(usize, Option<ListedSession>) + Sync),
}

impl Last<'_> {
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

fn listed(fingerprint: FileFingerprint, remembered: CatalogRow) -> Option<ListedSession> {
    let CatalogRow { progress, head_tail_hash, .. } = remembered;
    let end = progress.end;
    progress.kind.into_info().map(|info| ListedSession { summary: info, fingerprint, end, head_tail_hash })
}

/// Reads a file, or what is new of it.
fn read_one(
    job: &Job<'_>,
    buffer: &mut Box<[u8]>,
    cancelled: &AtomicBool,
) -> io::Result<Option<(Option<ListedSession>, Update)>> {
    let file = open::regular(Path::new(&job.file.path), Access::Read)?;
    let seen = now();
    let fingerprint = FileFingerprint::of(&file.metadata()?);
    let remembered = job.remembered.as_ref().filter(|remembered| match remembered.validity(&fingerprint) {
        CacheValidity::Valid | CacheValidity::RereadLastLine => true,
        // What cannot be read here cannot be read below either.
        CacheValidity::IfSamePrefix => head_tail_hash(&file, remembered.progress.end)
            .is_ok_and(|head_tail_hash| head_tail_hash == remembered.head_tail_hash),
        CacheValidity::Invalid => false,
    });
    let known = remembered.map_or_else(SummaryProgress::default, |remembered| remembered.progress.clone());
    let Some(found) = read_on(&file, fingerprint.size, known, buffer, cancelled)? else {
        return Ok(None);
    };
    let end = found.progress.end;
    let head_tail_hash = head_tail_hash(&file, end)?;
    let listed = found.info().map(|info| ListedSession { summary: info.clone(), fingerprint, end, head_tail_hash });
    let update = Update {
        dir: job.file.dir.clone(),
        name: job.file.name.clone(),
        goes_on: remembered.map(|remembered| remembered.row),
        found: job.remembered.as_ref().map(|remembered| (remembered.row, remembered.seen)),
        file: CatalogRow { row: 0, fingerprint, seen, progress: found.progress, head_tail_hash },
    };
    Ok(Some((listed, update)))
}

/// What the catalog knows of the directories that are listed.
#[derive(Default)]
struct Rows {
    dirs: HashMap<String, HashMap<String, CatalogRow>>,
}

impl Rows {
    fn load(&mut self, catalog: &Catalog, files: &[Candidate]) -> CatalogResult<()> {
        for file in files {
            if !self.dirs.contains_key(&file.dir) {
                let mut known = HashMap::new();
                rows::in_dir(catalog.db(), &file.dir, |name, row| {
                    known.insert(name, row);
                })?;
                self.dirs.insert(file.dir.clone(), known);
            }
        }
        Ok(())
    }

    fn take(&mut self, file: &Candidate) -> Option<CatalogRow> {
        self.dirs.get_mut(&file.dir)?.remove(&file.name)
    }
}

/// Writes what was read, and forgets what is left of rows: their files are gone. What cannot be written is read again by
/// the next list.
fn remember(catalog: Option<Catalog>, location: Option<&Location>, updates: &[Update], gone: &Rows) -> Option<Catalog> {
    if updates.is_empty() && gone.dirs.values().all(HashMap::is_empty) {
        return catalog;
    }
    let mut catalog = catalog.or_else(|| Catalog::make(location?))?;
    if catalog.is_read_only() {
        return Some(catalog);
    }
    let written = catalog.write(|transaction| {
        for update in updates {
            rows::put(transaction, update)?;
        }
        for (dir, names) in &gone.dirs {
            for name in names.keys() {
                rows::forget(transaction, dir, name)?;
            }
        }
        Ok(())
    });
    match written {
        Ok(()) => Some(catalog),
        Err(error) => {
            if let Some(location) = location {
                discard_if_corrupt(location, &error);
            }
            None
        }
    }
}

#[cfg(test)]
mod tests;
