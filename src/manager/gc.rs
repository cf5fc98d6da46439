//! Releases sessions that JavaScript no longer references, without waiting for finalisers.
//!
//! The engine runs finalisers when the event loop turns, so a loop that opens session after session without a turn
//! would keep all of them in memory. So every opening checks which of the earlier ones were collected, and tells the engine
//! how much memory the others take: it would not collect for what it does not know of.

use std::cell::RefCell;
use std::rc::Weak;

use napi::Result;

use crate::engine::{EnvId, JsEnv, Persistent};

/// Each opening checks one in this many registered objects, on average.
const CHECK_ONE_IN: usize = 16;

/// What holds a session that JavaScript references.
pub trait Collectable {
    /// Releases the session: JavaScript no longer references it.
    fn release(&self, js: JsEnv<'_>) -> Result<()>;

    /// How many bytes of memory the session takes.
    fn memory(&self) -> usize;
}

thread_local! {
    /// One thread may hold several environments.
    static REGISTRIES: RefCell<Vec<(EnvId, Registry)>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
struct Registry {
    /// Each with a weak reference to the JavaScript value whose end is its own.
    holders: Vec<(Weak<dyn Collectable>, Persistent)>,
    /// How many sessions were opened since the last collection.
    opened: usize,
    /// How many bytes the engine was told that sessions take.
    reported: i64,
}

impl Registry {
    /// How many bytes more the sessions take than the engine was told. It is told of them next.
    fn take_unreported(&mut self) -> i64 {
        let sizes = self.holders.iter().filter_map(|(holder, _)| holder.upgrade()).map(|holder| holder.memory());
        let now = i64::try_from(sizes.sum::<usize>()).unwrap_or(i64::MAX);
        now - std::mem::replace(&mut self.reported, now)
    }
}

/// Begins the registry of an environment.
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

/// Registers a holder, which is released once `held` is collected. From here on only JavaScript holds that.
pub fn register(js: JsEnv<'_>, holder: Weak<dyn Collectable>, held: Persistent) -> Result<()> {
    js.weaken(&held)?;
    // Without a registry the environment is ending.
    with_registry(js, |registry| registry.holders.push((holder, held)));
    Ok(())
}

/// Releases the sessions of holders that were collected, before another session is opened. If many are registered, most
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
    // Nothing here runs the caller's code; but a manager that is released registers the reader of its bodies.
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
