//! Releases sessions that JavaScript no longer references, without waiting for finalizers.
//!
//! The engine runs finalizers when the event loop turns, so a loop that opens session after session without a turn
//! would keep all of them in memory. So each opening checks which earlier sessions were collected, and tells the engine
//! how much memory the others use, because the engine does not collect for memory that it does not know of.

use std::cell::RefCell;
use std::rc::Weak;

use napi::Result;

use crate::engine::{EnvId, JsEnv, Persistent};

/// Each opening checks one in this many registered objects, on average.
const CHECK_ONE_IN: usize = 16;

/// An object that keeps a session while JavaScript references it.
pub trait Collectable {
    /// Releases the session, because JavaScript no longer references it.
    fn release(&self, js: JsEnv<'_>) -> Result<()>;

    /// The session's memory in bytes.
    fn memory(&self) -> usize;
}

thread_local! {
    /// One thread may have several environments.
    static REGISTRIES: RefCell<Vec<(EnvId, Registry)>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
struct Registry {
    /// Each object, with a weak reference to the JavaScript value. When that value is collected, the object is
    /// released.
    holders: Vec<(Weak<dyn Collectable>, Persistent)>,
    /// How many sessions were opened since the last collection.
    opened: usize,
    /// The number of bytes that the engine was told of.
    reported: i64,
}

impl Registry {
    /// The change of the sessions' memory since the engine was last told, in bytes. Counts as reported from now on.
    fn take_unreported(&mut self) -> i64 {
        let sizes = self.holders.iter().filter_map(|(holder, _)| holder.upgrade()).map(|holder| holder.memory());
        let now = i64::try_from(sizes.sum::<usize>()).unwrap_or(i64::MAX);
        now - std::mem::replace(&mut self.reported, now)
    }
}

/// Creates the registry of an environment.
pub fn install(js: JsEnv<'_>) {
    REGISTRIES.with(|all| all.borrow_mut().push((js.id(), Registry::default())));
}

/// Drops the registry of an environment that ends.
pub fn close(env: EnvId) {
    REGISTRIES.with(|all| all.borrow_mut().retain(|(of, _)| *of != env));
}

fn with_registry<T>(js: JsEnv<'_>, work: impl FnOnce(&mut Registry) -> T) -> Option<T> {
    REGISTRIES.with(|all| all.borrow_mut().iter_mut().find(|(env, _)| *env == js.id()).map(|(_, found)| work(found)))
}

/// Registers an object, which is released when `held` is collected. From here on only JavaScript keeps `held` alive.
pub fn register(js: JsEnv<'_>, holder: Weak<dyn Collectable>, held: Persistent) -> Result<()> {
    js.weaken(&held)?;
    // Without a registry the environment is ending.
    with_registry(js, |registry| registry.holders.push((holder, held)));
    Ok(())
}

/// Releases the sessions of objects that were collected, before another session is opened. If many are registered, most
/// openings do nothing here.
pub fn collect(js: JsEnv<'_>) -> Result<()> {
    let due = with_registry(js, |registry| {
        registry.opened += 1;
        let is_due = registry.opened >= registry.holders.len() / CHECK_ONE_IN;
        is_due.then(|| {
            registry.opened = 0;
            std::mem::take(&mut registry.holders)
        })
    });
    let Some(holders) = due.flatten() else { return Ok(()) };
    // The caller's code does not run here; but a released manager registers the reader of its bodies.
    for (holder, held) in holders {
        let Some(known) = holder.upgrade() else { continue };
        if js.scoped(|js, _| js.is_gone(&held))? {
            known.release(js)?;
        } else {
            with_registry(js, |registry| registry.holders.push((holder, held)));
        }
    }
    match with_registry(js, Registry::take_unreported) {
        None | Some(0) => Ok(()),
        Some(bytes) => js.adjust_external_memory(bytes).map(drop),
    }
}
