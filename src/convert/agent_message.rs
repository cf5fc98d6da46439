//! How an `AgentMessage` crosses between JavaScript and the core.
//!
//! - **From the caller**: the object itself is kept, and returned later. The index stores its role and whether it has
//!   content ([`message_head`]); the line is the result of `JSON.stringify`. An append reads all of that in one call of
//!   the factory's `message`, which leaves the long strings of a plain message to [`super::text`]. Walking over the
//!   object through Node-API, key by key, would take four times as long as `JSON.stringify` of a message without its
//!   long strings (2.1 µs and 0.5 µs for a tool result), and would have to repeat each rule of `JSON.stringify`.
//! - **From a line**: the core indexes the line's fields (`format/message_head.rs`), and the object is created from the
//!   line's text: a batch of lines by the engine's `JSON.parse`, without their bodies. The bodies are read at their
//!   first use (`factory/lazy.js`) and created by serde ([`super::values`]).
//!
//! serde creates JavaScript's values directly from the text. The core's `AgentMessage`, which is for Rust programs, is
//! not used in between, because the order of keys and lone surrogates must survive.

use napi::Result;

use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::MessageHead;
use pi_session_core::agent_message::Role;

/// The indexed part of a message; None if the value is not an object.
pub fn message_head(js: JsEnv<'_>, value: JsVal<'_>) -> Result<Option<MessageHead>> {
    if !js.is_object(value)? {
        return Ok(None);
    }
    let role = js.text(js.get(value, c"role")?)?;
    let role = role.map_or(Role::Other, |name| Role::from_name(&name));
    let lacks_content = factory::call(js, FactoryFn::LacksContent, &[value])?;
    Ok(Some(MessageHead { role, lacks_content: js.is_truthy(lacks_content)? }))
}
