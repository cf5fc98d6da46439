//! The class `SessionManager`: what its instances do, but for appending ([`super::appends`]). Its statics are in [`super::statics`].

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

/// A conversation session: an append-only tree of entries in a JSONL file, or in memory.
///
/// @example
/// ```ts
/// const session = SessionManager.create(cwd, dir);
/// session.appendMessage({ role: "user", content: "Hello", timestamp: Date.now() });
/// console.log(SessionManager.open(session.getSessionFile()!).getEntryCount()); // → 1
/// ```
#[napi(custom_finalize)]
pub struct SessionManager {
    pub(crate) state: Rc<RefCell<ManagerState>>,
}

impl ObjectFinalize for SessionManager {
    fn finalize(self, env: Env) -> Result<()> {
        // Nothing else holds the state: what reads bodies only finds it.
        match Rc::try_unwrap(self.state) {
            Ok(state) => state.into_inner().release_session(JsEnv::new(&env)),
            Err(_) => Ok(()),
        }
    }
}

impl SessionManager {
    /// The manager as JavaScript gets it. From here on that object owns the entries' objects.
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

    /// Reads; where a line is not where it was, takes in what is there now and reads again.
    pub(crate) fn read<'env>(
        &self,
        env: &'env Env,
        read: impl Fn(&RefCell<ManagerState>, JsEnv<'env>) -> Result<JsVal<'env>>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        reading(&self.state, js, || read(&self.state, js))
    }

    /// Appends and gives the new entry's id.
    pub(crate) fn append_for_id<'env>(&self, env: &'env Env, new: PendingEntry<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        append(&self.state, js, new, |row| js.string(self.state.borrow().session.tree().id_of(row)))
    }

    /// Moves the leaf; an error if the session was opened read-only.
    fn set_leaf(&self, js: JsEnv<'_>, leaf: Option<RowNo>) -> Result<()> {
        self.state.borrow_mut().session.set_leaf(leaf).or_throw(js)
    }

    /// An error if the session was opened read-only.
    pub(crate) fn check_writable(&self, js: JsEnv<'_>) -> Result<()> {
        self.state.borrow().session.check_writable().or_throw(js)
    }

    /// The row an id argument means, or the reference's error.
    pub(crate) fn known(&self, js: JsEnv<'_>, id: JsVal<'_>) -> Result<RowNo> {
        match reads::row_of(&self.state, js, id)? {
            Some(row) => Ok(row),
            None => Err(thrown(js, &CoreError::entry_not_found(args::template_text(js, id)?))),
        }
    }
}

#[napi]
impl SessionManager {
    // Its declaration is in `getSessionId`: private, so that TypeScript does not offer it.
    #[napi(constructor, skip_typescript)]
    pub fn refuse(env: &Env) -> Result<Self> {
        let text = "SessionManager has no public constructor. Call SessionManager.create, open, continueRecent, inMemory or forkFrom";
        Err(wrong_argument(JsEnv::new(env), text))
    }

    /// Switches to another session file, keeping the working directory and the session directory.
    ///
    /// @throws If the file is there and is not a session: `Session file is not a valid pi session: <path>`. If it cannot be read, is locked, or this
    /// session was opened read-only.
    /// @example
    /// ```ts
    /// manager.setSessionFile(file);
    /// ```
    #[napi(catch_unwind, ts_args_type = "sessionFile: string")]
    pub fn set_session_file(&self, env: &Env, session_file: JsVal<'_>) -> Result<()> {
        let js = JsEnv::new(env);
        self.check_writable(js)?;
        let file = resolved(js, session_file, "sessionFile")?;
        let config = {
            let mut state = self.state.borrow_mut();
            // A lock on the very same file passes on to it; should that fail, the next append takes it again.
            if state.session.file() == Some(&file) {
                state.session.release_lock();
            }
            state.config.clone()
        };
        let opened = open::open_session(js, &config, file)?;
        state::swap(&self.state, js, opened)
    }

