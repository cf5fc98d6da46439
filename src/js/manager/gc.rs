//! Memory of sessions that nobody holds any more. The engine knows of it only what it is told, and it runs what shall
//! happen after a collection when the event loop turns: a loop that opens session after session would never get there.
//! So whoever opens one looks which of the earlier ones are held by nobody.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use napi::{sys, Result};

use super::bodies::Source;
use super::state::State;
use crate::js::engine::raw::{Js, Kept};

/// The engine is told of a change from that many bytes on.
const STEP: i64 = 256 << 10;

/// At an opening this part of what is listed is looked at, counted over many.
const SHARE: usize = 16;

thread_local! {
    /// One thread may hold several environments.
    static LISTS: RefCell<Vec<(sys::napi_env, List)>> = const { RefCell::new(Vec::new()) };
}

/// What may be held by nobody one day.
#[derive(Default)]
struct List {
    managers: Vec<Weak<RefCell<State>>>,
    /// What reads the bodies of sessions that were left, and how JavaScript holds it.
    sources: Vec<(Weak<Source>, Kept)>,
    opened: usize,
}

/// Memory that the engine was told of, until this goes.
#[derive(Default)]
pub struct Told {
    told: Option<(Js, i64)>,
}

impl Told {
    /// Says how much it is now.
    pub fn tell(&mut self, js: Js, bytes: usize) {
        let (_, before) = *self.told.get_or_insert((js, 0));
        let now = i64::try_from(bytes).unwrap_or(i64::MAX);
        if (now - before).abs() >= STEP {
            js.adjust_memory(now - before);
            self.told = Some((js, now));
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        // Sessions go in calls of the engine alone, the last ones while it ends the environment.
        if let Some((js, told)) = self.told.take().filter(|(_, told)| *told != 0) {
            js.adjust_memory(-told);
        }
    }
}

/// Begins the lists of an environment.
pub fn install(js: Js) {
    LISTS.with(|all| all.borrow_mut().push((js.raw(), List::default())));
}

/// Forgets those of one that ends. The engine frees the references itself.
pub fn close(env: sys::napi_env) {
    LISTS.with(|all| all.borrow_mut().retain(|(of, _)| *of != env));
}

fn with_list<T>(js: Js, work: impl FnOnce(&mut List) -> T) -> Option<T> {
    LISTS.with(|all| all.borrow_mut().iter_mut().find(|(env, _)| *env == js.raw()).map(|(_, list)| work(list)))
}

/// Lists a manager whose objects have their anchor.
pub fn list_manager(js: Js, state: &Rc<RefCell<State>>) {
    with_list(js, |list| list.managers.push(Rc::downgrade(state)));
}

/// Lists the source of a session that its manager left: from here on JavaScript alone holds it.
pub fn list_source(js: Js, source: &Rc<Source>, held: Kept) -> Result<()> {
    js.weaken(&held)?;
    let mut held = Some(held);
    with_list(js, |list| list.sources.extend(held.take().map(|held| (Rc::downgrade(source), held))));
    match held {
        // The environment ends.
        Some(held) => js.release(held),
        None => Ok(()),
    }
}

/// Takes the sessions of managers and sources that nobody holds, before another is opened. Now and then only where
/// there are many.
pub fn collect(js: Js) -> Result<()> {
    let due = with_list(js, |list| {
        list.opened += 1;
        let is_due = list.opened >= (list.managers.len() + list.sources.len()) / SHARE;
        is_due.then(|| {
            list.opened = 0;
            (std::mem::take(&mut list.managers), std::mem::take(&mut list.sources))
        })
    });
    let Some((managers, sources)) = due.flatten() else { return Ok(()) };
    // Nothing here runs the caller's code; but what is let go lists its source.
    let mut left = Vec::with_capacity(managers.len());
    for manager in managers {
        if js.scoped(|| is_held(js, &manager))? {
            left.push(manager);
        }
    }
    with_list(js, |list| list.managers.extend(left));
    for (source, held) in sources {
        match source.upgrade() {
            Some(source) if !js.scoped(|| js.is_gone(&held))? => {
                with_list(js, |list| list.sources.push((Rc::downgrade(&source), held)));
            }
            source => {
                source.iter().for_each(|source| source.forget());
                js.release(held)?;
            }
        }
    }
    Ok(())
}

/// Whether somebody may hold a manager; if not, it lets its session go. The rest of it waits for the engine.
fn is_held(js: Js, manager: &Weak<RefCell<State>>) -> Result<bool> {
    let Some(state) = manager.upgrade() else { return Ok(false) };
    // One that is at work is held.
    let Ok(mut state) = state.try_borrow_mut() else { return Ok(true) };
    if !state.cache.is_unheld(js)? {
        return Ok(true);
    }
    state.let_go(js)?;
    Ok(false)
}
