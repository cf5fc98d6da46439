//! What a manager holds: its session and the objects made of it. A session is replaced by another one that was built before
//! (`open.rs`), when nothing can fail any more.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use napi::Result;

use super::bodies::Bodies;
use super::gc::Collectable;
use super::identity_cache::IdentityCache;
use super::open::ManagerConfig;
use super::usage::CollectedUsage;
use crate::engine::{JsEnv, JsVal};
use pi_session_core::session::{Persistence, RowRemap, Session};

/// A manager's state. It is never borrowed across a call that may run the caller's code.
pub struct ManagerState {
    /// What it was opened with.
    pub config: Rc<ManagerConfig>,
    pub session: Session,
    pub cache: IdentityCache,
    /// Raised when the manager goes to another session, and when the rows of its session are numbered anew.
    pub generation: u64,
    /// What its calls used, as far as it was asked for.
    pub usage: Option<CollectedUsage>,
    /// The reader of this session's bodies; None until one is needed.
    pub bodies: Option<Bodies>,
    /// Whether somebody listens to appends.
    pub listens: bool,
    /// Whether bodies are read on first access; None until it matters.
    pub lazy: Option<bool>,
    me: Weak<RefCell<ManagerState>>,
}

impl ManagerState {
    /// The state of a manager with this session.
    pub fn new(config: ManagerConfig, (session, cache): (Session, IdentityCache)) -> Rc<RefCell<Self>> {
        Rc::new_cyclic(|me| {
            RefCell::new(Self {
                config: Rc::new(config),
                session,
                cache,
                generation: 0,
                usage: None,
                bodies: None,
                listens: false,
                lazy: None,
                me: me.clone(),
            })
        })
    }

    /// Adjusts the cache to rows that came in or were renumbered: after every call that checks the file, even a failed one.
    pub fn follow_remap(&mut self, js: JsEnv<'_>) -> Result<()> {
        if let Some(RowRemap { rows, old, same_header }) = self.session.take_remap() {
            self.generation += 1;
            // Entries that were made before read their bodies from the old file.
            let left = self.bodies.take().map_or(Ok(()), |bodies| bodies.leave(js, old));
            // Entries may outlive their manager, whose other objects are gone then.
            let renumbered =
                if self.cache.is_collected(js)? { None } else { Some(self.cache.renumber(js, &rows, same_header)) };
            if !matches!(renumbered, Some(Ok(()))) {
                // What is kept is of other rows.
                self.cache.clear();
            }
            self.cache.grow(js, self.session.tree().len())?;
            renumbered.unwrap_or(Ok(())).and(left)?;
        }
        self.cache.grow(js, self.session.tree().len())
    }

    /// Releases the session of a manager that was collected. Entries that may still read their bodies keep it.
    pub fn release_session(&mut self, js: JsEnv<'_>) -> Result<()> {
        self.cache.clear();
        self.replace(js, Session::new(Vec::new(), Persistence::Memory, None))
    }

    /// Replaces the session. Entries that may still read their bodies keep the old one.
    fn replace(&mut self, js: JsEnv<'_>, session: Session) -> Result<()> {
        let mut session = std::mem::replace(&mut self.session, session);
        // Its entries may live long, and nothing is written to it any more.
        session.release_lock();
        self.generation += 1;
        self.lazy = None;
        match self.bodies.take() {
            Some(bodies) => bodies.leave(js, session),
            None => Ok(()),
        }
    }
}

impl Collectable for RefCell<ManagerState> {
    fn release(&self, js: JsEnv<'_>) -> Result<()> {
        // The rest of the state waits for the finaliser.
        self.try_borrow_mut().map_or(Ok(()), |mut state| state.release_session(js))
    }

    fn memory(&self) -> usize {
        self.try_borrow().map_or(0, |state| state.session.index().memory())
    }
}

/// Replaces a manager's session.
pub fn swap(
    state: &RefCell<ManagerState>,
    js: JsEnv<'_>,
    (session, mut cache): (Session, IdentityCache),
) -> Result<()> {
    if let Some(anchor) = state.borrow().cache.anchor(js)? {
        cache.hold_by(js, anchor)?;
    }
    let mut state = state.borrow_mut();
    state.cache = cache;
    state.replace(js, session)
}

/// What JavaScript reads bodies of this session from; None if laziness is turned off.
pub fn source<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<Option<JsVal<'env>>> {
    let (lazy, me, generation) = {
        let state = state.borrow();
        if let Some(bodies) = &state.bodies {
            return bodies.external(js).map(Some);
        }
        (state.lazy, state.me.clone(), state.generation)
    };
    if lazy == Some(false) {
        return Ok(None);
    }
    let bodies = Bodies::of(js, me, generation)?;
    let external = bodies.as_ref().map(|bodies| bodies.external(js)).transpose()?;
    let mut state = state.borrow_mut();
    state.lazy = Some(bodies.is_some());
    state.bodies = bodies;
    Ok(external)
}
