//! Removes the lock files of a thread or process that ends without dropping its locks.

use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, ThreadId};

use super::held_lock::HeldLock;
use crate::base::threads::locked;

/// The locks that are held, and the threads that have them.
static TAKEN: Mutex<Taken> = Mutex::new(Vec::new());

type Taken = Vec<(ThreadId, Weak<HeldLock>)>;

/// Notes that this thread has a lock; several may share one.
pub(crate) fn remember(held: &Arc<HeldLock>) {
    let me = (thread::current().id(), Arc::downgrade(held));
    let mut taken = locked(&TAKEN);
    taken.retain(|(_, other)| other.strong_count() > 0);
    if !taken.iter().any(|(thread, other)| *thread == me.0 && other.ptr_eq(&me.1)) {
        taken.push(me);
    }
    drop(taken);
    at_exit();
}

/// The lock at `path`, if this process holds it as a shared one. This thread then holds it, too.
pub(crate) fn shared(path: &Path) -> Option<Arc<HeldLock>> {
    let held = {
        let taken = locked(&TAKEN);
        taken.iter().filter_map(|(_, held)| held.upgrade()).find(|held| held.is_shared && held.path() == path)
    };
    held.filter(|held| held.is_in_place().unwrap_or(false)).inspect(remember)
}

/// Releases every lock that only this thread has, because its environment ends.
pub fn release_all() {
    let me = thread::current().id();
    let mut taken = locked(&TAKEN);
    let (mut mine, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut *taken).into_iter().partition(|(thread, _)| *thread == me);
    mine.retain(|(_, held)| !others.iter().any(|(_, other)| other.ptr_eq(held)));
    *taken = others;
    drop(taken);
    mine.iter().filter_map(|(_, held)| held.upgrade()).for_each(|held| held.release());
}

/// Makes the end of the process release all locks: `process.exit()` does not end environments.
#[cfg(unix)]
fn at_exit() {
    static ASKED: std::sync::Once = std::sync::Once::new();
    extern "C" fn end() {
        try_release_all(&TAKEN);
    }
    // If this is refused, lock files stay until the next process finds them, as after a crash.
    ASKED.call_once(|| {
        // SAFETY: `end` does not unwind (nothing in it panics), and is there as long as the library is: its handlers run
        // when it goes, if it ever does.
        let _ = unsafe { libc::atexit(end) };
    });
}

/// Releases these locks without waiting: another thread may hold a mutex and never run again.
#[cfg(unix)]
fn try_release_all(taken: &Mutex<Taken>) {
    let taken = taken.try_lock().map(|mut taken| std::mem::take(&mut *taken)).unwrap_or_default();
    taken.iter().filter_map(|(_, held)| held.upgrade()).for_each(|held| held.try_release());
}

#[cfg(not(unix))]
fn at_exit() {}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn the_end_of_the_process_waits_for_no_thread_that_looks_at_the_locks() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("session.lock");
        let held = Arc::new(HeldLock::new(path.clone(), File::create(&path).expect("made"), false));
        let taken = Mutex::new(vec![(thread::current().id(), Arc::downgrade(&held))]);
        let looking = taken.lock().expect("free");
        try_release_all(&taken);
        assert!(path.exists());
        drop(looking);
        try_release_all(&taken);
        assert!(!path.exists());
    }
}
