//! Background work on the catalog: after a list or a search has answered, its thread ingests what the catalog lacks.

use std::any::Any;
use std::collections::btree_map::{BTreeMap, Entry};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::connection::{discard_if_corrupt, Catalog, LIST_BUSY_TIMEOUT};
use super::error::{is_busy, CatalogResult};
use super::ingest::{forget_empty_dirs, ingest_session, pending};
use super::location::CatalogLocation;
use super::purge::purge;
use crate::base::error::{Error, Result};
use crate::base::threads::{locked, ThreadGuard};

/// The catalogs that a thread of this process ingests into, and whether it must start once more when it is done.
static INGESTING: Mutex<BTreeMap<PathBuf, bool>> = Mutex::new(BTreeMap::new());

/// How often background work is started again while another process keeps the catalog locked: 5 s in all.
const BUSY_TRIES: usize = 20;

/// Ingests the texts that the catalog lacks. If another thread is ingesting already, that thread does it.
pub fn ingest_pending(mut catalog: Catalog, location: &CatalogLocation, stop: &AtomicBool) {
    match locked(&INGESTING).entry(location.path.clone()) {
        Entry::Occupied(mut again) => return *again.get_mut() = true,
        Entry::Vacant(none) => drop(none.insert(false)),
    }
    let mut tries = 0..BUSY_TRIES;
    loop {
        // Another process may write for seconds. Each try is short, so that an exit need not wait long.
        let ingested = catch_unwind(AssertUnwindSafe(|| ingest_once(&mut catalog, stop)));
        // A panic has said why. Later lists must find this catalog free.
        let is_locked = ingested.unwrap_or(Ok(())).is_err_and(|error| {
            discard_if_corrupt(catalog.file(), &error);
            is_busy(&error) && tries.next().is_some()
        });
        let mut ingesting = locked(&INGESTING);
        let again = ingesting.get_mut(&location.path).is_some_and(std::mem::take);
        if stop.load(Ordering::Relaxed) || !(is_locked || again) {
            ingesting.remove(&location.path);
            break;
        }
    }
    catalog.truncate_log();
}

fn ingest_once(catalog: &mut Catalog, stop: &AtomicBool) -> CatalogResult<()> {
    catalog.set_busy_timeout(LIST_BUSY_TIMEOUT)?;
    // Deletions first. The process may end at any time; the next one continues.
    forget_empty_dirs(catalog)?;
    purge(catalog, stop)?;
    let mut buffer = Box::default();
    for session in pending(catalog.db())? {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        ingest_session(catalog, &session, &mut buffer, stop)?;
    }
    Ok(())
}

/// The error of a task that panicked, with the panic's message if it is a text.
fn panicked(what: &str, panic: &(dyn Any + Send)) -> Error {
    let literal = panic.downcast_ref::<&str>().copied();
    Error::internal(match literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)) {
        Some(message) => format!("the {what} failed: {message}"),
        None => format!("the {what} failed"),
    })
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
        let catalog = match answered.unwrap_or_else(|panic| Err(panicked(what, &*panic))) {
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
        Err(error) => Err(Error::io("thread", what, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::resume_unwind;

    #[test]
    fn an_error_of_a_panic_has_its_message() {
        let error = |panic: Box<dyn Any + Send>| {
            let panic = catch_unwind(AssertUnwindSafe(|| resume_unwind(panic))).expect_err("a panic");
            panicked("search", &*panic).to_string()
        };
        assert_eq!(error(Box::new("broken")), "The search failed: broken");
        assert_eq!(error(Box::new(String::from("row 7"))), "The search failed: row 7");
        assert_eq!(error(Box::new(7)), "The search failed");
    }
}
