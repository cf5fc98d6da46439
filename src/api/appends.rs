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
    #[napi(catch_unwind)]
    pub fn append_message<'env>(&self, env: &'env Env, message: JsVal<'env>) -> Result<JsVal<'env>> {
        let new = new_message(&self.state, JsEnv::new(env), message)?;
        self.append_for_id(env, new)
    }

    #[napi(catch_unwind)]
    pub fn append_thinking_level_change<'env>(&self, env: &'env Env, level: JsVal<'env>) -> Result<JsVal<'env>> {
        let own = JsEnv::new(env).record(&[(c"thinkingLevel", level)])?;
        self.append_for_id(env, PendingEntry::entry(EntryKind::ThinkingLevelChange, own))
    }

    #[napi(catch_unwind)]
    pub fn append_model_change<'env>(
        &self,
        env: &'env Env,
        provider: JsVal<'env>,
        model_id: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let own = JsEnv::new(env).record(&[(c"provider", provider), (c"modelId", model_id)])?;
        self.append_for_id(env, PendingEntry::entry(EntryKind::ModelChange, own))
    }

    #[napi(catch_unwind)]
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

    #[napi(catch_unwind)]
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

    #[napi(catch_unwind)]
    pub fn append_custom_entry<'env>(
        &self,
        env: &'env Env,
        custom_type: JsVal<'env>,
        data: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let own = JsEnv::new(env).record(&[(c"customType", custom_type), (c"data", data)])?;
        self.append_for_id(env, PendingEntry::entry(EntryKind::Custom, own))
    }

    #[napi(catch_unwind)]
    pub fn append_session_info<'env>(&self, env: &'env Env, name: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let name = one_line(&args::text(js, name, "name")?).or_throw(js)?;
        let own = js.record(&[(c"name", js.string(&name)?)])?;
        self.append_for_id(env, PendingEntry::entry(EntryKind::SessionInfo, own))
    }

    #[napi(catch_unwind)]
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

    #[napi(catch_unwind)]
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

    #[napi(catch_unwind)]
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
