//! The system message in a compaction, replayed from the objects of a projection.

use std::cell::RefCell;

use napi::{Result, ValueType};

use super::context_messages::projected;
use super::reads::{ensured, leaf_projection};
use super::state::ManagerState;
use crate::convert::args::template_text;
use crate::convert::errors::{wrong_argument, OrThrow};
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::memory::{collect, joined, push};
use pi_session_core::addon::{replay, Date, SystemMessage};
use pi_session_core::agent_message::Role;
use pi_session_core::projection::{Contribution, Projection, Settings, Step};

/// The system message at the leaf, dated `timestamp` (ms since 1970); None if there is none.
pub fn system_message<'env>(
    state: &RefCell<ManagerState>,
    js: JsEnv<'env>,
    timestamp: f64,
) -> Result<Option<JsVal<'env>>> {
    let prompts = prompts(state, js)?;
    let messages = projected(js, ensured(state, js, &prompts)?, &prompts, FactoryFn::Context)?;
    let mut parts = Vec::new();
    for at in 0..js.len(messages)? {
        let message = js.at(messages, at)?;
        if js.is_object(message)? && js.text(js.get(message, c"role")?)?.as_deref() == Some(b"system") {
            let part = read(js, message)?;
            push(&mut parts, part).or_throw(js)?;
        }
    }
    let Some(replayed) = replay(parts).or_throw(js)? else {
        return Ok(None);
    };
    let object = js.object()?;
    let set = |key: &[u8], value: JsVal<'_>| js.define(object, js.string(key)?, value);
    set(b"role", js.string(b"system")?)?;
    set(b"content", js.string(&replayed.content)?)?;
    if !replayed.sections.is_empty() {
        let sections = js.object()?;
        for (name, value) in &replayed.sections {
            js.define(sections, js.string(name)?, *value)?;
        }
        set(b"sections", sections)?;
    }
    if !replayed.tools.is_empty() {
        let tools = collect(replayed.tools.iter().map(|(_, tool)| *tool)).or_throw(js)?;
        set(b"toolsAdded", js.array_of(&tools)?)?;
    }
    set(b"timestamp", js.number(timestamp)?)?;
    Ok(Some(object))
}

/// The entries of the context at the leaf that may be system messages. No other entry is read to find them.
fn prompts(state: &RefCell<ManagerState>, js: JsEnv<'_>) -> Result<Projection> {
    let mut projection = leaf_projection(state, js)?;
    let state = state.borrow();
    let role = |row| state.session.tree().row(row).and_then(|row| row.role());
    let has_prompt =
        |gives| matches!(gives, Contribution::Made(kind) if kind.made().is_some_and(|made| made.before.is_some()));
    let may_be = |step: &Step| has_prompt(step.gives) || role(step.row) == Some(Role::System);
    projection.steps.retain(may_be);
    projection.settings = Settings::default();
    Ok(projection)
}

fn read<'env>(js: JsEnv<'env>, message: JsVal<'env>) -> Result<SystemMessage<JsVal<'env>>> {
    let mut sections = Vec::new();
    let given = js.get(message, c"sections")?;
    if js.is_object(given)? {
        each(js, factory::call(js, FactoryFn::EntriesOf, &[given])?, &mut |pair| {
            let (name, value) = (js.at(pair, 0)?, js.at(pair, 1)?);
            let value = Some(value).filter(|value| !js.kind(*value).is_ok_and(|kind| kind == ValueType::Null));
            let name = js.text(name)?.unwrap_or_default();
            push(&mut sections, (name, value)).or_throw(js)
        })?;
    }
    let mut removed = Vec::new();
    each(js, js.get(message, c"toolsRemoved")?, &mut |tool| {
        let key = key(js, tool)?;
        push(&mut removed, key).or_throw(js)
    })?;
    let mut added = Vec::new();
    each(js, js.get(message, c"toolsAdded")?, &mut |tool| {
        let key = key(js, tool)?;
        push(&mut added, (key, tool)).or_throw(js)
    })?;
    let date = match js.kind(js.get(message, c"timestamp")?)? {
        ValueType::Undefined => Date::Missing,
        ValueType::Null => Date::Null,
        _ => Date::Given,
    };
    Ok(SystemMessage { text: content_text(js, js.get(message, c"content")?)?, sections, removed, added, date })
}

/// The key of a tool's name. A name that is not a text gets a key that no text has.
fn key(js: JsEnv<'_>, tool: JsVal<'_>) -> Result<Vec<u8>> {
    if js.is_nullish(tool)? {
        return Err(wrong_argument(js, "A system message's tools must be objects"));
    }
    let name = js.get(tool, c"name")?;
    if let Some(text) = js.text(name)? {
        return joined(&[b"text ".as_slice(), &text], b"").or_throw(js);
    }
    let kind = js.kind(name)?;
    let text = if kind == ValueType::Symbol { String::new() } else { template_text(js, name)? };
    Ok(format!("{kind} {text}").into_bytes())
}

/// A content's text: the text itself, or its text blocks joined by line feeds.
fn content_text(js: JsEnv<'_>, content: JsVal<'_>) -> Result<Vec<u8>> {
    if let Some(text) = js.text(content)? {
        return Ok(text);
    }
    let mut texts = Vec::new();
    each(js, content, &mut |block| {
        if js.is_object(block)? && js.text(js.get(block, c"type")?)?.as_deref() == Some(b"text") {
            let text = js.text(js.get(block, c"text")?)?.unwrap_or_default();
            push(&mut texts, text).or_throw(js)?;
        }
        Ok(())
    })?;
    joined(&texts, b"\n").or_throw(js)
}

fn each<'env>(js: JsEnv<'env>, list: JsVal<'env>, work: &mut dyn FnMut(JsVal<'env>) -> Result<()>) -> Result<()> {
    if js.is_array(list)? {
        for at in 0..js.len(list)? {
            work(js.at(list, at)?)?;
        }
    }
    Ok(())
}
