//! The session header: the file's first line, which is not part of the tree.

use serde::{Deserialize, Serialize};

use super::ids::check_session_id;
use crate::base::error::Result;
use crate::base::memory::{self, copy_of, OutOfMemory};
use crate::base::packed;
use crate::base::time::timestamp;
use crate::json::reader::{read, Raw};
use crate::json::string::owned_string;
use crate::json::{fields, ObjectText, Value};

/// The version of the files that we write.
pub const CURRENT_VERSION: u32 = 3;

fields! {
    /// The fields of a header that the core reads.
    #[doc(hidden)]
    pub(crate) struct HeaderFields<V> {
        kind: V = "type",
        id: V = "id",
        version: V = "version",
        timestamp: V = "timestamp",
        cwd: V = "cwd",
        parent_session: V = "parentSession",
        /// `parentSession` in versions 1 and 2.
        branched_from: V = "branchedFrom",
    }
}

/// A header, read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The session's id, WTF-8.
    pub id: Vec<u8>,
    /// The version, which decides about migrations.
    pub version: Version,
    /// The working directory; None if the header's value is not a string.
    pub cwd: Option<Vec<u8>>,
    /// The creation time, as JSON text.
    pub timestamp_json: Option<String>,
    /// The session that this one was forked or branched from.
    pub parent: Option<ParentSession>,
}

/// The `parentSession` of a header.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ParentSession {
    /// The parent's path, WTF-8.
    #[serde(deserialize_with = "packed::bytes")]
    Path(Vec<u8>),
    /// The JSON text of a value that is not a string: lists show it unchanged.
    #[serde(deserialize_with = "packed::boxed_text")]
    Other(Box<str>),
}

impl ParentSession {
    fn of(raw: Raw<'_>) -> memory::Result<Self> {
        Ok(match owned_text(Some(raw))? {
            Some(text) => Self::Path(text),
            None => Self::Other(copy_of(raw.get())?.into_boxed_str()),
        })
    }
}

/// The version in a header, as far as migrations distinguish versions.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Version {
    /// 1 or missing: entries have no ids.
    V1,
    /// 2: messages of extensions have the role `hookMessage`.
    V2,
    /// 3 or more, or not a number: nothing is migrated.
    Current,
}

impl Version {
    /// The version by JavaScript's comparisons: a missing or null one is 1, and a value that is not a number is
    /// current.
    #[doc(hidden)]
    pub fn of(value: Option<&impl Value>) -> memory::Result<Self> {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Ok(Version::V1);
        };
        let number = match (value.number(), value.boolean(), value.text()?) {
            (Some(number), ..) => Some(number),
            (_, Some(flag), _) => Some(f64::from(u8::from(flag))),
            (.., Some(text)) => number_in(&text),
            _ => None,
        };
        Ok(match number {
            Some(n) if n < 2.0 => Version::V1,
            Some(n) if n < f64::from(CURRENT_VERSION) => Version::V2,
            _ => Version::Current,
        })
    }
}

/// Converts a decimal text to a number as JavaScript does.
fn number_in(text: &[u8]) -> Option<f64> {
    match std::str::from_utf8(crate::base::wtf8::trim(text)) {
        Ok("") => Some(0.0),
        Ok(text) if text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E')) => {
            text.parse().ok()
        }
        _ => None,
    }
}

impl Header {
    /// Reads the first line that is JSON. None if it is not a header: an object of type `session` with a string id.
    pub fn read(line: &str) -> Result<Option<Self>, OutOfMemory> {
        let Some(fields) = read::<HeaderFields<Raw<'_>>>(line) else { return Ok(None) };
        let Some(kind) = fields.kind else { return Ok(None) };
        if kind.text()?.as_deref() != Some(b"session") {
            return Ok(None);
        }
        let Some(id) = owned_text(fields.id)? else { return Ok(None) };
        Ok(Some(Self {
            id,
            version: Version::of(fields.version.as_ref())?,
            cwd: owned_text(fields.cwd)?,
            timestamp_json: fields.timestamp.map(|raw| copy_of(raw.get())).transpose()?,
            parent: match fields.parent_session {
                Some(parent) => Some(ParentSession::of(parent)?),
                None => owned_text(fields.branched_from)?.map(ParentSession::Path),
            },
        }))
    }
}

fn owned_text(value: Option<Raw<'_>>) -> memory::Result<Option<Vec<u8>>> {
    value.map_or(Ok(None), |raw| owned_string(raw.get()))
}

/// The fields of a new session's header.
#[derive(Debug, Clone, Copy)]
pub struct NewHeader<'a> {
    /// The session's id, which becomes part of file names. [`session_id`](super::ids::session_id) makes one.
    pub id: &'a str,
    /// The working directory.
    pub cwd: &'a str,
    /// The path of the session that this one continues, if any.
    pub parent: Option<&'a str>,
    /// The creation time, ms since 1970.
    pub time: f64,
}

impl NewHeader<'_> {
    /// The name that pi gives to the session's file. Fails if the id or the time cannot be used.
    pub fn file_name(&self) -> Result<String> {
        check_session_id(self.id.as_bytes())?;
        Ok(new_file_name(&timestamp(self.time)?, self.id.as_bytes()))
    }

    /// The header's line without its newline. Fails if the id or the time cannot be used.
    pub(crate) fn line(&self) -> Result<Vec<u8>> {
        check_session_id(self.id.as_bytes())?;
        Ok(new_header_line(self.id, &timestamp(self.time)?, self.cwd, self.parent)?)
    }
}

/// The name of a new session's file.
#[doc(hidden)]
pub fn new_file_name(timestamp: &str, id: &[u8]) -> String {
    format!("{}_{}.jsonl", timestamp.replace([':', '.'], "-"), String::from_utf8_lossy(id))
}

/// The line of a new header without its newline. The keys are in pi's order.
pub(crate) fn new_header_line(id: &str, timestamp: &str, cwd: &str, parent: Option<&str>) -> memory::Result<Vec<u8>> {
    let quoted = |text: &str| crate::json::quoted(text.as_bytes());
    let mut line = ObjectText::default();
    line.set("type", "\"session\"")?;
    line.set("version", CURRENT_VERSION.to_string())?;
    line.set("id", quoted(id)?)?;
    line.set("timestamp", quoted(timestamp)?)?;
    line.set("cwd", quoted(cwd)?)?;
    if let Some(parent) = parent {
        line.set("parentSession", quoted(parent)?)?;
    }
    line.text()
}

#[cfg(test)]
mod tests;
