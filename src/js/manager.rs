//! The class `SessionManager`: what its instances do. Its statics are in [`super::statics`].

use std::cell::RefCell;

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::append::{append, Below, New};
use super::args;
use super::branching::branched_session;
use super::entries;
use super::errors::{thrown, wrong_argument};
use super::host::{make, on_paths, F};
use super::object::message_head;
use super::prompt::system_message;
use super::raw::{returned, Js, Val};
use super::reads;
use super::state::{self, State};
use crate::core::append::NewHead;
use crate::core::entry::Kind;
use crate::core::error::Error as CoreError;
use crate::core::ids::entry_id;
use crate::core::message::Role;
use crate::core::paths;
use crate::core::text::one_line;
use crate::core::tree::RowNo;

/// A conversation session: an append-only tree of entries in a JSONL file, or in memory.
#[napi(custom_finalize)]
pub struct SessionManager {
    pub(super) state: RefCell<State>,
}

impl ObjectFinalize for SessionManager {
    fn finalize(self, env: Env) -> Result<()> {
        self.state.into_inner().cache.release(Js::new(&env))
    }
}

impl SessionManager {
    fn id_of(&self, js: Js, row: RowNo) -> Result<Val> {
        js.string(self.state.borrow().session.tree().id_of(row))
    }

    /// Appends and gives the new entry's id.
    fn append_for_id<'env>(&self, env: &'env Env, new: New) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let row = append(&self.state, js, new)?;
        Ok(returned(env, self.id_of(js, row)?))
    }

    /// The row an id argument means, or the reference's error.
    fn known(&self, js: Js, id: Val) -> Result<RowNo> {
        match reads::row_of(&self.state, js, id)? {
            Some(row) => Ok(row),
            None => Err(thrown(js, &CoreError::entry_not_found(args::shown_value(js, id)?))),
        }
    }
}

#[napi]
impl SessionManager {
    /// Switches to another session file, keeping the working directory and the session directory.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "sessionFile: string")]
    pub fn set_session_file(&self, env: &Env, session_file: Unknown) -> Result<()> {
        let js = Js::new(env);
        let file = state::resolved(js, session_file.raw(), "sessionFile")?;
        let place = self.state.borrow().place();
        let opened = state::open_session(js, &place, file)?;
        state::swap(&self.state, js, opened)
    }

