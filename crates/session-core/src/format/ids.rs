//! Ids: of entries eight hex digits; of sessions a UUIDv7 or the caller's own id.

use std::sync::Mutex;

use uuid::timestamp::context::ContextV7;
use uuid::{Timestamp, Uuid};

use crate::base::error::{Error, Result};
use crate::base::threads::locked;

/// How many short ids are tried before a full UUID is used.
const SHORT_TRIES: usize = 100;

/// The id of an entry of version 1 that is only displayed: its number in the file, from 1 on. Such entries have no id.
pub(crate) fn numbered_id(number: usize) -> String {
    format!("{number:08}")
}

/// A new entry id: the first 8 hex digits of a v4 UUID that are not `taken`, or after 100 collisions a full UUID.
pub(crate) fn short_entry_id(taken: impl Fn(&[u8]) -> bool) -> String {
    #[cfg(test)]
    if let Some(id) = tests::chosen().filter(|id| !taken(id.as_bytes())) {
        return id;
    }
    for _ in 0..SHORT_TRIES {
        let mut digits = Uuid::encode_buffer();
        let id = Uuid::new_v4().simple().encode_lower(&mut digits).get(..8).unwrap_or_default();
        if !taken(id.as_bytes()) {
            return id.to_owned();
        }
    }
    Uuid::new_v4().hyphenated().to_string()
}

/// Keeps new session ids ascending within one millisecond, and after the clock was set back.
static SESSION_IDS: Mutex<Option<ContextV7>> = Mutex::new(None);

/// A new session id: a UUIDv7 of the time `ms`. Later ids sort after it.
pub fn session_id(ms: f64) -> String {
    let ms = if ms.is_finite() { ms.clamp(0.0, 281_474_976_710_655.0) as u64 } else { 0 };
    let mut guard = locked(&SESSION_IDS);
    let context = guard.get_or_insert_with(ContextV7::new);
    let timestamp = Timestamp::from_unix(&*context, ms / 1000, (ms % 1000) as u32 * 1_000_000);
    Uuid::new_v7(timestamp).hyphenated().to_string()
}

/// Rejects a session id that is not `[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?`, because it becomes part of a file name.
pub fn check_session_id(id: &[u8]) -> Result<()> {
    let ends_well = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if ends_well(id.first()) && ends_well(id.last()) && id.iter().all(inner) {
        Ok(())
    } else {
        Err(Error::invalid(
            "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', \
             and start and end with an alphanumeric character",
        ))
    }
}

#[cfg(test)]
pub mod tests;
