//! Reads the caller's objects for the core, into the same structs of fields as lines of a file.
//!
//! Only the needed fields are read, each by one property access, and kept as handles ([`FieldValue`]).

use std::borrow::Cow;

use napi::Result;

use super::agent_message::message_head;
use super::errors::OrThrow;
use crate::engine::{JsEnv, JsVal};
use pi_session_core::addon::memory::OutOfMemory;
use pi_session_core::addon::{head_of, memory, EntryFields, EntryHead, Value};

/// A JavaScript value that is decoded only when a method asks for it.
pub struct FieldValue<'env> {
    js: JsEnv<'env>,
    value: JsVal<'env>,
}

impl<'env> FieldValue<'env> {
    /// A value of the current call.
    pub fn of(js: JsEnv<'env>, value: JsVal<'env>) -> Self {
        Self { js, value }
    }

    /// Whether it is undefined.
    pub fn is_undefined(&self) -> bool {
        self.js.is_undefined(self.value).unwrap_or(false)
    }

    /// The value itself.
    pub fn value(&self) -> JsVal<'env> {
        self.value
    }
}

impl Value for FieldValue<'_> {
    fn text(&self) -> memory::Result<Option<Cow<'_, [u8]>>> {
        // Only an allocation can fail here. Its exception stays pending, and is thrown in the end.
        let text = self.js.text(self.value).map_err(|_| OutOfMemory)?;
        Ok(text.map(Cow::Owned))
    }

    fn number(&self) -> Option<f64> {
        self.js.number_value(self.value).ok().flatten()
    }

    fn is_null(&self) -> bool {
        self.js.is_nullish(self.value).unwrap_or(false)
    }

    fn is_truthy(&self) -> bool {
        self.js.is_truthy(self.value).unwrap_or(false)
    }

    fn boolean(&self) -> Option<bool> {
        self.js.boolean_value(self.value).ok().flatten()
    }
}

/// Reads a field of an object; None if it is undefined. Fails if a getter throws.
pub fn field<'env>(js: JsEnv<'env>, object: JsVal<'env>, name: &str) -> Result<Option<FieldValue<'env>>> {
    let value = js.get_key(object, js.string(name.as_bytes())?)?;
    Ok(if js.is_undefined(value)? { None } else { Some(FieldValue::of(js, value)) })
}

/// The fields of the caller's entry that the index reads.
pub type JsEntryFields<'env> = EntryFields<FieldValue<'env>, FieldValue<'env>>;

/// Reads an entry of the caller and passes on its head. An entry without a string id has an empty id.
pub fn with_entry_head<T>(
    js: JsEnv<'_>,
    value: JsVal<'_>,
    then: impl FnOnce(&JsEntryFields<'_>, EntryHead<'_>) -> T,
) -> Result<T> {
    let field = |name| field(js, value, name);
    let fields = JsEntryFields {
        kind: field("type")?,
        id: field("id")?,
        parent: field("parentId")?,
        timestamp: field("timestamp")?,
        message: field("message")?,
        first_kept: field("firstKeptEntryId")?,
        target: field("targetId")?,
        label: field("label")?,
        summary: field("summary")?,
        ..JsEntryFields::default()
    };
    let message = match &fields.message {
        Some(message) => message_head(js, message.value())?,
        None => None,
    };
    let id = fields.id.as_ref().map_or(Ok(None), Value::text).or_throw(js)?;
    let head = head_of(&fields, id.unwrap_or_default(), message).or_throw(js)?;
    Ok(then(&fields, head))
}
