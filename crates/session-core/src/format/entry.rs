//! Entries: the classes of lines, and the part of an entry that the index stores.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::body::{Body, BodyOf, LARGE_BODY};
use super::message_head::{EntryMessage, MessageHead};
use crate::base::memory::{self, append, owned, OutOfMemory};
use crate::base::time::Time;
use crate::json::reader::{is_json, read, Raw};
use crate::json::{fields, Value};

pub use super::kinds::EntryKind;

fields! {
    /// The fields of an entry that the index reads, and the values that may be bodies. `M` is the type of the message.
    #[doc(hidden)]
    pub struct EntryFields<V, M> {
        kind: V = "type",
        id: V = "id",
        parent: V = "parentId",
        timestamp: V = "timestamp",
        message: M = "message",
        first_kept: V = "firstKeptEntryId",
        target: V = "targetId",
        label: V = "label",
        summary: V = "summary",
        content: V = "content",
        details: V = "details",
        data: V = "data",
    }
}

/// The fields of an entry, read from its line.
pub(crate) type LineFields<'a> = EntryFields<Raw<'a>, EntryMessage<'a>>;

impl LineFields<'_> {
    /// The part of the message that the index stores.
    pub fn message_head(&self) -> memory::Result<Option<MessageHead>> {
        let message = self.message.as_ref().and_then(|message| message.0.as_ref());
        message.map(|message| message.head()).transpose()
    }
}

/// An entry's `parentId`.
#[doc(hidden)]
pub type Parent<'a> = ParentAs<Cow<'a, [u8]>>;

/// An entry's `parentId`, with `T` as the type of an id.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq)]
pub enum ParentAs<T> {
    /// There is no such key.
    Missing,
    Null,
    Id(T),
    /// A number. `getChildren` finds such entries by this number.
    Number(f64),
    /// Any other value. The entry has no parent.
    Other,
}

/// The part of an entry that the index stores.
#[doc(hidden)]
pub type EntryHead<'a> = HeadAs<Cow<'a, [u8]>>;

/// As [`EntryHead`], with `T` as the type of texts.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq)]
pub struct HeadAs<T> {
    pub kind: EntryKind,
    pub id: T,
    pub parent: ParentAs<T>,
    pub time: Time,
    /// Set for a message entry whose `message` is an object.
    pub message: Option<MessageHead>,
    /// The first kept entry of a compaction, or the target of a label or a context edit.
    pub target: Option<T>,
    /// Whether a label entry sets a label; otherwise it removes one.
    pub sets_label: bool,
    /// Whether the entry has a summary that is not empty.
    pub has_summary: bool,
}

/// The class of a line of a session file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Line<'a> {
    Entry(EntryHead<'a>),
    /// A second header: neither an entry nor damage.
    Header,
    /// White space.
    Blank,
    Damaged(Damage),
}

/// The reason why a line is not an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The line is not JSON.
    NotJson,
    /// The line is JSON, but not an object.
    NotAnObject,
    /// The entry has no `id`, or its `id` is not a string.
    NoId,
    /// The line is longer than the longest line that is read.
    TooLong,
    /// The line is a header, but not the first line.
    LateHeader,
}

impl Damage {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Damage::NotJson => "not valid JSON",
            Damage::NotAnObject => "valid JSON but no object",
            Damage::NoId => "an entry without a string id",
            Damage::TooLong => "longer than 2 GiB",
            Damage::LateHeader => "a header that is not in the first line",
        }
    }
}

impl Serialize for Damage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.reason())
    }
}

