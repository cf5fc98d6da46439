//! The state of a manager: its session, and the objects of its entries. A session is replaced by another one that was
//! built before (`open.rs`), when nothing can fail any more.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use napi::Result;

use super::config::ManagerConfig;
use super::gc::{self, Collectable};
use super::identity_cache::IdentityCache;
use crate::engine::{JsEnv, JsVal, Persistent};
use pi_session_core::addon::SessionUsage;
use pi_session_core::{Persistence, RowNo, RowRemap, Session};

/// A manager's state. It is never borrowed during a call that may run the caller's code.
pub struct ManagerState {
    /// The options with which it was opened.
    pub config: Rc<ManagerConfig>,
    pub session: Session,
    pub cache: IdentityCache,
    /// Increases when the manager moves to another session, and when the rows of its session get new numbers.
    pub generation: u64,
    /// The usage of its calls, as far as it was collected.
    pub usage: Option<CollectedUsage>,
    /// The reader of this session's bodies; None until one is needed.
    pub bodies: Option<Bodies>,
    /// Whether there are listeners to appends.
    pub listens: bool,
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
                me: me.clone(),
            })
        })
    }

    /// Adjusts the cache to new or renumbered rows. Call it after every call that checks the file, even after a failed
    /// one.
    pub fn follow_remap(&mut self, js: JsEnv<'_>) -> Result<()> {
        if let Some(RowRemap { rows, old, same_header }) = self.session.take_remap() {
            self.generation += 1;
            // Entries that were created before read their bodies from the old file.
            let left = self.bodies.take().map_or(Ok(()), |bodies| bodies.leave(js, old));
            // Entries may outlive their manager, whose other objects are then gone.
            let renumbered =
                if self.cache.is_collected(js)? { None } else { Some(self.cache.renumber(js, &rows, same_header)) };
            if !matches!(renumbered, Some(Ok(()))) {
                // The cache is cleared, because its slots belong to other rows.
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
        // Entries of the old session may live long, but nothing is written to it any more.
        session.release_lock();
        self.generation += 1;
        match self.bodies.take() {
            Some(bodies) => bodies.leave(js, session),
            None => Ok(()),
        }
    }
}

impl Collectable for RefCell<ManagerState> {
    fn release(&self, js: JsEnv<'_>) -> Result<()> {
        // The rest of the state waits for the finalizer.
        self.try_borrow_mut().map_or(Ok(()), |mut state| state.release_session(js))
    }

    fn memory(&self) -> usize {
        self.try_borrow().map_or(0, |state| state.session.index().memory())
    }
}

/// The usage that was collected from a manager's session so far, for the next report.
pub struct CollectedUsage {
    pub usage: SessionUsage,
    pub generation: u64,
    /// How many rows it covers, and the id of the last one. The id is needed because rows move if others wrote before
    /// ours.
    pub rows: RowNo,
    pub last: Vec<u8>,
}

/// Finds a session as long as an entry may read its bodies.
pub struct BodyReader {
    pub(super) manager: Weak<RefCell<ManagerState>>,
    pub(super) generation: u64,
    /// The session, after its manager has released it.
    pub(super) left: RefCell<Option<Session>>,
}

impl Collectable for BodyReader {
    fn release(&self, _: JsEnv<'_>) -> Result<()> {
        self.left.take();
        Ok(())
    }

    fn memory(&self) -> usize {
        self.left.borrow().as_ref().map_or(0, |session| session.index().memory())
    }
}

/// A manager's reference to the reader of its session.
pub struct Bodies {
    reader: Rc<BodyReader>,
    /// The reader as a JavaScript value.
    external: Persistent,
}

impl Bodies {
    /// Makes the reader of a manager's session.
    pub fn of(js: JsEnv<'_>, manager: Weak<RefCell<ManagerState>>, generation: u64) -> Result<Self> {
        let reader = Rc::new(BodyReader { manager, generation, left: RefCell::default() });
        let external = js.external(reader.clone())?;
        Ok(Self { reader, external: js.keep(external)? })
    }

    /// The reader as a JavaScript value.
    pub fn external<'env>(&self, js: JsEnv<'env>) -> Result<JsVal<'env>> {
        js.kept(&self.external)
    }

    /// Passes the session to the entries that may still read their bodies from it.
    pub fn leave(self, js: JsEnv<'_>, session: Session) -> Result<()> {
        self.reader.left.replace(Some(session));
        let reader = Rc::downgrade(&self.reader);
        gc::register(js, reader, self.external)
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

/// The value with which JavaScript reads bodies of this session.
pub fn source<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
    let (me, generation) = {
        let state = state.borrow();
        if let Some(bodies) = &state.bodies {
            return bodies.external(js);
        }
        (state.me.clone(), state.generation)
    };
    let bodies = Bodies::of(js, me, generation)?;
    let external = bodies.external(js)?;
    state.borrow_mut().bodies = Some(bodies);
    Ok(external)
}
