//! Releases sessions that JavaScript no longer references, without waiting for finalisers.
//!
//! The engine runs finalisers when the event loop turns, so a loop that opens session after session without a turn
//! would keep all of them in memory. So every opening checks which of the earlier ones were collected, and tells the engine
//! how much memory the others take: it would not collect for what it does not know of.

use std::cell::RefCell;
use std::rc::Weak;

use napi::Result;

use super::bodies::BodyReader;
use super::state::ManagerState;
use crate::js::engine::{EnvId, JsEnv, Persistent};

/// Each opening checks one in this many registered objects, on average.
const CHECK_ONE_IN: usize = 16;

thread_local! {
    /// One thread may hold several environments.
    static REGISTRIES: RefCell<Vec<(EnvId, Registry)>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default)]
struct Registry {
    managers: Vec<Weak<RefCell<ManagerState>>>,
    /// Each with the weak reference to its JavaScript value.
    readers: Vec<(Weak<BodyReader>, Persistent)>,
    /// How many sessions were opened since the last collection.
    opened: usize,
    /// How many bytes the engine was told that sessions take.
    reported: i64,
}

impl Registry {
    /// How many bytes more the sessions take than the engine was told. It is told of them next.
    fn take_unreported(&mut self) -> i64 {
        let of_managers = self.managers.iter().filter_map(Weak::upgrade).map(|manager| memory(&manager));
        let of_readers = self.readers.iter().filter_map(|(reader, _)| reader.upgrade()).map(|reader| reader.memory());
        let now = i64::try_from(of_managers.chain(of_readers).sum::<usize>()).unwrap_or(i64::MAX);
        now - std::mem::replace(&mut self.reported, now)
    }
}

/// Begins the registry of an environment.
pub fn install(js: JsEnv<'_>) {
    REGISTRIES.with(|all| all.borrow_mut().push((js.id(), Registry::default())));
}

/// Drops the registry of an environment that ends. The engine frees the references itself.
pub fn close(env: EnvId) {
    REGISTRIES.with(|all| all.borrow_mut().retain(|(of, _)| *of != env));
}

fn with_registry<T>(js: JsEnv<'_>, work: impl FnOnce(&mut Registry) -> T) -> Option<T> {
    REGISTRIES.with(|all| all.borrow_mut().iter_mut().find(|(env, _)| *env == js.id()).map(|(_, found)| work(found)))
}

/// Registers a manager whose objects have their anchor.
pub fn register_manager(js: JsEnv<'_>, manager: Weak<RefCell<ManagerState>>) {
    with_registry(js, |registry| registry.managers.push(manager));
}

/// Registers the reader of a session that its manager left. From here on only JavaScript holds it.
pub fn register_reader(js: JsEnv<'_>, reader: Weak<BodyReader>, held: Persistent) -> Result<()> {
    js.weaken(&held)?;
    let mut held = Some(held);
    with_registry(js, |registry| registry.readers.extend(held.take().map(|held| (reader, held))));
    match held {
        // The environment is ending.
        Some(held) => js.release(held),
        None => Ok(()),
    }
}

/// Releases the sessions of managers and readers that were collected, before another session is opened. If many are
/// registered, most openings do nothing here.
pub fn collect(js: JsEnv<'_>) -> Result<()> {
    let due = with_registry(js, |registry| {
        registry.opened += 1;
        let is_due = registry.opened >= (registry.managers.len() + registry.readers.len()) / CHECK_ONE_IN;
        is_due.then(|| {
            registry.opened = 0;
            (std::mem::take(&mut registry.managers), std::mem::take(&mut registry.readers))
        })
    });
    let Some((managers, readers)) = due.flatten() else { return Ok(()) };
    // Nothing here runs the caller's code; but a manager that is released registers its reader.
    let mut left = Vec::with_capacity(managers.len());
    for manager in managers {
        let is_held = |js: JsEnv| manager.upgrade().map_or(Ok(false), |manager| is_held(&manager, js));
        if js.scoped(|js, _| is_held(js))? {
            left.push(manager);
        }
    }
    with_registry(js, |registry| registry.managers.extend(left));
    for (reader, held) in readers {
        if reader.strong_count() > 0 && !js.scoped(|js, _| js.is_gone(&held))? {
            with_registry(js, |registry| registry.readers.push((reader, held)));
            continue;
        }
        if let Some(reader) = reader.upgrade() {
            reader.release();
        }
        js.release(held)?;
    }
    match with_registry(js, Registry::take_unreported) {
        None | Some(0) => Ok(()),
        Some(bytes) => js.adjust_external_memory(bytes).map(drop),
    }
}

/// Whether JavaScript may still reference a manager. If not, its session is released.
fn is_held(manager: &RefCell<ManagerState>, js: JsEnv<'_>) -> Result<bool> {
    // A manager whose call is running is still referenced.
    let Ok(mut state) = manager.try_borrow_mut() else { return Ok(true) };
    if !state.cache.is_collected(js)? {
        return Ok(true);
    }
    // The rest of the state waits for the finaliser.
    state.release_session(js)?;
    Ok(false)
}

/// How many bytes of memory a manager's session takes.
fn memory(manager: &RefCell<ManagerState>) -> usize {
    manager.try_borrow().map_or(0, |state| state.session.index().memory())
}
