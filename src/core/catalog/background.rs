//! Background work on the catalog: after a list or a search has answered, its thread ingests what the catalog lacks.

use std::collections::HashMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::connection::{discard_if_corrupt, Catalog, LIST_BUSY_TIMEOUT};
use super::error::{is_busy, CatalogResult};
use super::ingest::{forget_empty_dirs, ingest_session, pending, revalidate_pending, IngestOutcome};
use super::location::CatalogLocation;
use super::purge::purge;
use crate::core::base::error::{Error, Result};
use crate::core::base::threads::ThreadGuard;

/// The catalogs that a thread of this process ingests into, and whether it must start once more when it is done.
static INGESTING: LazyLock<Mutex<HashMap<PathBuf, bool>>> = LazyLock::new(Mutex::default);

fn ingesting() -> MutexGuard<'static, HashMap<PathBuf, bool>> {
    INGESTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often background work is started again while another process keeps the catalog locked: 5 s in all.
const BUSY_TRIES: usize = 20;

/// Removes a catalog from those that are ingested into, even if the thread panics.
struct Unregister<'a>(&'a CatalogLocation);

impl Drop for Unregister<'_> {
    fn drop(&mut self) {
        ingesting().remove(&self.0.path);
    }
}

/// Ingests the texts that the catalog lacks. If another thread is ingesting already, that thread does it.
pub fn ingest_pending(mut catalog: Catalog, location: &CatalogLocation, stop: &Arc<AtomicBool>) {
    {
        let mut ingesting = ingesting();
        if let Some(again) = ingesting.get_mut(&location.path) {
            *again = true;
            return;
        }
        ingesting.insert(location.path.clone(), false);
    }
    let unregister = Unregister(location);
    let mut busy = 0;
    loop {
        if let Err(error) = ingest_once(&mut catalog, stop) {
            // Another process writes, which may take seconds. Each try waits in short steps, so that an exit need not wait.
            busy += 1;
            if is_busy(&error) && busy < BUSY_TRIES && !stop.load(Ordering::Relaxed) {
                continue;
            }
            discard_if_corrupt(catalog.file(), &error);
            stop.store(true, Ordering::Relaxed);
        }
        let mut ingesting = ingesting();
        let again = ingesting.get_mut(&location.path).is_some_and(std::mem::take);
        if !again || stop.load(Ordering::Relaxed) {
            ingesting.remove(&location.path);
            drop(ingesting);
            // It was unregistered in one step with the check that there is no more to do.
            std::mem::forget(unregister);
            return catalog.truncate_log();
        }
    }
}

fn ingest_once(catalog: &mut Catalog, stop: &Arc<AtomicBool>) -> CatalogResult<()> {
    catalog.wait_for_locks(LIST_BUSY_TIMEOUT, stop)?;
    // Deletions first. The process may end at any time; the next one continues.
    forget_empty_dirs(catalog)?;
    revalidate_pending(catalog, stop)?;
    purge(catalog, stop)?;
    let mut buffer = Box::default();
    for session in pending(catalog.db(), None)? {
        // A file that cannot be read has no texts.
        if matches!(ingest_session(catalog, &session, &mut buffer, stop)?, Ok(IngestOutcome::Cancelled))
            || stop.load(Ordering::Relaxed)
        {
            return Ok(());
        }
    }
    Ok(())
}

/// Runs `answer` on a new thread, which then ingests what the catalog lacks. `sender` is dropped in between, so that it does
/// not keep the process alive. Errors and panics of `answer` go to `failed`.
pub fn spawn<S: Send + 'static>(
    what: &'static str,
    cancelled: Arc<AtomicBool>,
    location: Option<CatalogLocation>,
    sender: S,
    answer: impl FnOnce(&S) -> Result<Option<Catalog>> + Send + 'static,
    failed: impl FnOnce(&S, Error) + Send + 'static,
) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    // Registered before it runs: the library must not be unloaded under it.
    let guards = (ThreadGuard::new(cancelled), ThreadGuard::new(stop.clone()));
    let run = move || {
        let _guards = guards;
        let answered = catch_unwind(AssertUnwindSafe(|| answer(&sender)));
        let catalog = match answered.unwrap_or_else(|_| Err(Error::failed(format!("The {what} failed")))) {
            Ok(catalog) => catalog,
            Err(error) => {
                failed(&sender, error);
                None
            }
        };
        drop(sender);
        if let (Some(catalog), Some(location)) = (catalog.filter(|catalog| !catalog.is_read_only()), location) {
            ingest_pending(catalog, &location, &stop);
        }
    };
    match thread::Builder::new().name(format!("pi-session-{what}")).spawn(run) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::failed(format!("The {what} could not be started: {error}"))),
    }
}
