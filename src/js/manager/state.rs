//! What a manager holds: its session and the objects made of it. Sessions are created and switched here:
//! the new session and its cache are built first, and swapped in when nothing can fail any more.

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::{Rc, Weak};

use napi::{Error, Result};

use super::bodies::{self, Bodies};
use super::collected_usage::CollectedUsage;
use super::gc::{self, Collectable};
use super::identity_cache::IdentityCache;
use super::session_dir::session_file;
use crate::js::convert::args;
use crate::js::convert::errors::thrown;
use crate::js::convert::paths::on_paths;
use crate::js::convert::text::line_of;
use crate::js::convert::time::iso;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::process;
use crate::js::factory::{self, FactoryFn};
use pi_session_core::base::error::Error as CoreError;
use pi_session_core::base::options::Durability;
use pi_session_core::base::options::{
    EntryIds, Lock, SessionFileOptions, DURABILITY_VARIABLE, LOCK_VARIABLE, STORE_VARIABLE,
};
use pi_session_core::base::paths;
use pi_session_core::base::paths::Process as _;
use pi_session_core::format::ids;
use pi_session_core::session::{OpenResult, Persistence, RowRemap, Session};
use pi_session_core::storage::file::make_dir;

/// A manager's state. It is never borrowed across a call that may run the caller's code.
pub struct ManagerState {
    pub cwd: String,
    /// As it was given, not made absolute; empty in memory.
    pub dir: String,
    pub persistence: Persistence,
    pub options: SessionFileOptions,
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

/// What a manager is opened with.
pub struct ManagerConfig {
    pub cwd: String,
    pub dir: String,
    pub persistence: Persistence,
    pub options: SessionFileOptions,
}

impl ManagerConfig {
    /// A manager of files. The directory is made if it is not there.
    pub fn on_disk(js: JsEnv<'_>, cwd: String, dir: String, options: SessionFileOptions) -> Result<Self> {
        let cwd = on_paths(js, |process| paths::resolve(&cwd, process))?;
        if !dir.is_empty() && !std::path::Path::new(&dir).exists() {
            make_dir(&dir, options.durability).map_err(|error| thrown(js, &error))?;
        }
        Ok(Self { cwd, dir, persistence: Persistence::File, options })
    }

    /// A manager that shows a file. No directory is made.
    pub fn read_only(js: JsEnv<'_>, cwd: String, dir: String, options: SessionFileOptions) -> Result<Self> {
        let cwd = on_paths(js, |process| paths::resolve(&cwd, process))?;
        Ok(Self { cwd, dir, persistence: Persistence::ReadOnly, options })
    }

    /// A manager in memory.
    pub fn in_memory(js: JsEnv<'_>, cwd: String) -> Result<Self> {
        let cwd = on_paths(js, |process| paths::resolve(&cwd, process))?;
        Ok(Self { cwd, dir: String::new(), persistence: Persistence::Memory, options: SessionFileOptions::default() })
    }

