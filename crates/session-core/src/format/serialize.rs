//! The line of a new entry.

use std::borrow::Cow;

use super::entry::{head_of, EntryHead, EntryKind, LineFields, Parent};
use super::message_head::MessageHead;
use crate::base::error::{Error, Result};
use crate::base::memory::{self, append, reserve};
use crate::base::time::Time;
use crate::base::wtf8::push_json_string;
use crate::json::reader::read;

/// The envelope of a new entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    pub id: String,
    /// The id of the leaf, WTF-8; None for a root.
    pub parent: Option<Vec<u8>>,
    /// The entry's time, ms since 1970.
    pub time: f64,
    /// The entry's time in ISO 8601, with milliseconds and `Z`.
    pub timestamp: String,
}

/// The line of an entry without its newline. `own` is the JSON text of an object with its own fields. Fails with an
/// internal error if it is not an object.
pub fn line(kind: EntryKind, envelope: &Envelope, own: &[u8]) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    push_line(&mut line, kind, envelope, own)?;
    Ok(line)
}

/// Appends the line of an entry without its newline, see [`line()`].
pub(crate) fn push_line(out: &mut Vec<u8>, kind: EntryKind, envelope: &Envelope, own: &[u8]) -> Result<()> {
    let own = own.strip_prefix(b"{").and_then(|own| own.strip_suffix(b"}"));
    let own = own.ok_or_else(|| Error::internal("an entry's own fields are not the JSON of an object"))?.trim_ascii();
    // Enough memory for most lines: escaping reserves six times the length of a text.
    reserve(out, own.len() + 512)?;
    out.extend_from_slice(b"{\"type\":");
    push_json_string(out, kind.name().as_bytes())?;
    if kind.facts().is_envelope_last {
        push_own(out, own)?;
        push_envelope(out, envelope)?;
    } else {
        push_envelope(out, envelope)?;
        push_own(out, own)?;
    }
    Ok(append(out, b"}")?)
}

fn push_own(out: &mut Vec<u8>, own: &[u8]) -> memory::Result<()> {
    append(out, if own.is_empty() { b"" } else { b"," })?;
    append(out, own)
}

fn push_envelope(out: &mut Vec<u8>, envelope: &Envelope) -> memory::Result<()> {
    append(out, b",\"id\":")?;
    push_json_string(out, envelope.id.as_bytes())?;
    append(out, b",\"parentId\":")?;
    match &envelope.parent {
        Some(parent) => push_json_string(out, parent)?,
        None => append(out, b"null")?,
    }
    append(out, b",\"timestamp\":")?;
    push_json_string(out, envelope.timestamp.as_bytes())
}

/// The part of a new entry that the index stores, without its envelope. It must agree with the own fields; otherwise
/// the tree differs after the file is opened again. [`NewHead::of`] reads it from the own fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewHead {
    /// Set for a message entry whose message is an object.
    pub message: Option<MessageHead>,
    /// The first kept entry of a compaction, or the target of a label or a context edit.
    pub target: Option<Vec<u8>>,
    /// Whether a label entry sets a label.
    pub sets_label: bool,
    /// Whether the entry's summary is not empty.
    pub has_summary: bool,
}

impl NewHead {
    /// The head of an entry with these own fields, which come from a caller. Fails unless they are one line with the
    /// JSON of an object without a key of the envelope.
    pub fn of(kind: EntryKind, own: &[u8]) -> Result<Self> {
        let wrong = |what: &str| Error::invalid(format!("The own fields of an entry {what}"));
        if kind == EntryKind::Unknown {
            return Err(Error::invalid("An entry of an unknown kind cannot be written"));
        }
        let fields = std::str::from_utf8(own).ok().filter(|text| text.starts_with('{') && text.ends_with('}'));
        let fields = fields.and_then(read::<LineFields<'_>>);
        let mut fields = fields.ok_or_else(|| wrong("must be the JSON of an object"))?;
        if own.contains(&b'\n') {
            return Err(wrong("must be written in one line"));
        }
        if [&fields.kind, &fields.id, &fields.parent, &fields.timestamp].iter().any(|field| field.is_some()) {
            return Err(wrong("must not have type, id, parentId or timestamp"));
        }
        let name = format!("\"{}\"", kind.name());
        fields.kind = read(&name);
        let head = head_of(&fields, Cow::Borrowed(b""), fields.message_head()?)?;
        Ok(Self {
            message: head.message,
            target: head.target.map(Cow::into_owned),
            sets_label: head.sets_label,
            has_summary: head.has_summary,
        })
    }

    /// The head of the whole entry.
    pub fn with<'a>(&'a self, kind: EntryKind, envelope: &'a Envelope) -> EntryHead<'a> {
        EntryHead {
            kind,
            id: Cow::Borrowed(envelope.id.as_bytes()),
            parent: match &envelope.parent {
                Some(parent) => Parent::Id(Cow::Borrowed(parent)),
                None => Parent::Null,
            },
            time: Time::At(envelope.time),
            message: self.message,
            target: self.target.as_deref().map(Cow::Borrowed),
            sets_label: self.sets_label,
            has_summary: self.has_summary,
        }
    }
}

#[cfg(test)]
mod tests;
