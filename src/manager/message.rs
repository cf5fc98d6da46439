//! Appending a message: everything that is needed from it is read in one call into JavaScript.

use napi::Result;

use super::append::PendingEntry;
use super::state::ManagerState;
use crate::convert::errors::wrong_argument;
use crate::convert::text::written_text;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, scratch, FactoryFn};
use pi_session_core::addon::{MessageHead, NewHead, TextNeed};
use pi_session_core::agent_message::Role;
use pi_session_core::EntryKind;

/// The new entry of a message. The caller's code may run.
pub fn new_message<'env>(
    state: &std::cell::RefCell<ManagerState>,
    js: JsEnv<'env>,
    message: JsVal<'env>,
) -> Result<PendingEntry<'env>> {
    let (need, generation) = {
        let state = state.borrow();
        (state.session.text_need(), state.generation)
    };
    if need == TextNeed::OfConversation && js.is_nullish(message)? {
        return Err(wrong_argument(js, "message must be an object"));
    }
    let text = factory::call(js, FactoryFn::Message, &[message, js.number(f64::from(need as u8))?])?;
    let [role, lacks_content, time, _] = scratch(js)?;
    let text = written_text(js, text)?;
    // The caller's code has run. It may have moved the manager to another session.
    if state.borrow().generation != generation {
        return Err(wrong_argument(js, "The manager went to another session while a value was written"));
    }
    let known = Role::NAMED.get(role as usize).map_or(Role::Other, |(role, _)| *role);
    let head = MessageHead { role: known, lacks_content: lacks_content != 0.0 };
    let head = NewHead { message: (role >= 0.0).then_some(head), ..NewHead::default() };
    Ok(PendingEntry { text, head, time: Some(time), ..PendingEntry::entry(EntryKind::Message, message) })
}
