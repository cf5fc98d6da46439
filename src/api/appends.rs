//! The methods of `SessionManager` that append an entry.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::convert::args;
use crate::convert::errors::{thrown, OrThrow};
use crate::engine::{JsEnv, JsVal};
use crate::factory::process::now;
use crate::factory::{self, FactoryFn};
use crate::manager::append::{append, PendingEntry};
use crate::manager::file_check::reading;
use crate::manager::materialize::object;
use crate::manager::message::new_message;
use crate::manager::system_message::system_message;
use pi_session_core::addon::{needs_block_list, NewHead};
use pi_session_core::wtf8::one_line;
use pi_session_core::{EntryKind, Error as CoreError};

#[napi]
impl SessionManager {
    /// Appends a message below the leaf, which moves to it. The object is kept, not copied. Gives the entry's id.
    ///
    /// @throws What making JSON of it throws (a cycle, a `BigInt`), unless the session has no file; and if the file cannot be
    /// written, is locked by another manager, or holds another session by now. The session is then as it was.
    /// @example
    /// ```ts
    /// const id = manager.appendMessage({ role: "user", content: "Hello", timestamp: Date.now() });
    /// console.log(manager.getLeafId() === id); // → true
    /// ```
    #[napi(
        catch_unwind,
        ts_args_type = "message: Message | CustomMessage | BashExecutionMessage",
        ts_return_type = "string"
    )]
    pub fn append_message<'env>(&self, env: &'env Env, message: JsVal<'env>) -> Result<JsVal<'env>> {
        let new = new_message(&self.state, JsEnv::new(env), message)?;
        self.append_for_id(env, new)
    }

    /// Appends a change of the thinking level. Gives the entry's id.
    ///
    /// @throws As `appendMessage` does.
    /// @example
    /// ```ts
    /// manager.appendThinkingLevelChange("high");
    /// console.log(manager.buildSessionContext().thinkingLevel); // → high
    /// ```
    #[napi(catch_unwind, ts_args_type = "thinkingLevel: string", ts_return_type = "string")]
    pub fn append_thinking_level_change<'env>(&self, env: &'env Env, level: JsVal<'env>) -> Result<JsVal<'env>> {
        let own = JsEnv::new(env).record(&[(c"thinkingLevel", level)])?;
        self.append_for_id(env, PendingEntry::entry(EntryKind::ThinkingLevelChange, own))
    }

    /// Appends a change of the model. Gives the entry's id.
    ///
    /// @throws As `appendMessage` does.
    /// @example
    /// ```ts
    /// manager.appendModelChange("acme", "large");
    /// console.log(manager.buildSessionContext().model?.modelId); // → large
    /// ```
    #[napi(catch_unwind, ts_args_type = "provider: string, modelId: string", ts_return_type = "string")]
    pub fn append_model_change<'env>(
        &self,
        env: &'env Env,
        provider: JsVal<'env>,
        model_id: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let own = JsEnv::new(env).record(&[(c"provider", provider), (c"modelId", model_id)])?;
        self.append_for_id(env, PendingEntry::entry(EntryKind::ModelChange, own))
    }

    /// Appends usage that is not part of the model's context. Gives the entry.
    ///
    /// @throws As `appendMessage` does.
    /// @example
    /// ```ts
    /// const cost = { input: 0, output: 0, cacheRead: 0.015, cacheWrite: 0, total: 0.015 };
    /// const usage = { input: 0, output: 0, cacheRead: 50_000, cacheWrite: 0, totalTokens: 50_000, cost };
    /// const entry = manager.appendUsage("cache_warm", "acme", "large", usage);
    /// console.log(entry.usage === usage); // → true
    /// ```
    #[napi(
        catch_unwind,
        ts_args_type = "kind: string, provider: string, model: string, usage: Usage, note?: string",
        ts_return_type = "UsageEntry"
    )]
    pub fn append_usage<'env>(
        &self,
        env: &'env Env,
        kind: JsVal<'env>,
        provider: JsVal<'env>,
        model: JsVal<'env>,
        usage: JsVal<'env>,
        note: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let mut own = vec![(c"kind", kind), (c"provider", provider), (c"model", model), (c"usage", usage)];
        if js.is_truthy(note)? {
            own.push((c"note", note));
        }
        let own = js.record(&own)?;
        append(&self.state, js, PendingEntry::entry(EntryKind::Usage, own), |row| object(&self.state, js, row))
    }

    /// Appends a compaction: later contexts start with its summary and go on from `firstKeptEntryId` (null: keep
    /// nothing before it). `tokensBefore` is the context's size before, in tokens; `details` are the summary writer's own,
    /// `usage` is what the summary cost, and `fromHook` says that an extension wrote it. The entry carries the system
    /// prompt and tools as they are at the leaf. Gives its id.
    ///
    /// @throws As `appendMessage` does.
    /// @example
    /// ```ts
    /// manager.appendCompaction("They greeted each other.", null, 12_000);
    /// console.log(manager.buildSessionContext().messages.at(-1)?.role); // → compactionSummary
    /// ```
    #[napi(
        catch_unwind,
        ts_generic_types = "T = unknown",
        ts_args_type = "summary: string, firstKeptEntryId: string | null, tokensBefore: number, details?: T, fromHook?: boolean, usage?: Usage",
        ts_return_type = "string"
    )]
    #[allow(clippy::too_many_arguments)]
    pub fn append_compaction<'env>(
        &self,
        env: &'env Env,
        summary: JsVal<'env>,
        first_kept_entry_id: JsVal<'env>,
        tokens_before: JsVal<'env>,
        details: JsVal<'env>,
        from_hook: JsVal<'env>,
        usage: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let now = now(js)?;
        let system = reading(&self.state, js, || system_message(&self.state, js, now))?;
        let id = self.state.borrow().session.new_entry_id();
        let first_kept =
            if js.is_nullish(first_kept_entry_id)? { js.string(id.as_bytes())? } else { first_kept_entry_id };
        let mut own = vec![
            (c"summary", summary),
            (c"firstKeptEntryId", first_kept),
            (c"tokensBefore", tokens_before),
            (c"details", details),
            (c"usage", usage),
            (c"fromHook", from_hook),
        ];
        own.extend(system.map(|system| (c"systemMessage", system)));
        let own = js.record(&own)?;
        let head = NewHead { target: js.text(first_kept)?, has_summary: js.is_truthy(summary)?, ..NewHead::default() };
        let new =
            PendingEntry { id: Some(id), time: Some(now), head, ..PendingEntry::entry(EntryKind::Compaction, own) };
        self.append_for_id(env, new)
    }

    /// Appends an extension's own data, which is not part of the model's context. Gives the entry's id.
    ///
    /// @throws As `appendMessage` does.
    /// @example
    /// ```ts
    /// manager.appendCustomEntry("my-extension", { seen: ["a.ts"] });
    /// ```
    #[napi(catch_unwind, ts_args_type = "customType: string, data?: unknown", ts_return_type = "string")]
    pub fn append_custom_entry<'env>(
        &self,
        env: &'env Env,
        custom_type: JsVal<'env>,
        data: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let own = JsEnv::new(env).record(&[(c"customType", custom_type), (c"data", data)])?;
        self.append_for_id(env, PendingEntry::entry(EntryKind::Custom, own))
    }

    /// Appends the session's name, made one line and trimmed. An empty name clears it. Gives the entry's id.
    ///
    /// @throws `TypeError` if the name is not a string. And as `appendMessage` does.
    /// @example
    /// ```ts
    /// manager.appendSessionInfo("  Greetings ");
    /// console.log(manager.getSessionName()); // → Greetings
    /// ```
    #[napi(catch_unwind, ts_args_type = "name: string", ts_return_type = "string")]
    pub fn append_session_info<'env>(&self, env: &'env Env, name: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let name = one_line(&args::text(js, name, "name")?).or_throw(js)?;
        let own = js.record(&[(c"name", js.string(&name)?)])?;
        self.append_for_id(env, PendingEntry::entry(EntryKind::SessionInfo, own))
    }

    /// Appends an extension's message, which is part of the model's context. Gives the entry's id.
    ///
    /// @throws As `appendMessage` does.
    /// @example
    /// ```ts
    /// manager.appendCustomMessageEntry("my-extension", "The build is red.", true);
    /// console.log(manager.buildSessionContext().messages.at(-1)?.role); // → custom
    /// ```
    #[napi(
        catch_unwind,
        ts_generic_types = "T = unknown",
        ts_args_type = "customType: string, content: string | (TextContent | ImageContent)[], display: boolean, details?: T",
        ts_return_type = "string"
    )]
    pub fn append_custom_message_entry<'env>(
        &self,
        env: &'env Env,
        custom_type: JsVal<'env>,
        content: JsVal<'env>,
        display: JsVal<'env>,
        details: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let own = [(c"customType", custom_type), (c"content", content), (c"display", display), (c"details", details)];
        let own = JsEnv::new(env).record(&own)?;
        self.append_for_id(env, PendingEntry::entry(EntryKind::CustomMessage, own))
    }

    /// Appends a change of what an earlier entry of the path gives to the model: null leaves it out, content replaces
    /// its own. Gives the entry's id.
    ///
    /// @throws If the entry is not there, is not on the path to the leaf, or gives no content that could be edited, and if the
    /// replacement is neither null nor has content. And as `appendMessage` does.
    /// @example
    /// ```ts
    /// manager.appendContextEdit(id, null);
    /// console.log(manager.buildSessionProjection().entries.find((one) => one.sourceEntry.id === id)?.messages); // → []
    /// ```
    #[napi(
        catch_unwind,
        ts_args_type = "targetId: string, replacement: ContextEditEntry[\"replacement\"]",
        ts_return_type = "string"
    )]
    pub fn append_context_edit<'env>(
        &self,
        env: &'env Env,
        target_id: JsVal<'env>,
        mut replacement: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        self.check_writable(js)?;
        let content = match js.kind(replacement)? {
            ValueType::Null => None,
            ValueType::Object => Some(js.get(replacement, c"content")?),
            _ => return Err(thrown(js, &CoreError::replacement())),
        };
        let is_text = content.map_or(Ok(false), |content| Ok::<_, Error>(js.text(content)?.is_some()))?;
        if let Some(content) = content.filter(|_| !is_text) {
            if args::optional_array(js, content)?.is_none() {
                return Err(thrown(js, &CoreError::replacement()));
            }
        }
        let id = js.text(target_id)?;
        let text = args::template_text(js, target_id)?;
        let role = {
            let session = &self.state.borrow().session;
            let checked = session.check_edit(session.tree().leaf(), id.as_deref(), || text.clone());
            let row = checked.or_throw(js)?;
            session.tree().row(row).and_then(|row| row.role())
        };
        if let (Some(text), true, true) = (content, is_text, role.is_some_and(needs_block_list)) {
            let blocks = factory::call(js, FactoryFn::TextBlock, &[text])?;
            replacement = js.record(&[(c"content", blocks)])?;
        }
        let head = NewHead { target: id, ..NewHead::default() };
        let own = js.record(&[(c"targetId", target_id), (c"replacement", replacement)])?;
        self.append_for_id(env, PendingEntry { head, ..PendingEntry::entry(EntryKind::ContextEdit, own) })
    }

    /// Appends a label for an entry; undefined or an empty text clears it. Gives the label entry's id.
    ///
    /// @throws If no entry has this id: `Entry <id> not found`. And as `appendMessage` does.
    /// @example
    /// ```ts
    /// manager.appendLabelChange(id, "before the change");
    /// console.log(manager.getLabel(id)); // → before the change
    /// ```
    #[napi(catch_unwind, ts_args_type = "targetId: string, label: string | undefined", ts_return_type = "string")]
    pub fn append_label_change<'env>(
        &self,
        env: &'env Env,
        target_id: JsVal<'env>,
        label: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        self.check_writable(js)?;
        self.known(js, target_id)?;
        let head = NewHead { target: js.text(target_id)?, sets_label: js.is_truthy(label)?, ..NewHead::default() };
        let own = js.record(&[(c"targetId", target_id), (c"label", label)])?;
        self.append_for_id(env, PendingEntry { head, ..PendingEntry::entry(EntryKind::Label, own) })
    }
}
