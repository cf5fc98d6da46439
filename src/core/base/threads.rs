//! Threads: work that is spread over the processor's cores, and background threads that can be stopped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// How many threads run at once. The system is asked once: it reads several files for the answer, which takes longer than
/// opening a small session.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, |cores| cores.get()))
}

/// Locks a mutex, even one whose holder panicked.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a mutex that is not needed any more.
pub fn into_inner<T>(mutex: Mutex<T>) -> T {
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
            // If no more threads can be created, the existing ones do the work.
            let _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
}

/// The same for jobs that can fail: after an error no more jobs begin. Returns one of the errors.
pub fn try_on_threads<S: Default, E: Send>(
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

/// The stop flags of the threads that work in the background.
static BACKGROUND: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());
static ENDED: Condvar = Condvar::new();

/// Registers the current thread with [`stop_all`] until it is dropped.
pub struct ThreadGuard(Arc<AtomicBool>);

impl ThreadGuard {
    /// `stop` is set when the thread must end.
    pub fn new(stop: Arc<AtomicBool>) -> Self {
        locked(&BACKGROUND).push(stop.clone());
        Self(stop)
    }
}

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        let mut flags = locked(&BACKGROUND);
        let at = flags.iter().position(|flag| Arc::ptr_eq(flag, &self.0));
        at.map(|at| flags.swap_remove(at));
        ENDED.notify_all();
    }
}

/// Tells every registered thread to stop and waits until all have ended. The library may be unloaded after that.
pub fn stop_all() {
    let mut flags = locked(&BACKGROUND);
    while !flags.is_empty() {
        flags.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
        flags = ENDED.wait(flags).unwrap_or_else(PoisonError::into_inner);
    }
}
