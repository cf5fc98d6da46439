//! Work on a catalog that nobody waits for: texts are taken into it after a list has given its answer.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::ingest::{clean_dirs, lacking, settle, take, Taken};
use super::purge::purge;
use super::{discard_if_broken, Catalog, Location, Outcome, LIST_BUSY_TIMEOUT};

/// Every thread that works for lists and searches, so that the library is not taken away under one.
static THREADS: Threads = Threads { running: Mutex::new(None), ended: Condvar::new() };

struct Threads {
    running: Mutex<Option<Running>>,
    ended: Condvar,
}

#[derive(Default)]
struct Running {
    /// What tells each thread to stop.
    flags: Vec<Arc<AtomicBool>>,
    /// The catalogs that are being filled, and whether there is more to do since it was begun.
    filled: HashMap<PathBuf, bool>,
}

impl Threads {
    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Says that the current thread works, as long as it is kept.
pub struct Working(Arc<AtomicBool>);

impl Working {
    /// `stop` is set when the thread must come to its end.
    pub fn new(stop: Arc<AtomicBool>) -> Self {
        THREADS.lock().get_or_insert_default().flags.push(stop.clone());
        Self(stop)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(running) = THREADS.lock().as_mut() {
            let at = running.flags.iter().position(|flag| Arc::ptr_eq(flag, &self.0));
            at.map(|at| running.flags.swap_remove(at));
        }
        THREADS.ended.notify_all();
    }
}

/// Stops every thread and waits until it has stopped.
pub fn stop_all() {
    let mut running = THREADS.lock();
    while let Some(flags) = running.as_ref().map(|running| &running.flags).filter(|flags| !flags.is_empty()) {
        flags.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
        running = THREADS.ended.wait(running).unwrap_or_else(|poisoned| poisoned.into_inner());
    }
}

/// Takes the texts that a catalog lacks, in this thread. If another one is at it, that one does it all.
pub fn fill(mut catalog: Catalog, location: &Location, stop: &Arc<AtomicBool>) {
    {
        let mut running = THREADS.lock();
        let filled = &mut running.get_or_insert_default().filled;
        if let Some(again) = filled.get_mut(&location.path) {
            *again = true;
            return;
        }
        filled.insert(location.path.clone(), false);
    }
    loop {
        if let Err(error) = fill_once(&mut catalog, stop) {
            discard_if_broken(location, &error);
            stop.store(true, Ordering::Relaxed);
        }
        let mut running = THREADS.lock();
        let filled = &mut running.get_or_insert_default().filled;
        let again = filled.get_mut(&location.path).is_some_and(std::mem::take);
        if !again || stop.load(Ordering::Relaxed) {
            filled.remove(&location.path);
            drop(running);
            return catalog.truncate_log();
        }
    }
}

fn fill_once(catalog: &mut Catalog, stop: &Arc<AtomicBool>) -> Outcome<()> {
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