/// Reads a line of a file of version 2 or later, and calls `then` with its class. Entries of version 1 have no id, so
/// they count as damaged lines.
pub(crate) fn read_line<T>(line: &str, then: impl FnOnce(Line<'_>) -> T) -> memory::Result<T> {
    read_line_and_bodies(line, usize::MAX, |line, _| then(line))
}

/// As [`read_line`]. Also passes the bodies of at least `least` bytes, in their order in the line.
pub(crate) fn read_line_and_bodies<T>(
    line: &str,
    least: usize,
    then: impl FnOnce(Line<'_>, &[Body]) -> T,
) -> memory::Result<T> {
    if let Some(fields) = read::<LineFields<'_>>(line) {
        let bodies = if line.len() < least { Vec::new() } else { bodies_in(line, &fields, least) };
        return Ok(then(of_fields(&fields)?, &bodies));
    }
    let line = if is_blank(line) {
        Line::Blank
    } else if is_json(line) {
        Line::Damaged(Damage::NotAnObject)
    } else {
        Line::Damaged(Damage::NotJson)
    };
    Ok(then(line, &[]))
}

/// The bodies of an entry's line.
pub(crate) fn bodies_of(line: &[u8]) -> memory::Result<Vec<Body>> {
    match std::str::from_utf8(line) {
        Ok(line) => read_line_and_bodies(line, LARGE_BODY, |_, bodies| bodies.to_vec()),
        Err(_) => Ok(Vec::new()),
    }
}

fn bodies_in(line: &str, fields: &LineFields<'_>, least: usize) -> Vec<Body> {
    let message = fields.message.as_ref().and_then(|message| message.0.as_ref());
    let values = [
        (BodyOf::MessageContent, message.and_then(|message| message.content)),
        (BodyOf::MessageDetails, message.and_then(|message| message.details)),
        (BodyOf::Content, fields.content),
        (BodyOf::Details, fields.details),
        (BodyOf::Data, fields.data),
    ];
    let mut bodies: Vec<_> = values.into_iter().filter_map(|(of, value)| Body::of(of, line, value, least)).collect();
    bodies.sort_unstable_by_key(|body| body.from);
    bodies
}

/// Whether a line contains only white space of JSON.
pub(crate) fn is_blank(line: &str) -> bool {
    line.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
}

fn of_fields<'a>(fields: &'a LineFields<'_>) -> memory::Result<Line<'a>> {
    if text_of(&fields.kind)?.as_deref() == Some(b"session") {
        return Ok(Line::Header);
    }
    Ok(match text_of(&fields.id)? {
        Some(id) => Line::Entry(head_of(fields, id, fields.message_head()?)?),
        None => Line::Damaged(Damage::NoId),
    })
}

/// The head of an entry with these fields, which come from a line or from an object.
#[doc(hidden)]
pub fn head_of<'a, V: Value, M>(
    fields: &'a EntryFields<V, M>,
    id: Cow<'a, [u8]>,
    message: Option<MessageHead>,
) -> Result<EntryHead<'a>, OutOfMemory> {
    let kind = text_of(&fields.kind)?.map_or(EntryKind::Unknown, |name| EntryKind::from_name(&name));
    Ok(EntryHead {
        kind,
        id,
        parent: parent_of(fields.parent.as_ref())?,
        time: time_of(fields.timestamp.as_ref())?,
        message: message.filter(|_| kind == EntryKind::Message),
        target: match kind {
            EntryKind::Compaction => text_of(&fields.first_kept)?,
            EntryKind::Label => target_key(fields.target.as_ref())?,
            EntryKind::ContextEdit => text_of(&fields.target)?,
            _ => None,
        },
        sets_label: kind == EntryKind::Label && fields.label.as_ref().is_some_and(V::is_truthy),
        has_summary: fields.summary.as_ref().is_some_and(V::is_truthy),
    })
}

fn text_of<V: Value>(value: &Option<V>) -> memory::Result<Option<Cow<'_, [u8]>>> {
    value.as_ref().map_or(Ok(None), V::text)
}

/// The key under which a label is stored: its target's id. For a target that is not a string we make a key that no
/// string has: it begins with 0xFF, which is never the first byte of WTF-8. None for an object, because nobody can look
/// up a label by an object.
#[doc(hidden)]
pub fn target_key<V: Value>(target: Option<&V>) -> Result<Option<Cow<'_, [u8]>>, OutOfMemory> {
    let odd = |key: String| {
        let mut odd = vec![0xFF];
        append(&mut odd, key.as_bytes())?;
        Ok(Some(Cow::Owned(odd)))
    };
    let Some(target) = target else {
        return odd("undefined".into());
    };
    match (target.text()?, target.number(), target.boolean()) {
        (Some(id), ..) => Ok(Some(id)),
        // Adding 0 makes -0 the same key as 0, as in JavaScript's Map.
        (_, Some(number), _) => odd(format!("{:?}", number + 0.0)),
        (.., Some(flag)) => odd(flag.to_string()),
        _ if target.is_null() => odd("null".into()),
        _ => Ok(None),
    }
}

fn parent_of<V: Value>(value: Option<&V>) -> memory::Result<Parent<'_>> {
    Ok(match value {
        None => Parent::Missing,
        Some(value) if value.is_null() => Parent::Null,
        Some(value) => match (value.text()?, value.number()) {
            (Some(id), _) => Parent::Id(id),
            (None, Some(number)) => Parent::Number(number),
            (None, None) => Parent::Other,
        },
    })
}

/// The result of `new Date(timestamp).getTime()`, or [`Time::Unparsed`].
pub(crate) fn time_of<V: Value>(value: Option<&V>) -> memory::Result<Time> {
    let Some(value) = value else {
        return Ok(Time::At(f64::NAN));
    };
    if value.is_null() {
        return Ok(Time::At(0.0));
    }
    Ok(match (value.text()?, value.number(), value.boolean()) {
        (Some(text), ..) => Time::from_text(&text),
        (_, Some(ms), _) => Time::from_number(ms),
        (.., Some(flag)) => Time::At(f64::from(u8::from(flag))),
        _ => Time::Unparsed,
    })
}

impl<T> HeadAs<T> {
    /// The head with each text converted by `each`.
    pub(crate) fn with_texts<U, E>(self, mut each: impl FnMut(T) -> Result<U, E>) -> Result<HeadAs<U>, E> {
        Ok(HeadAs {
            id: each(self.id)?,
            parent: match self.parent {
                ParentAs::Missing => ParentAs::Missing,
                ParentAs::Null => ParentAs::Null,
                ParentAs::Id(id) => ParentAs::Id(each(id)?),
                ParentAs::Number(number) => ParentAs::Number(number),
                ParentAs::Other => ParentAs::Other,
            },
            target: self.target.map(&mut each).transpose()?,
            kind: self.kind,
            time: self.time,
            message: self.message,
            sets_label: self.sets_label,
            has_summary: self.has_summary,
        })
    }
}

impl EntryHead<'_> {
    /// The head with owned texts.
    pub fn into_owned(self) -> Result<EntryHead<'static>, OutOfMemory> {
        self.with_texts(|text| Ok(Cow::Owned(owned(text)?)))
    }
}

#[cfg(test)]
mod tests;
