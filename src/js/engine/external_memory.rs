//! Memory outside of the engine's heap that its objects keep alive.
//!
//! V8 starts to mark its heap when it is told of 64 MB more than after its last collection. A job that reads all bodies of a
//! session lets go of none of them, and took an eighth longer for the marking: such memory is reported when the job ends.

use std::cell::Cell;

use napi::{sys, Env};

use super::env::JsEnv;

/// The least change, in bytes, that is reported to the engine.
const STEP: i64 = 256 << 10;
/// How much memory, in bytes, is reported before the job ends.
const MOST_DEFERRED: i64 = 128 << 20;

/// How much memory is used before what was freed of it is given back to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_STEP: usize = 32 << 20;

thread_local! {
    static CHANGES: Changes = const { Changes { deferred: Cell::new(None) } };
}

/// Changes of the amount of memory, in bytes, of which the engine of this thread is to be told.
struct Changes {
    /// What is reported when the running job ends; None if all is reported at once.
    deferred: Cell<Option<i64>>,
}

impl Changes {
    /// Takes a change in. Gives what is to be reported now.
    fn add(&self, bytes: i64) -> Option<i64> {
        let Some(deferred) = self.deferred.get() else { return Some(bytes) };
        let all = deferred + bytes;
        let is_due = all.abs() >= MOST_DEFERRED;
        self.deferred.set(Some(if is_due { 0 } else { all }));
        is_due.then_some(all)
    }
}

/// An amount of memory that the engine adds to its own until this is dropped: with more memory it collects garbage sooner.
#[derive(Default)]
pub struct ExternalMemory {
    counted: Option<(sys::napi_env, i64)>,
}

impl ExternalMemory {
    /// Sets the amount, in bytes.
    pub fn set(&mut self, js: JsEnv<'_>, bytes: usize) {
        let (_, before) = *self.counted.get_or_insert((js.raw(), 0));
        let now = i64::try_from(bytes).unwrap_or(i64::MAX);
        if (now - before).abs() >= STEP {
            adjust(js.raw(), now - before);
            self.counted = Some((js.raw(), now));
        }
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        if let Some((env, counted)) = self.counted.take().filter(|(_, counted)| *counted != 0) {
            adjust(env, -counted);
        }
    }
}

impl JsEnv<'_> {
    /// From here on changes are reported when [`report_external_memory`](Self::report_external_memory) is called, or when
    /// there are many.
    pub fn defer_external_memory(self) {
        CHANGES.with(|changes| changes.deferred.set(changes.deferred.get().or(Some(0))));
    }

    /// Reports the changes that were deferred, and from here on each at once.
    pub fn report_external_memory(self) {
        if let Some(bytes) = CHANGES.with(|changes| changes.deferred.take()) {
            adjust(self.raw(), bytes);
            trim(usize::try_from(bytes).unwrap_or_default());
        }
    }
}

/// Adds to the memory that the engine counts as its own, or takes from it. The environment is alive.
pub(super) fn count(env: sys::napi_env, bytes: i64) {
    let Some(due) = CHANGES.with(|changes| changes.add(bytes)) else { return };
    adjust(env, due);
    if due != bytes {
        trim(usize::try_from(due).unwrap_or_default());
    }
}

/// Gives freed memory back to the system when there is much: glibc keeps what other threads have allocated, and what the
/// threads that read ahead have used. Of each session of 128 MB that was read this is some 15 MB.
pub(super) fn trim(used: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static USED: AtomicUsize = AtomicUsize::new(0);
        if USED.fetch_add(used, Ordering::Relaxed) + used >= TRIM_STEP {
            USED.store(0, Ordering::Relaxed);
            // SAFETY: it may be called at any time, on any thread.
            unsafe { libc::malloc_trim(0) };
        }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = used;
}

fn adjust(env: sys::napi_env, bytes: i64) {
    // The environment is alive: what holds external memory is owned by objects of it and dropped in calls of the engine,
    // the last ones while it ends the environment.
    let _ = Env::from_raw(env).adjust_external_memory(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_reported_at_once_or_when_there_are_many() {
        let changes = Changes { deferred: Cell::new(None) };
        assert_eq!((changes.add(5), changes.add(-3)), (Some(5), Some(-3)));
        changes.deferred.set(Some(0));
        assert_eq!((changes.add(5), changes.add(-3), changes.deferred.get()), (None, None, Some(2)));
        assert_eq!((changes.add(MOST_DEFERRED - 3), changes.add(1)), (None, Some(MOST_DEFERRED)));
        assert_eq!((changes.add(-1), changes.deferred.take()), (None, Some(-1)));
        assert_eq!(changes.add(7), Some(7));
    }
}
