//! The class `SessionManager`: the methods of its instances, except appends ([`super::appends`]). Its statics are in
//! [`super::statics`].

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use napi::bindgen_prelude::*;
use napi_derive::napi;

use crate::convert::args::{self, Options};
use crate::convert::errors::{thrown, wrong_argument, OrThrow};
use crate::convert::paths::resolved;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use crate::manager::append::{append, PendingEntry};
use crate::manager::branching::branched_session;
use crate::manager::file_check::reading;
use crate::manager::outline::outline;
use crate::manager::state::{self, ManagerState};
use crate::manager::usage::usage;
use crate::manager::{gc, materialize, open, reads};
use pi_session_core::addon::NewHead;
use pi_session_core::{EntryKind, Error as CoreError, ParentChoice, RowNo};

#[napi(custom_finalize)]
pub struct SessionManager {
    pub(crate) state: Rc<RefCell<ManagerState>>,
}

impl ObjectFinalize for SessionManager {
    fn finalize(self, env: Env) -> Result<()> {
        // Nothing else owns the state: readers of bodies only refer to it weakly.
        match Rc::try_unwrap(self.state) {
            Ok(state) => state.into_inner().release_session(JsEnv::new(&env)),
            Err(_) => Ok(()),
        }
    }
}

impl SessionManager {
    /// The manager as a JavaScript object. From here on that object owns the entries' objects.
    pub(crate) fn into_object(self, env: &Env) -> Result<JsVal<'_>> {
        let js = JsEnv::new(env);
        let instance = self.into_instance(env)?;
        let value = JsVal::of(&instance);
        let anchor = factory::call(js, FactoryFn::Anchor, &[value])?;
        instance.state.borrow_mut().cache.hold_by(js, anchor)?;
        let manager: Weak<RefCell<ManagerState>> = Rc::downgrade(&instance.state);
        gc::register(js, manager, js.keep(anchor)?)?;
        Ok(value)
    }

    /// Reads. If a line is not at its position, reads the present content of the file and then reads again.
    pub(crate) fn read<'env>(
        &self,
        env: &'env Env,
        read: impl Fn(&RefCell<ManagerState>, JsEnv<'env>) -> Result<JsVal<'env>>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        reading(&self.state, js, || read(&self.state, js))
    }

    /// Appends an entry. Returns its id.
    pub(crate) fn append_for_id<'env>(&self, env: &'env Env, new: PendingEntry<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        append(&self.state, js, new, |row| js.string(self.state.borrow().session.tree().id_of(row)))
    }

    /// Sets the leaf. Fails if the session was opened read-only.
    fn set_leaf(&self, js: JsEnv<'_>, leaf: Option<RowNo>) -> Result<()> {
        self.state.borrow_mut().session.set_leaf(leaf).or_throw(js)
    }

    /// Fails if the session was opened read-only.
    pub(crate) fn check_writable(&self, js: JsEnv<'_>) -> Result<()> {
        self.state.borrow().session.check_writable().or_throw(js)
    }

    /// The row of an id argument. Fails with pi's error if no entry has the id.
    pub(crate) fn known(&self, js: JsEnv<'_>, id: JsVal<'_>) -> Result<RowNo> {
        match reads::row_of(&self.state, js, id)? {
            Some(row) => Ok(row),
            None => Err(thrown(js, &CoreError::entry_not_found(args::template_text(js, id)?))),
        }
    }
}

#[napi]
impl SessionManager {
    // Its declaration is at `getSessionId`: private, so that TypeScript does not offer it.
    #[napi(constructor, skip_typescript)]
    pub fn refuse(env: &Env) -> Result<Self> {
        let text = "SessionManager has no public constructor. Call SessionManager.create, open, continueRecent, inMemory or forkFrom";
        Err(wrong_argument(JsEnv::new(env), text))
    }

    #[napi(catch_unwind)]
    pub fn set_session_file(&self, env: &Env, session_file: JsVal<'_>) -> Result<()> {
        let js = JsEnv::new(env);
        self.check_writable(js)?;
        let file = resolved(js, session_file, "sessionFile")?;
        let config = {
            let mut state = self.state.borrow_mut();
            // A lock on the same file passes to the new session. If that fails, the next append takes the lock again.
            if state.session.file() == Some(&file) {
                state.session.release_lock();
            }
            state.config.clone()
        };
        let opened = open::open_session(js, &config, file)?;
        state::swap(&self.state, js, opened)
    }

