//! The messages of the context: the messages that entries add to it, after their edits.

use napi::{Result, ValueType};

use crate::convert::errors::{wrong_argument, OrThrow};
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::memory::{collect, push};
use pi_session_core::addon::{edited, Edited};
use pi_session_core::agent_message::Role;
use pi_session_core::projection::{Contribution, Projection};
use pi_session_core::RowNo;

/// The result of the factory's function `project` or `context` for a projection of the entries in a list.
pub fn projected<'env>(
    js: JsEnv<'env>,
    list: JsVal<'env>,
    projection: &Projection,
    how: FactoryFn,
) -> Result<JsVal<'env>> {
    let rows = collect(projection.steps.iter().map(|step| step.row)).or_throw(js)?;
    let gives = collect(projection.steps.iter().map(|step| step.gives.code())).or_throw(js)?;
    let (mut positions, mut lists) = (Vec::new(), Vec::new());
    for (at, step) in projection.steps.iter().enumerate() {
        let Some(edit) = step.edit.filter(|_| step.gives != Contribution::Nothing) else { continue };
        let edited = edited_messages(js, js.at(list, step.row)?, step.gives, js.at(list, edit)?)?;
        push(&mut positions, at as u32).and_then(|()| push(&mut lists, edited)).or_throw(js)?;
    }
    let [positions, lists] =
        if positions.is_empty() { [js.undefined()?; 2] } else { [js.u32s(&positions)?, js.array_of(&lists)?] };
    factory::call(js, how, &[list, js.u32s(&rows)?, js.u8s(&gives)?, positions, lists])
}

/// The context of a projection of the entries in a list: the result of `how`, passed to `wrap` with its thinking level
/// and its model.
pub fn context<'env>(
    js: JsEnv<'env>,
    list: JsVal<'env>,
    projection: &Projection,
    is_message: &dyn Fn(RowNo) -> bool,
    how: FactoryFn,
    wrap: FactoryFn,
) -> Result<JsVal<'env>> {
    let made = projected(js, list, projection, how)?;
    let thinking_level = match projection.settings.thinking_level {
        Some(row) => js.get(js.at(list, row)?, c"thinkingLevel")?,
        None => js.string(b"off")?,
    };
    let model = match projection.settings.model {
        Some(row) => factory::call(js, FactoryFn::ModelOf, &[js.at(list, row)?, js.boolean(is_message(row))?])?,
        None => js.null()?,
    };
    factory::call(js, wrap, &[made, thinking_level, model])
}

/// The messages that an entry adds, before any edit.
pub fn messages<'env>(js: JsEnv<'env>, entry: JsVal<'env>, gives: Contribution) -> Result<JsVal<'env>> {
    factory::call(js, FactoryFn::Messages, &[entry, js.number(f64::from(gives.code()))?])
}

/// The messages that an entry adds, after an edit.
pub fn edited_messages<'env>(
    js: JsEnv<'env>,
    entry: JsVal<'env>,
    gives: Contribution,
    edit: JsVal<'env>,
) -> Result<JsVal<'env>> {
    let value = js.get(edit, c"replacement")?;
    match js.kind(value)? {
        ValueType::Undefined => return messages(js, entry, gives),
        ValueType::Null => return js.array(0),
        _ => {}
    }
    let content = js.get(value, c"content")?;
    let is_text = js.kind(content)? == ValueType::String;
    if let Contribution::Made(kind) = gives {
        // The replaced content is not read, because it may be large.
        if kind.made().is_some_and(|made| edited(made.role(), is_text) != Edited::Unchanged) {
            let code = js.number(f64::from(gives.code()))?;
            return js.array_of(&[factory::call(js, FactoryFn::EditedMessage, &[entry, code, content])?]);
        }
    }
    let originals = messages(js, entry, gives)?;
    let mut changed = Vec::new();
    for at in 0..js.len(originals)? {
        let message = js.at(originals, at)?;
        if js.is_nullish(message)? {
            return Err(wrong_argument(js, "A message that is edited must be an object"));
        }
        let role = js.text(js.get(message, c"role")?)?;
        let role = role.map_or(Role::Other, |name| Role::from_name(&name));
        let content = match edited(role, is_text) {
            Edited::Unchanged => {
                changed.push(message);
                continue;
            }
            Edited::WithContent => content,
            Edited::WithTextBlock => factory::call(js, FactoryFn::TextBlock, &[content])?,
        };
        changed.push(factory::call(js, FactoryFn::WithContent, &[message, content])?);
    }
    js.array_of(&changed)
}
