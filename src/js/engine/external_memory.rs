//! Memory outside of the engine's heap that its objects keep alive.
//!
//! V8 starts to mark its heap when it is told of 64 MB more than after its last collection. A job that reads all bodies of a
//! session lets go of none of them, and took an eighth longer for the marking: such memory is reported when the job ends.

use std::cell::Cell;

use napi::{sys, Env};

use super::env::JsEnv;
use pi_session_core::base::shared_units::{Memory, MemoryCounter};

/// The least change, in bytes, that is reported to the engine.
const STEP: i64 = 256 << 10;
/// How much memory, in bytes, is reported before the job ends.
const MOST_DEFERRED: i64 = 128 << 20;

/// How much memory is used before what was freed of it is given back to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_STEP: usize = 32 << 20;

thread_local! {
    static STRINGS: Strings = Strings::default();
}

/// The memory of strings of which the engine of this thread is to be told.
#[derive(Default)]
struct Strings {
    /// What the engine was not told yet.
    unreported: MemoryCounter,
    /// Whether a job runs at whose end the engine is told.
    is_deferred: Cell<bool>,
}

impl Strings {
    /// Gives the bytes of which the engine is to be told now.
    fn take_due(&self) -> Option<i64> {
        let bytes = self.unreported.bytes();
        let is_due = bytes != 0 && (!self.is_deferred.get() || bytes.abs() >= MOST_DEFERRED);
        is_due.then(|| self.unreported.take())
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
            // What other threads have freed of its texts.
            let _ = STRINGS.try_with(|strings| report(env, strings, false));
        }
    }
}

impl JsEnv<'_> {
    /// From here on the memory of strings is reported when
    /// [`report_external_memory`](Self::report_external_memory) is called, or when there is much.
    pub fn defer_external_memory(self) {
        STRINGS.with(|strings| strings.is_deferred.set(true));
    }

    /// Reports what was deferred, and from here on each string at once.
    pub fn report_external_memory(self) {
        STRINGS.with(|strings| {
            strings.is_deferred.set(false);
            report(self.raw(), strings, true);
        });
    }
}

/// Counts the memory of a string as the engine's own until it is freed.
pub(super) fn count<T>(env: sys::napi_env, memory: &Memory<T>) {
    STRINGS.with(|strings| {
        memory.count_in(&strings.unreported);
        report(env, strings, strings.is_deferred.get());
    });
}

/// Reports that memory was freed, if it was counted on this thread. On another one the environment must not be used: its own
/// thread reports it with the next string, or when a manager is collected.
pub(super) fn report_here(env: sys::napi_env, counter: &MemoryCounter) {
    let _ = STRINGS.try_with(|strings| {
        if counter.is(&strings.unreported) {
            report(env, strings, false);
        }
    });
}

/// Tells the engine what is due. `is_read_ahead`: threads that read ahead may have left memory that is free.
fn report(env: sys::napi_env, strings: &Strings, is_read_ahead: bool) {
    let Some(bytes) = strings.take_due() else { return };
    adjust(env, bytes);
    if is_read_ahead {
        trim(usize::try_from(bytes).unwrap_or_default());
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
