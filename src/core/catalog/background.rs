//! Work on a catalog that nobody waits for: texts are taken into it after a list has given its answer.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::connection::{discard_if_corrupt, Catalog, LIST_BUSY_TIMEOUT};
use super::error::CatalogResult;
use super::ingest::{clean_dirs, lacking, settle, take, Taken};
use super::location::Location;
use super::purge::purge;

/// The catalogs that are being filled, and whether more came to do since that began.
static FILLED: LazyLock<Mutex<HashMap<PathBuf, bool>>> = LazyLock::new(Mutex::default);

fn filled() -> MutexGuard<'static, HashMap<PathBuf, bool>> {
    FILLED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the texts that a catalog lacks, in this thread. If another one is at it, that one does it all.
pub fn fill(mut catalog: Catalog, location: &Location, stop: &Arc<AtomicBool>) {
    {
        let mut filled = filled();
        if let Some(again) = filled.get_mut(&location.path) {
            *again = true;
            return;
        }
        filled.insert(location.path.clone(), false);
    }
    loop {
        if let Err(error) = fill_once(&mut catalog, stop) {
            discard_if_corrupt(location, &error);
            stop.store(true, Ordering::Relaxed);
        }
        let mut filled = filled();
        let again = filled.get_mut(&location.path).is_some_and(std::mem::take);
        if !again || stop.load(Ordering::Relaxed) {
            filled.remove(&location.path);
            drop(filled);
            return catalog.truncate_log();
        }
    }
}

fn fill_once(catalog: &mut Catalog, stop: &Arc<AtomicBool>) -> CatalogResult<()> {
    catalog.db().busy_timeout(LIST_BUSY_TIMEOUT)?;
    // First of all what must not stay. The process may end at any time; then the next one goes on with it.
    clean_dirs(catalog)?;
    settle(catalog, stop)?;
    purge(catalog, stop)?;
    let mut buffer = Box::default();
    for session in lacking(catalog.db(), None)? {
        // A file that cannot be read has no texts to take.
        if matches!(take(catalog, &session, &mut buffer, stop)?, Ok(Taken::Cancelled)) || stop.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
    Ok(())
}