    /// The state of a manager with this session.
    pub fn with(self, (session, cache): (Session, IdentityCache)) -> Rc<RefCell<ManagerState>> {
        let ManagerConfig { cwd, dir, persistence, options } = self;
        Rc::new_cyclic(|me| {
            let (bodies, lazy, listens, me) = (None, None, false, me.clone());
            let generation = 0;
            RefCell::new(ManagerState {
                cwd,
                dir,
                persistence,
                options,
                session,
                cache,
                generation,
                bodies,
                lazy,
                usage: None,
                listens,
                me,
            })
        })
    }
}

/// How a session's file is written: from the options of a static, or else from the environment.
pub fn options(js: JsEnv<'_>, given: JsVal<'_>) -> Result<SessionFileOptions> {
    // The value, its name in errors, and whether it comes from the environment.
    let named = |key: &CStr, variable: &str| -> Result<Option<(Vec<u8>, String, bool)>> {
        let value = if js.is_nullish(given)? { js.undefined()? } else { js.get(given, key)? };
        if js.is_nullish(value)? {
            let set = on_paths(js, |process| process.env(variable))?.filter(|text| !text.is_empty());
            return Ok(set.map(|text| (text.into_bytes(), variable.to_owned(), true)));
        }
        let name = format!("options.{}", key.to_string_lossy());
        Ok(Some((args::text(js, value, &name)?, name, false)))
    };
    let fail = |error: CoreError| thrown(js, &error);
    let durability = named(c"durability", DURABILITY_VARIABLE)?;
    let lock = named(c"lock", LOCK_VARIABLE)?;
    let ids = named(c"ids", STORE_VARIABLE)?;
    Ok(SessionFileOptions {
        durability: durability
            .map_or(Ok(Durability::default()), |(name, option, _)| Durability::named(&name, &option))
            .map_err(fail)?,
        lock: match lock {
            None => Lock::default(),
            Some((name, option, false)) => Lock::named(&name, &option).map_err(fail)?,
            Some((name, option, true)) => Lock::named(&name, &option).map_err(fail)?.of_process(),
        },
        ids: match ids {
            None => EntryIds::Short,
            Some((name, option, false)) => EntryIds::named(&name, &option).map_err(fail)?,
            // A store's address.
            Some((.., true)) => EntryIds::Long,
        },
    })
}

/// Reads the file again, and replaces the manager's session by what is in it.
pub fn reopen(state: &RefCell<ManagerState>, js: JsEnv<'_>) -> Result<()> {
    let (config, file) = {
        let state = state.borrow();
        (state.config(), state.session.file().unwrap_or_default().to_owned())
    };
    swap(state, js, open_session(js, &config, file)?)
}

/// The id in the options of a new session: checked, or a new one.
pub fn session_id(js: JsEnv<'_>, options: JsVal<'_>, now: f64) -> Result<Vec<u8>> {
    let id = if js.is_nullish(options)? { js.undefined()? } else { js.get(options, c"id")? };
    if js.is_nullish(id)? {
        return Ok(ids::session_id(now).into_bytes());
    }
    let id = args::text(js, id, "options.id")?;
    ids::check_session_id(&id).map_err(|error| thrown(js, &error))?;
    Ok(id)
}

/// A new session with a new header. In memory `file` stays what it was; on disk a file is named after the
/// session unless one is given.
pub fn new_session(
    js: JsEnv<'_>,
    config: &ManagerConfig,
    file: Option<String>,
    options: JsVal<'_>,
) -> Result<(Session, IdentityCache)> {
    let now = process::now(js)?;
    let timestamp = iso(js, now)?;
    let id = session_id(js, options, now)?;
    let parent = if js.is_nullish(options)? { js.undefined()? } else { js.get(options, c"parentSession")? };
    let file = match (config.persistence, file) {
        (Persistence::File, None) => Some(session_file(&config.dir, &timestamp, &id)),
        (_, file) => file,
    };
    let mut cache = IdentityCache::new(js, 0)?;
    let header = make_header(js, &id, &timestamp, &config.cwd, parent)?;
    cache.set_header(js, header)?;
    match Session::new(id, config.persistence, file).with_options(config.options) {
        Ok(session) => Ok((session, cache)),
        Err(error) => {
            cache.release(js)?;
            Err(thrown(js, &error))
        }
    }
}

/// The object of a new header.
pub fn make_header<'env>(
    js: JsEnv<'env>,
    id: &[u8],
    timestamp: &str,
    cwd: &str,
    parent: JsVal<'env>,
) -> Result<JsVal<'env>> {
    let args = [js.string(id)?, js.string(timestamp.as_bytes())?, js.string(cwd.as_bytes())?, parent];
    factory::call(js, FactoryFn::Header, &args)
}

/// The session in the file at an absolute path: read, or new if there is no file or an empty one.
pub fn open_session(js: JsEnv<'_>, config: &ManagerConfig, file: String) -> Result<(Session, IdentityCache)> {
    let fail = |error: CoreError| thrown(js, &error);
    let none = js.undefined()?;
    gc::collect(js)?;
    match Session::open(&file, config.persistence, config.options).map_err(fail)? {
        OpenResult::Missing => new_session(js, config, Some(file), none),
        OpenResult::Empty => {
            let (mut session, cache) = new_session(js, config, Some(file.clone()), none)?;
            match write_header(js, &mut session, &cache) {
                Ok(true) => Ok((session, cache)),
                Ok(false) => {
                    // Another process has just written the session: it is not a new one.
                    drop(session);
                    cache.release(js)?;
                    open_session(js, config, file)
                }
                Err(error) => {
                    cache.release(js)?;
                    Err(error)
                }
            }
        }
        OpenResult::Session(session) => {
            let cache = IdentityCache::new(js, session.tree().len())?;
            Ok((*session, cache))
        }
    }
}