    /// Starts a new session in place of this one and gives the path its file will have; undefined in memory.
    ///
    /// @throws If the id in the options cannot be part of a file name, or this session was opened read-only.
    /// @example
    /// ```ts
    /// const path = manager.newSession({ parentSession: file });
    /// console.log(path !== file, manager.getEntryCount()); // → true 0
    /// ```
    #[napi(catch_unwind, ts_args_type = "options?: NewSessionOptions", ts_return_type = "string | undefined")]
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

    /// The id of the leaf: the entry that the next one will be a child of. Null before the first.
    ///
    /// @example
    /// ```ts
    /// manager.resetLeaf();
    /// console.log(manager.getLeafId()); // → null
    /// ```
    #[napi(catch_unwind, ts_return_type = "string | null")]
    pub fn get_leaf_id<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let state = self.state.borrow();
        let tree = state.session.tree();
        tree.leaf().map_or_else(|| js.null(), |leaf| js.string(tree.id_of(leaf)))
    }

    /// The leaf entry; undefined before the first.
    ///
    /// @throws If the file cannot be read, or has changed.
    /// @example
    /// ```ts
    /// console.log(manager.getLeafEntry()?.type); // → message
    /// ```
    #[napi(catch_unwind, ts_return_type = "SessionEntry | undefined")]
    pub fn get_leaf_entry<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::entry_or_undefined(state, js, reads::leaf(state)))
    }

    /// The entry with an id, the same object every time; undefined if there is none.
    ///
    /// @example
    /// ```ts
    /// const entry = manager.getEntry(id);
    /// console.log(entry?.type, entry === manager.getEntry(id)); // → message true
    /// ```
    #[napi(catch_unwind, ts_args_type = "id: string", ts_return_type = "SessionEntry | undefined")]
    pub fn get_entry<'env>(&self, env: &'env Env, id: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::entry_or_undefined(state, js, reads::row_of(state, js, id)?))
    }

    /// The entries whose `parentId` is this one, in file order.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getChildren(id).length); // → 1
    /// ```
    #[napi(catch_unwind, ts_args_type = "parentId: string", ts_return_type = "SessionEntry[]")]
    pub fn get_children<'env>(&self, env: &'env Env, parent_id: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::children(state, js, parent_id))
    }

    /// The label of an entry; undefined if it has none.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getLabel(id)); // → undefined
    /// ```
    #[napi(catch_unwind, ts_args_type = "id: string", ts_return_type = "string | undefined")]
    pub fn get_label<'env>(&self, env: &'env Env, id: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::label(state, js, id))
    }

    /// The entries from the root to an entry, by default the leaf. Empty for an unknown id. With a `limit` only that
    /// many of them, those nearest to the entry: a view of a huge session makes what it shows and no more.
    ///
    /// @throws `TypeError` if the limit is not a whole number from 0 on. If the file cannot be read, or has changed.
    /// @example
    /// ```ts
    /// console.log(manager.getBranch().map((entry) => entry.type).join()); // → message,message
    /// console.log(manager.getBranch(undefined, { limit: 1 })[0]?.id === manager.getLeafId()); // → true
    /// ```
    #[napi(
        catch_unwind,
        ts_args_type = "fromId?: string, options?: { limit?: number | undefined }",
        ts_return_type = "SessionEntry[]"
    )]
    pub fn get_branch<'env>(&self, env: &'env Env, from_id: JsVal<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        // As in pi, whatever else comes second is ignored: `ids.map(manager.getBranch, manager)` passes a number.
        let limit = if js.is_object(options)? {
            Options::of(js, options, "getBranch", &[c"limit"])?.whole_number(c"limit")?
        } else {
            None
        };
        self.read(env, |state, js| reads::branch(state, js, from_id, limit))
    }

    /// Calls a listener with each entry that is appended through this manager from now on, once it is in the session
    /// and, where there is a file, written. What it throws is reported as an uncaught exception; the append stays.
    /// Gives the function that ends it. Entries of other processes are not reported.
    ///
    /// @throws `TypeError` if the listener is not a function.
    /// @example
    /// ```ts
    /// const stop = manager.onAppend((entry) => console.log(entry.type)); // → custom
    /// manager.appendCustomEntry("my-extension");
    /// stop();
    /// ```
    #[napi(catch_unwind, ts_args_type = "listener: (entry: SessionEntry) => void", ts_return_type = "() => void")]
    pub fn on_append<'env>(&self, env: &'env Env, listener: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        args::function(js, listener, "listener")?;
        let anchor = self.state.borrow().cache.anchor(js)?;
        let anchor = anchor.ok_or_else(|| Error::from_reason("The manager is not complete"))?;
        let end = factory::call(js, FactoryFn::Subscribe, &[anchor, listener])?;
        self.state.borrow_mut().listens = true;
        Ok(end)
    }

    /// `getBranch` under its first name.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getPath().length === manager.getBranch().length); // → true
    /// ```
    #[napi(catch_unwind, ts_args_type = "fromId?: string", ts_return_type = "SessionEntry[]")]
    pub fn get_path<'env>(&self, env: &'env Env, from_id: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::branch(state, js, from_id, None))
    }

    /// The entries that make the context at the leaf: the newest compaction first, then what it kept and all after it.
    ///
    /// @throws If the file cannot be read, or has changed.
    /// @example
    /// ```ts
    /// console.log(manager.buildContextEntries().length); // → 2
    /// ```
    #[napi(catch_unwind, ts_return_type = "SessionEntry[]")]
    pub fn build_context_entries<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, reads::context_entries)
    }

    /// The context at the leaf, per entry and as one list of messages, which holds the same objects.
    ///
    /// @throws If the file cannot be read, or has changed.
    /// @example
    /// ```ts
    /// const { entries, messages } = manager.buildSessionProjection();
    /// console.log(entries[0]?.messages[0] === messages[0]); // → true
    /// ```
    #[napi(catch_unwind, ts_return_type = "SessionProjection")]
    pub fn build_session_projection<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::context(state, js, FactoryFn::Project, FactoryFn::WithSettings))
    }

    /// What the model is given at the leaf: messages, thinking level and model.
    ///
    /// @throws If the file cannot be read, or has changed.
    /// @example
    /// ```ts
    /// const { messages, thinkingLevel, model } = manager.buildSessionContext();
    /// console.log(messages.length, thinkingLevel, model?.provider); // → 2 off acme
    /// ```
    #[napi(catch_unwind, ts_return_type = "SessionContext")]
    pub fn build_session_context<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, |state, js| reads::context(state, js, FactoryFn::Context, FactoryFn::JustMessages))
    }

    /// The session's header; null if the manager was made of entries without one.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getHeader()?.version); // → 3
    /// ```
    #[napi(catch_unwind, ts_return_type = "SessionHeader | null")]
    pub fn get_header<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, materialize::header)
    }

    /// How many entries there are, the header not counted.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getEntryCount()); // → 2
    /// ```
    #[napi(catch_unwind)]
    pub fn get_entry_count(&self) -> u32 {
        self.state.borrow().session.tree().distinct_ids() as u32
    }

    /// What the model calls of this session used, those on abandoned branches included. No entry objects are made of a file's entries, and each entry
    /// is read once: a later call only reads what was appended since. Offsets are positions in the file; in memory they are the entries' numbers.
    ///
    /// @throws `TypeError` for an option of a wrong type. If the file cannot be read, or has changed.
    /// @example
    /// ```ts
    /// const { total, by } = manager.getUsage({ by: "model" });
    /// console.log(total.output, by.model.length); // → 3 1
    /// ```
    #[napi(
        catch_unwind,
        ts_type = "<Grouping extends UsageGrouping = 'model'>(options?: UsageReportOptions<Grouping>): UsageReport<Grouping>"
    )]
    pub fn get_usage<'env>(&self, env: &'env Env, options: JsVal<'env>) -> Result<JsVal<'env>> {
        self.read(env, |state, js| usage(state, js, options))
    }

    /// Every entry in file order, in a fresh list.
    ///
    /// @throws If the file cannot be read, or has changed.
    /// @example
    /// ```ts
    /// for (const entry of manager.getEntries()) console.log(entry.id, entry.type);
    /// ```
    #[napi(catch_unwind, ts_return_type = "SessionEntry[]")]
    pub fn get_entries<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, reads::all)
    }

    /// The session as a tree, with labels resolved; siblings by time. Entries without a parent in the session are
    /// roots.
    ///
    /// @throws If the file cannot be read, or has changed.
    /// @example
    /// ```ts
    /// const [root] = manager.getTree();
    /// console.log(root?.entry.id === id, root?.children.length); // → true 1
    /// ```
    #[napi(catch_unwind, ts_return_type = "SessionTreeNode[]")]
    pub fn get_tree<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, reads::tree)
    }

    /// The tree without what its entries say: type, id, time and role of each, and the ids of the branch of the leaf. No line is read for it, so it
    /// takes a small part of the time of `getTree`. An entry whose type, role or time is of a kind unknown to this package is there as it is.
    ///
    /// @example
    /// ```ts
    /// const { tree, branch } = manager.getOutline();
    /// console.log(tree[0]?.entry.type, branch.length); // → message 2
    /// ```
    #[napi(catch_unwind, ts_return_type = "SessionOutline")]
    pub fn get_outline<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, outline)
    }

    /// Moves the leaf to an earlier entry: the next one starts a branch there.
    ///
    /// @throws If no entry has this id: `Entry <id> not found`. If the session was opened read-only.
    /// @example
    /// ```ts
    /// manager.branch(id);
    /// manager.appendMessage({ role: "user", content: "Another way", timestamp: Date.now() });
    /// console.log(manager.getChildren(id).length); // → 2
    /// ```
    #[napi(catch_unwind, ts_args_type = "branchFromId: string")]
    pub fn branch(&self, env: &Env, branch_from_id: JsVal<'_>) -> Result<()> {
        let js = JsEnv::new(env);
        self.check_writable(js)?;
        let row = self.known(js, branch_from_id)?;
        self.set_leaf(js, Some(row))
    }

    /// Moves the leaf before the first entry: the next one will be a root.
    ///
    /// @throws If the session was opened read-only.
    /// @example
    /// ```ts
    /// manager.resetLeaf();
    /// manager.appendMessage({ role: "user", content: "From the start", timestamp: Date.now() });
    /// console.log(manager.getTree().length); // → 2
    /// ```
    #[napi(catch_unwind)]
    pub fn reset_leaf(&self, env: &Env) -> Result<()> {
        self.set_leaf(JsEnv::new(env), None)
    }

    /// Moves the leaf as `branch` does (null: as `resetLeaf`), and appends a summary of the branch left there. Gives
    /// the summary entry's id.
    ///
    /// @throws If no entry has this id: `Entry <id> not found`. And as `appendMessage` does.
    /// @example
    /// ```ts
    /// manager.branchWithSummary(id, "The answer was no good.");
    /// console.log(manager.getLeafEntry()?.type); // → branch_summary
    /// ```
    #[napi(
        catch_unwind,
        ts_args_type = "branchFromId: string | null, summary: string, details?: unknown, fromHook?: boolean, usage?: Usage",
        ts_return_type = "string"
    )]
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

    /// Moves this manager to a new session that holds only the path to an entry, with the labels on it. Gives the new
    /// file's path; undefined in memory.
    ///
    /// @throws If no entry has this id: `Entry <id> not found`. If the session was opened read-only, or the file cannot be read or
    /// made.
    /// @example
    /// ```ts
    /// const path = manager.createBranchedSession(id);
    /// console.log(path !== file, manager.getHeader()?.parentSession === file); // → true true
    /// ```
    #[napi(catch_unwind, ts_args_type = "leafId: string", ts_return_type = "string | undefined")]
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
