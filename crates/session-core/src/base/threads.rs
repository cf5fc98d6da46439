//! Spreads work over the processor's cores.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use super::error::Error;

/// How many threads run at once. The system is asked only once, because its answer takes longer than opening a small
/// session: it reads several files.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, |cores| cores.get()))
}

/// Locks a mutex, even if its last owner panicked.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Unwraps a mutex that is no longer needed.
pub(crate) fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the jobs `0..jobs` on several threads. Each thread keeps one state across its jobs.
pub fn on_threads<S: Default>(jobs: usize, work: impl Fn(&mut S, usize) + Sync) {
    let threads = cores().min(8);
    let next = AtomicUsize::new(0);
    let run = || {
        let mut state = S::default();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                break;
            }
            work(&mut state, job);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(jobs) {
            // If no more threads can be created, the existing threads do the work.
            let _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
}

/// Runs jobs that can fail on several threads. No job starts after an error. Returns one of the errors.
pub(crate) fn try_on_threads<S: Default, E: Send>(
    jobs: usize,
    work: impl Fn(&mut S, usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let failed = Mutex::new(None);
    on_threads(jobs, |state, job| {
        if locked(&failed).is_none() {
            if let Err(error) = work(state, job) {
                *locked(&failed) = Some(error);
            }
        }
    });
    into_inner(failed).map_or(Ok(()), Err)
}

/// The error of a task that panicked. It contains the panic's message if that is a text.
pub fn panicked(what: &str, panic: &(dyn Any + Send)) -> Error {
    let literal = panic.downcast_ref::<&str>().copied();
    Error::internal(match literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)) {
        Some(message) => format!("the {what} failed: {message}"),
        None => format!("the {what} failed"),
    })
}

#[cfg(test)]
mod tests;