fn write_header(js: JsEnv<'_>, session: &mut Session, cache: &IdentityCache) -> Result<bool> {
    match cache.header(js)? {
        Some(header) => session.fill_empty_file(&line_of(js, header)?).map_err(|error| thrown(js, &error)),
        None => Ok(true),
    }
}

impl Collectable for RefCell<ManagerState> {
    fn is_held(&self, js: JsEnv<'_>) -> Result<bool> {
        // A manager whose call is running is still referenced.
        let Ok(mut state) = self.try_borrow_mut() else { return Ok(true) };
        if !state.cache.is_collected(js)? {
            return Ok(true);
        }
        // The rest of the state waits for the finaliser.
        state.release_session(js)?;
        Ok(false)
    }

    fn memory(&self) -> usize {
        self.try_borrow().map_or(0, |state| state.session.memory())
    }
}

impl bodies::Manager for RefCell<ManagerState> {
    fn with_session(&self, generation: u64, work: &mut dyn FnMut(&Session)) -> Option<()> {
        let state = self.borrow();
        (state.generation == generation).then(|| work(&state.session))
    }

    fn with_current_session(&self, js: JsEnv<'_>, work: &mut dyn FnMut(&Session)) -> Result<()> {
        if self.borrow().session.is_suspect() {
            let mut state = self.try_borrow_mut().map_err(|error| Error::from_reason(error.to_string()))?;
            // If that failed, the body is not found below.
            let _ = state.session.refresh_for_read();
            state.follow_remap(js)?;
        }
        work(&self.borrow().session);
        Ok(())
    }
}

impl ManagerState {
    /// Adjusts the cache to rows that came in or were renumbered: after every call that checks the file, even a failed one.
    /// Returns whether rows were renumbered.
    pub fn follow_remap(&mut self, js: JsEnv<'_>) -> Result<bool> {
        let moved = self.session.take_remap();
        let has_moved = moved.is_some();
        if let Some(RowRemap { rows, old, same_header }) = moved {
            self.generation += 1;
            // Entries that were made before read their bodies from the old file.
            let left = self.bodies.take().map_or(Ok(()), |bodies| bodies.leave(js, old));
            // Entries may outlive their manager, whose other objects are gone then.
            if self.cache.is_collected(js)? {
                self.cache.clear()
            } else {
                self.cache.renumber(js, &rows)?
            }
            if !same_header && !self.cache.is_collected(js)? {
                self.cache.forget_header(js)?;
            }
            left?;
        }
        self.cache.grow(self.session.tree().len());
        Ok(has_moved)
    }

    /// What this manager was opened with.
    pub fn config(&self) -> ManagerConfig {
        ManagerConfig {
            cwd: self.cwd.clone(),
            dir: self.dir.clone(),
            persistence: self.persistence,
            options: self.options,
        }
    }

    /// Releases everything. Entries that may still read their bodies keep the session.
    pub fn leave(mut self, js: JsEnv<'_>) -> Result<()> {
        let left = self.release_session(js);
        self.cache.release(js)?;
        left
    }

    /// Releases the session of a manager that was collected.
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

/// Replaces a manager's session.
pub fn swap(
    state: &RefCell<ManagerState>,
    js: JsEnv<'_>,
    (session, mut cache): (Session, IdentityCache),
) -> Result<()> {
    if let Some(anchor) = state.borrow().cache.anchor(js)? {
        cache.hold_by(js, anchor)?;
    }
    let (left, cache) = {
        let mut state = state.borrow_mut();
        let cache = std::mem::replace(&mut state.cache, cache);
        let left = state.replace(js, session);
        (left, cache)
    };
    cache.release(js)?;
    left
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