    #[napi(catch_unwind)]
    pub fn new_session<'env>(&self, env: &'env Env, options: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        self.check_writable(js)?;
        let (config, file) = {
            let state = self.state.borrow();
            let file = state.session.file().filter(|_| !state.session.is_persisted());
            (state.config.clone(), file.map(str::to_owned))
        };
        let opened = open::new_session(js, &config, file, &Options::any(js, options)?)?;
        state::swap(&self.state, js, opened)?;
        reads::session_file(&self.state, js)
    }

    #[napi(catch_unwind)]
    pub fn get_leaf_id<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let state = self.state.borrow();
        let tree = state.session.tree();
        tree.leaf().map_or_else(|| js.null(), |leaf| js.string(tree.id_of(leaf)))
    }

    #[napi(catch_unwind)]
    pub fn get_leaf_entry<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::entry_or_undefined(state, js, reads::leaf(state)))
    }

    #[napi(catch_unwind)]
    pub fn get_entry<'env>(&self, env: &'env Env, id: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::entry_or_undefined(state, js, reads::row_of(state, js, id)?))
    }

    #[napi(catch_unwind)]
    pub fn get_children<'env>(&self, env: &'env Env, parent_id: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::children(state, js, parent_id))
    }

    #[napi(catch_unwind)]
    pub fn get_label<'env>(&self, env: &'env Env, id: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::label(state, js, id))
    }

    #[napi(catch_unwind)]
    pub fn get_branch<'env>(&self, env: &'env Env, from_id: JsVal<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        // As in pi, any other second argument is ignored, because `ids.map(manager.getBranch, manager)` passes a
        // number.
        let limit = if js.is_object(options)? {
            Options::of(js, options, "getBranch", &[c"limit"])?.whole_number(c"limit")?
        } else {
            None
        };
        self.read(env, |state, js| reads::branch(state, js, from_id, limit))
    }

    #[napi(catch_unwind)]
    pub fn on_append<'env>(&self, env: &'env Env, listener: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        args::function(js, listener, "listener")?;
        let anchor = self.state.borrow().cache.anchor(js)?;
        let anchor = anchor.ok_or_else(|| Error::from_reason("The manager is not complete"))?;
        let end = factory::call(js, FactoryFn::Subscribe, &[anchor, listener])?;
        self.state.borrow_mut().listens = true;
        Ok(end)
    }

    #[napi(catch_unwind)]
    pub fn get_path<'env>(&self, env: &'env Env, from_id: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::branch(state, js, from_id, None))
    }

    #[napi(catch_unwind)]
    pub fn build_context_entries<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, reads::context_entries)
    }

    #[napi(catch_unwind)]
    pub fn build_session_projection<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::context(state, js, FactoryFn::Project, FactoryFn::WithSettings))
    }

    #[napi(catch_unwind)]
    pub fn build_session_context<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::context(state, js, FactoryFn::Context, FactoryFn::JustMessages))
    }

    #[napi(catch_unwind)]
    pub fn get_header<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, materialize::header)
    }

    #[napi(catch_unwind)]
    pub fn get_entry_count(&self) -> u32 {
        self.state.borrow().session.tree().distinct_ids() as u32
    }

    #[napi(catch_unwind)]
    pub fn get_usage<'env>(&self, env: &'env Env, options: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| usage(state, js, options))
    }

    #[napi(catch_unwind)]
    pub fn get_entries<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, reads::all)
    }

    #[napi(catch_unwind)]
    pub fn get_tree<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, reads::tree)
    }

    #[napi(catch_unwind)]
    pub fn get_outline<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, outline)
    }

    #[napi(catch_unwind)]
    pub fn branch(&self, env: &Env, branch_from_id: JsVal<'_>) -> Result<()> {
        let js = JsEnv::new(env);
        self.check_writable(js)?;
        let row = self.known(js, branch_from_id)?;
        self.set_leaf(js, Some(row))
    }

    #[napi(catch_unwind)]
    pub fn reset_leaf(&self, env: &Env) -> Result<()> {
        self.set_leaf(JsEnv::new(env), None)
    }

    #[napi(catch_unwind)]
    pub fn branch_with_summary<'env>(
        &self,
        env: &'env Env,
        branch_from_id: JsVal<'env>,
        summary: JsVal<'env>,
        details: JsVal<'env>,
        from_hook: JsVal<'env>,
        usage: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let parent = match js.kind(branch_from_id)? {
            ValueType::Null => ParentChoice::Root,
            _ => {
                self.known(js, branch_from_id)?;
                ParentChoice::Id(js.text(branch_from_id)?.unwrap_or_default())
            }
        };
        let from_id = {
            let state = self.state.borrow();
            let tree = state.session.tree();
            js.string(tree.leaf().map_or(&b"root"[..], |leaf| tree.id_of(leaf)))?
        };
        let own = js.record(&[
            (c"fromId", from_id),
            (c"summary", summary),
            (c"details", details),
            (c"usage", usage),
            (c"fromHook", from_hook),
        ])?;
        let head = NewHead { has_summary: js.is_truthy(summary)?, ..NewHead::default() };
        let new = PendingEntry { parent, head, ..PendingEntry::entry(EntryKind::BranchSummary, own) };
        self.append_for_id(env, new)
    }

    #[napi(catch_unwind)]
    pub fn create_branched_session<'env>(&self, env: &'env Env, leaf_id: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        self.check_writable(js)?;
        gc::collect(js)?;
        let branched = || match reads::path_end(&self.state, js, leaf_id)? {
            Some(row) => branched_session(&self.state, js, row),
            None => Err(thrown(js, &CoreError::entry_not_found(args::template_text(js, leaf_id)?))),
        };
        let file = reading(&self.state, js, branched)?;
        js.optional_string(file.as_deref().map(str::as_bytes))
    }
}
