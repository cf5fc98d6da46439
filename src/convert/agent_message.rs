//! How an `AgentMessage` crosses between JavaScript and the core.
//!
//! - **From the caller**: the object itself is kept and later given back. The index takes its role and whether it has
//!   content ([`message_head`]); the line is what `JSON.stringify` makes of it. An append reads all of that in one call
//!   of the factory's `message`, which leaves the long strings of a plain message to [`super::text`].
//!   A walk over the object through Node-API, key by key, takes four times as long as `JSON.stringify` of a message without
//!   its long strings (2.1 µs and 0.5 µs for a tool result), and would have to know each of its rules.
//! - **From a line**: the core indexes the line's fields (`format/message_head.rs`); the object is made of the line's text: a batch of
//!   lines by the engine's `JSON.parse`, without their bodies, which are read on first access (`factory/lazy.js`) and made by serde
//!   ([`super::values`]).
//!
//! serde makes JavaScript's values of the text itself. The core's `AgentMessage`, which is for programs in Rust, is not between the two, so
//! that the order of keys and lone surrogates survive.

use napi::Result;

use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::MessageHead;
use pi_session_core::agent_message::Role;

/// What the index takes from a message; None for what is not an object.
pub fn message_head(js: JsEnv<'_>, value: JsVal<'_>) -> Result<Option<MessageHead>> {
    if !js.is_object(value)? {
        return Ok(None);
    }
    let role = js.text(js.get(value, c"role")?)?;
    let role = role.map_or(Role::Other, |name| Role::from_name(&name));
    let lacks_content = factory::call(js, FactoryFn::LacksContent, &[value])?;
    Ok(Some(MessageHead { role, lacks_content: js.is_truthy(lacks_content)? }))
}
