//! The numbers by which the core and the factory refer to names, created from the core's types.

use napi::Result;
use serde_json::json;

use crate::engine::{to_js, JsEnv, JsVal};
use pi_session_core::addon::{BodyOf, TextNeed, BODY_PLACEHOLDER};
use pi_session_core::agent_message::Role;
use pi_session_core::projection::Contribution;
use pi_session_core::EntryKind;

/// Replaces a long string in a text that the engine writes. It needs no escape.
pub const STRING_PLACEHOLDER: &str = "\u{7f}";
/// The smallest length of a long string, in units. Removing a shorter one costs more than it saves.
const LONG: usize = 256;

/// The object from which the factory reads its codes.
pub fn codes<'env>(js: JsEnv<'env>) -> Result<JsVal<'env>> {
    let mut made = vec![None; usize::from(Contribution::MADE)];
    made.extend(EntryKind::NAMED.map(|(kind, _)| kind.made()));
    let codes = json!({
        "roles": Role::NAMED.map(|(_, name)| name),
        "conversation": Role::NAMED.map(|(role, _)| role.is_conversation()),
        "contribution": {
            "NOTHING": Contribution::Nothing.code(),
            "MESSAGE": Contribution::Message.code(),
            "MESSAGE_EMPTY_LIST": Contribution::MessageEmptyList.code(),
            "MESSAGE_EMPTY_TEXT": Contribution::MessageEmptyText.code(),
        },
        // The messages that entries make, by code; null becomes undefined.
        "made": made,
        "textNeed": { "ALWAYS": TextNeed::Always as u8, "OF_CONVERSATION": TextNeed::OfConversation as u8 },
        "bodyOfMessage": {
            "content": BodyOf::MessageContent as u8,
            "details": BodyOf::MessageDetails as u8,
            "data": 0,
        },
        "bodyOfEntry": {
            "content": BodyOf::Content as u8,
            "details": BodyOf::Details as u8,
            "data": BodyOf::Data as u8,
        },
        "bodyPlaceholder": BODY_PLACEHOLDER,
        "stringPlaceholder": STRING_PLACEHOLDER,
        "longString": LONG,
    });
    to_js(js, &codes)
}