    /// Starts a new session in place of this one and gives the path its file will have; undefined in memory.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_args_type = "options?: NewSessionOptions",
        ts_return_type = "string | undefined"
    )]
    pub fn new_session<'env>(&self, env: &'env Env, options: Unknown) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let (place, file) = {
            let state = self.state.borrow();
            let file = state.session.file().filter(|_| !state.session.is_persisted());
            (state.place(), file.map(str::to_owned))
        };
        let opened = state::new_session(js, &place, file, options.raw())?;
        state::swap(&self.state, js, opened)?;
        self.get_session_file(env)
    }

    /// Whether this session writes to a file.
    #[napi(catch_unwind, enumerable = false)]
    pub fn is_persisted(&self) -> bool {
        self.state.borrow().session.is_persisted()
    }

    /// The working directory, absolute.
    #[napi(catch_unwind, enumerable = false)]
    pub fn get_cwd(&self) -> String {
        self.state.borrow().cwd.clone()
    }

    /// The directory that new session files go to, as it was given; empty in memory.
    #[napi(catch_unwind, enumerable = false)]
    pub fn get_session_dir(&self) -> String {
        self.state.borrow().dir.clone()
    }

    /// Whether the session directory is the default one of the working directory.
    #[napi(catch_unwind, enumerable = false)]
    pub fn uses_default_session_dir(&self, env: &Env) -> Result<bool> {
        let (cwd, dir) = {
            let state = self.state.borrow();
            (state.cwd.clone(), state.dir.clone())
        };
        on_paths(Js::new(env), |host| paths::same(&dir, &paths::default_session_dir(&cwd, None, host)?, host))
    }

    /// The session's id.
    // The rest of the type is the class's constructor, which TypeScript must not offer; at run time there is none.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_type = "(): string\n/** A manager comes from `create`, `open`, `continueRecent`, `inMemory` or `forkFrom`. */\nprivate constructor()"
    )]
    pub fn get_session_id<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let state = self.state.borrow();
        Ok(returned(env, Js::new(env).string(state.session.id())?))
    }

    /// The path of the session's file, whether it exists yet or not; undefined in memory.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "string | undefined")]
    pub fn get_session_file<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let state = self.state.borrow();
        Ok(returned(env, Js::new(env).optional_string(state.session.file().map(str::as_bytes))?))
    }

    /// Appends a message below the leaf, which moves to it. The object is kept, not copied. Gives the entry's id.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_args_type = "message: Message | CustomMessage | BashExecutionMessage",
        ts_return_type = "string"
    )]
    pub fn append_message<'env>(&self, env: &'env Env, message: Unknown) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let message = message.raw();
        let waits_for_conversation = {
            let state = self.state.borrow();
            state.session.is_persisted() && !state.session.writes_lines()
        };
        if waits_for_conversation && js.is_nullish(message)? {
            return Err(wrong_argument(js, "message must be an object"));
        }
        let head = NewHead { message: message_head(js, message)?, ..NewHead::default() };
        let own = make(js, F::OwnMessage, &[message])?;
        self.append_for_id(env, New::entry(Kind::Message, own).with_head(head))
    }

    /// Appends a change of the thinking level. Gives the entry's id.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "thinkingLevel: string", ts_return_type = "string")]
    pub fn append_thinking_level_change<'env>(&self, env: &'env Env, level: Unknown) -> Result<Unknown<'env>> {
        let own = make(Js::new(env), F::OwnThinkingLevel, &[level.raw()])?;
        self.append_for_id(env, New::entry(Kind::ThinkingLevelChange, own))
    }

    /// Appends a change of the model. Gives the entry's id.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_args_type = "provider: string, modelId: string",
        ts_return_type = "string"
    )]
    pub fn append_model_change<'env>(
        &self,
        env: &'env Env,
        provider: Unknown,
        model_id: Unknown,
    ) -> Result<Unknown<'env>> {
        let own = make(Js::new(env), F::OwnModel, &[provider.raw(), model_id.raw()])?;
        self.append_for_id(env, New::entry(Kind::ModelChange, own))
    }

    /// Appends usage that is no part of the model's context. Gives the entry.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_args_type = "kind: string, provider: string, model: string, usage: Usage, note?: string",
        ts_return_type = "UsageEntry"
    )]
    pub fn append_usage<'env>(
        &self,
        env: &'env Env,
        kind: Unknown,
        provider: Unknown,
        model: Unknown,
        usage: Unknown,
        note: Unknown,
    ) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let values = [kind.raw(), provider.raw(), model.raw(), usage.raw(), note.raw()];
        let shape = if js.is_truthy(note.raw())? { F::OwnUsageWithNote } else { F::OwnUsage };
        let own = make(js, shape, &values)?;
        let row = append(&self.state, js, New::entry(Kind::Usage, own))?;
        Ok(returned(env, entries::object(&self.state, js, row)?))
    }

    /// Appends a compaction: later contexts start with its summary and go on from `firstKeptEntryId` (null: keep
    /// nothing before it). It carries the system prompt and tools as they are at the leaf. Gives the entry's id.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_generic_types = "T = unknown",
        ts_args_type = "summary: string, firstKeptEntryId: string | null, tokensBefore: number, details?: T, fromHook?: boolean, usage?: Usage",
        ts_return_type = "string"
    )]
    #[allow(clippy::too_many_arguments)]
    pub fn append_compaction<'env>(
        &self,
        env: &'env Env,
        summary: Unknown,
        first_kept_entry_id: Unknown,
        tokens_before: Unknown,
        details: Unknown,
        from_hook: Unknown,
        usage: Unknown,
    ) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let now = super::host::now(js)?;
        let system = system_message(&self.state, js, now)?;
        let id = {
            let state = self.state.borrow();
            entry_id(|id| state.session.tree().find(id).is_some())
        };
        let first_kept = match js.is_nullish(first_kept_entry_id.raw())? {
            true => js.string(id.as_bytes())?,
            false => first_kept_entry_id.raw(),
        };
        let values = [summary.raw(), first_kept, tokens_before.raw(), details.raw(), usage.raw(), from_hook.raw()];
        let own = match system {
            Some(system) => make(js, F::OwnCompactionWithPrompt, &[&values[..], &[system]].concat())?,
            None => make(js, F::OwnCompaction, &values)?,
        };
        let head = NewHead { target: js.text(first_kept)?, ..NewHead::default() };
        let new = New { id: Some(id), time: Some(now), ..New::entry(Kind::Compaction, own).with_head(head) };
        self.append_for_id(env, new)
    }

    /// Appends an extension's own data, which is no part of the model's context. Gives the entry's id.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_args_type = "customType: string, data?: unknown",
        ts_return_type = "string"
    )]
    pub fn append_custom_entry<'env>(
        &self,
        env: &'env Env,
        custom_type: Unknown,
        data: Unknown,
    ) -> Result<Unknown<'env>> {
        let own = make(Js::new(env), F::OwnCustom, &[custom_type.raw(), data.raw()])?;
        self.append_for_id(env, New::entry(Kind::Custom, own))
    }

    /// Appends the session's name, made one line and trimmed. An empty name clears it. Gives the entry's id.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "name: string", ts_return_type = "string")]
    pub fn append_session_info<'env>(&self, env: &'env Env, name: Unknown) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let name = one_line(&args::text(js, name.raw(), "name")?);
        let own = make(js, F::OwnName, &[js.string(&name)?])?;
        self.append_for_id(env, New::entry(Kind::SessionInfo, own))
    }

    /// The session's name, from its newest session_info entry on any branch; undefined if it has none.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "string | undefined")]
    pub fn get_session_name<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        Ok(returned(env, reads::name(&self.state, Js::new(env))?))
    }

    /// Appends an extension's message, which is part of the model's context. Gives the entry's id.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_generic_types = "T = unknown",
        ts_args_type = "customType: string, content: string | (TextContent | ImageContent)[], display: boolean, details?: T",
        ts_return_type = "string"
    )]
    pub fn append_custom_message_entry<'env>(
        &self,
        env: &'env Env,
        custom_type: Unknown,
        content: Unknown,
        display: Unknown,
        details: Unknown,
    ) -> Result<Unknown<'env>> {
        let values = [custom_type.raw(), content.raw(), display.raw(), details.raw()];
        let own = make(Js::new(env), F::OwnCustomMessage, &values)?;
        self.append_for_id(env, New::entry(Kind::CustomMessage, own))
    }

    /// Appends a change of what an earlier entry of the path gives to the model: null leaves it out, content replaces
    /// its own. Gives the entry's id.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_args_type = "targetId: string, replacement: ContextEditEntry[\"replacement\"]",
        ts_return_type = "string"
    )]
    pub fn append_context_edit<'env>(
        &self,
        env: &'env Env,
        target_id: Unknown,
        replacement: Unknown,
    ) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let (target, mut replacement) = (target_id.raw(), replacement.raw());
        let content = match js.kind(replacement)? {
            ValueType::Null => None,
            ValueType::Object => Some(js.get(replacement, c"content")?),
            _ => return Err(thrown(js, &CoreError::replacement())),
        };
        let is_text = content.map_or(Ok(false), |content| Ok::<_, Error>(js.text(content)?.is_some()))?;
        if let Some(content) = content.filter(|_| !is_text) {
            if !js.is_array(content)? {
                return Err(thrown(js, &CoreError::replacement()));
            }
        }
        let id = js.text(target)?;
        let shown = args::shown_value(js, target)?;
        let checked = self.state.borrow().session.check_edit(id.as_deref(), || shown.clone());
        let row = checked.map_err(|error| thrown(js, &error))?;
        let role = self.state.borrow().session.tree().row(row).and_then(|row| row.role());
        if let (Some(text), true, Some(Role::Assistant | Role::ToolResult)) = (content, is_text, role) {
            replacement = make(js, F::TextBlocks, &[text])?;
        }
        let head = NewHead { target: id, ..NewHead::default() };
        let own = make(js, F::OwnEdit, &[target, replacement])?;
        self.append_for_id(env, New::entry(Kind::ContextEdit, own).with_head(head))
    }

    /// The id of the leaf: the entry that the next one will be a child of. Null before the first.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "string | null")]
    pub fn get_leaf_id<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let state = self.state.borrow();
        let tree = state.session.tree();
        Ok(returned(env, tree.leaf().map_or_else(|| js.null(), |leaf| js.string(tree.id_of(leaf)))?))
    }

    /// The leaf entry; undefined before the first.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "SessionEntry | undefined")]
    pub fn get_leaf_entry<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let leaf = reads::leaf(&self.state);
        Ok(returned(env, reads::entry_or_undefined(&self.state, Js::new(env), leaf)?))
    }

    /// The entry with an id, the same object every time; undefined if there is none.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "id: string", ts_return_type = "SessionEntry | undefined")]
    pub fn get_entry<'env>(&self, env: &'env Env, id: Unknown) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let row = reads::row_of(&self.state, js, id.raw())?;
        Ok(returned(env, reads::entry_or_undefined(&self.state, js, row)?))
    }

    /// The entries whose `parentId` is this one, in file order.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "parentId: string", ts_return_type = "SessionEntry[]")]
    pub fn get_children<'env>(&self, env: &'env Env, parent_id: Unknown) -> Result<Unknown<'env>> {
        Ok(returned(env, reads::children(&self.state, Js::new(env), parent_id.raw())?))
    }

    /// The label of an entry; undefined if it has none.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "id: string", ts_return_type = "string | undefined")]
    pub fn get_label<'env>(&self, env: &'env Env, id: Unknown) -> Result<Unknown<'env>> {
        Ok(returned(env, reads::label(&self.state, Js::new(env), id.raw())?))
    }

    /// Appends a label for an entry; undefined or an empty text clears it. Gives the label entry's id.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_args_type = "targetId: string, label: string | undefined",
        ts_return_type = "string"
    )]
    pub fn append_label_change<'env>(
        &self,
        env: &'env Env,
        target_id: Unknown,
        label: Unknown,
    ) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let target = target_id.raw();
        self.known(js, target)?;
        let head = NewHead { target: js.text(target)?, sets_label: js.is_truthy(label.raw())?, ..NewHead::default() };
        let own = make(js, F::OwnLabel, &[target, label.raw()])?;
        self.append_for_id(env, New::entry(Kind::Label, own).with_head(head))
    }

    /// The entries from the root to an entry, by default the leaf. Empty for an unknown id.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "fromId?: string", ts_return_type = "SessionEntry[]")]
    pub fn get_branch<'env>(&self, env: &'env Env, from_id: Unknown) -> Result<Unknown<'env>> {
        Ok(returned(env, reads::branch(&self.state, Js::new(env), from_id.raw())?))
    }

    /// `getBranch` under the name it had at first.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "fromId?: string", ts_return_type = "SessionEntry[]")]
    pub fn get_path<'env>(&self, env: &'env Env, from_id: Unknown) -> Result<Unknown<'env>> {
        self.get_branch(env, from_id)
    }

    /// The entries that make the context at the leaf: the newest compaction first, then what it kept and all after it.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "SessionEntry[]")]
    pub fn build_context_entries<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        Ok(returned(env, reads::context_entries(&self.state, Js::new(env))?))
    }

    /// The context at the leaf, per entry and as one list of messages, which holds the same objects.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "SessionProjection")]
    pub fn build_session_projection<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let projection = reads::leaf_projection(&self.state);
        let made = reads::projected(&self.state, js, &projection, F::Project)?;
        let [thinking, model] = reads::settings_of(&self.state, js, &projection)?;
        Ok(returned(env, make(js, F::WithSettings, &[made, thinking, model])?))
    }

    /// What the model is given at the leaf: messages, thinking level and model.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "SessionContext")]
    pub fn build_session_context<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let projection = reads::leaf_projection(&self.state);
        let made = reads::projected(&self.state, js, &projection, F::Context)?;
        let [thinking, model] = reads::settings_of(&self.state, js, &projection)?;
        Ok(returned(env, make(js, F::JustMessages, &[made, thinking, model])?))
    }

    /// The session's header.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "SessionHeader | null")]
    pub fn get_header<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        Ok(returned(env, entries::header(&self.state, Js::new(env))?))
    }

    /// How many entries there are, the header not counted.
    #[napi(catch_unwind, enumerable = false)]
    pub fn get_entry_count(&self) -> u32 {
        self.state.borrow().session.tree().distinct() as u32
    }

    /// Every entry in file order, in a fresh list.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "SessionEntry[]")]
    pub fn get_entries<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        Ok(returned(env, reads::all(&self.state, Js::new(env))?))
    }

    /// The session as a tree, with labels resolved; siblings by time. Entries without a parent in the session are
    /// roots.
    #[napi(catch_unwind, enumerable = false, ts_return_type = "SessionTreeNode[]")]
    pub fn get_tree<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        Ok(returned(env, reads::tree(&self.state, Js::new(env))?))
    }

    /// Moves the leaf to an earlier entry: the next one starts a branch there.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "branchFromId: string")]
    pub fn branch(&self, env: &Env, branch_from_id: Unknown) -> Result<()> {
        let row = self.known(Js::new(env), branch_from_id.raw())?;
        self.state.borrow_mut().session.set_leaf(Some(row));
        Ok(())
    }

    /// Moves the leaf before the first entry: the next one will be a root.
    #[napi(catch_unwind, enumerable = false)]
    pub fn reset_leaf(&self) {
        self.state.borrow_mut().session.set_leaf(None);
    }

    /// Moves the leaf as `branch` does (null: as `resetLeaf`), and appends a summary of the branch left there. Gives
    /// the summary entry's id.
    #[napi(
        catch_unwind,
        enumerable = false,
        ts_args_type = "branchFromId: string | null, summary: string, details?: unknown, fromHook?: boolean, usage?: Usage",
        ts_return_type = "string"
    )]
    pub fn branch_with_summary<'env>(
        &self,
        env: &'env Env,
        branch_from_id: Unknown,
        summary: Unknown,
        details: Unknown,
        from_hook: Unknown,
        usage: Unknown,
    ) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let below = match js.kind(branch_from_id.raw())? {
            ValueType::Null => Below::Nothing,
            _ => Below::Row(self.known(js, branch_from_id.raw())?),
        };
        let from_id = {
            let state = self.state.borrow();
            let tree = state.session.tree();
            js.string(tree.leaf().map_or(&b"root"[..], |leaf| tree.id_of(leaf)))?
        };
        let values = [from_id, summary.raw(), details.raw(), usage.raw(), from_hook.raw()];
        let own = make(js, F::OwnBranchSummary, &values)?;
        let head = NewHead { has_summary: js.is_truthy(summary.raw())?, ..NewHead::default() };
        let new = New { below, ..New::entry(Kind::BranchSummary, own).with_head(head) };
        self.append_for_id(env, new)
    }

    /// Moves this manager to a new session that holds the path to an entry alone, labels on it kept. Gives the new
    /// file's path; undefined in memory.
    #[napi(catch_unwind, enumerable = false, ts_args_type = "leafId: string", ts_return_type = "string | undefined")]
    pub fn create_branched_session<'env>(&self, env: &'env Env, leaf_id: Unknown) -> Result<Unknown<'env>> {
        let js = Js::new(env);
        let Some(row) = reads::path_end(&self.state, js, leaf_id.raw())? else {
            return Err(thrown(js, &CoreError::entry_not_found(args::shown_value(js, leaf_id.raw())?)));
        };
        let file = branched_session(&self.state, js, row)?;
        Ok(returned(env, js.optional_string(file.as_deref().map(str::as_bytes))?))
    }
}
