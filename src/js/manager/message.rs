//! A message that is appended: everything that is needed of it, read by one call into JavaScript.

use napi::Result;

use super::append::{ArraySlot, OwnFields, PendingEntry};
use super::state::ManagerState;
use crate::js::convert::errors::wrong_argument;
use crate::js::convert::text::text_of;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, scratch, FactoryFn};
use pi_session_core::format::agent_message::{MessageHead, Role};
use pi_session_core::format::entry::EntryKind;
use pi_session_core::format::serialize::NewHead;
use pi_session_core::session::text_need::TextNeed;

/// The new entry of a message, its own fields at the end of the manager's array of entries. The caller's code may run.
pub fn new_message<'env>(
    state: &std::cell::RefCell<ManagerState>,
    js: JsEnv<'env>,
    message: JsVal<'env>,
) -> Result<PendingEntry<'env>> {
    let (array, wants, generation) = {
        let state = state.borrow();
        (state.cache.list(js)?, TextNeed::by(&state.session), state.generation)
    };
    if wants == TextNeed::OfConversation && js.is_nullish(message)? {
        return Err(wrong_argument(js, "message must be an object"));
    }
    let text = factory::call(js, FactoryFn::Message, &[array, message, js.number(f64::from(wants as u8))?])?;
    let [role, lacks_content, time, index] = scratch(js)?;
    let head = MessageHead { role: Role::from_code(role as usize), lacks_content: lacks_content != 0.0 };
    let slot = ArraySlot { array, index: index as u32 };
    let text = text_of(js, text).map_err(|error| slot.remove_again(js, error))?;
    // The caller's code has run. It may have moved the manager to another session, which has another array.
    if state.borrow().generation != generation {
        let error = wrong_argument(js, "The manager went to another session while a value was written");
        return Err(slot.remove_again(js, error));
    }
    let head = NewHead { message: (role >= 0.0).then_some(head), ..NewHead::default() };
    Ok(PendingEntry { text, time: Some(time), ..PendingEntry::with_own(EntryKind::Message, OwnFields::InArray(slot)) }
        .with_head(head))
}
