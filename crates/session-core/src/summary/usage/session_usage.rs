//! Collects the usage of one session, entry by entry.

use std::borrow::Cow;
use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::call::{number, short_text, time, Amounts, Call, CallErrors};
use crate::base::memory::{self, copy_of_bytes, push, OutOfMemory};
use crate::base::packed;
use crate::format::header::Version;
use crate::format::kind_facts::ModelCall;
use crate::format::kinds::EntryKind;
use crate::summary::line_scanner::{CallFields, ScannedLine};

/// How many of a session's largest entries are kept.
pub const LARGEST_KEPT: usize = 100;

/// How many different models of one session are counted by name.
const MAX_NAMES: usize = 1000;
const OTHER: &[u8] = b"(other)";

/// A large entry.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeEntry {
    /// The length of its line in bytes, with the newline.
    pub bytes: u64,
    /// The position of its line in the file.
    pub offset: u64,
}

impl LargeEntry {
    /// The sort key: the largest first; of two entries with one size the earlier.
    fn rank(&self) -> (Reverse<u64>, u64) {
        (Reverse(self.bytes), self.offset)
    }
}

/// A session that a tool result names. It contains the calls whose sum is the usage of the result.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSession {
    /// The index of the tool result in the session's list of calls.
    pub call: u32,
    /// The path of the session's file, or its id. WTF-8.
    #[serde(deserialize_with = "packed::bytes")]
    pub name: Vec<u8>,
}

/// The usage that was collected from a session.
// The catalog has it packed: a change of its fields, their order or types raises `FORMAT_VERSION` in
// `catalog/schema.rs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionUsage {
    /// The calls, in the order of the file.
    #[serde(deserialize_with = "packed::list")]
    pub calls: Vec<Call>,
    /// The sessions that tool results with usage name, in the order of the file.
    #[serde(deserialize_with = "packed::list")]
    pub named_sessions: Vec<NamedSession>,
    /// The names of the models to which calls refer. WTF-8.
    #[serde(deserialize_with = "packed::list_of_bytes")]
    pub models: Vec<Vec<u8>>,
    /// The number of entries.
    pub entries: u64,
    /// The number of bytes in their lines.
    pub bytes: u64,
    /// The largest entries, the largest first. While lines are added there may be more, in any order.
    #[serde(deserialize_with = "packed::list")]
    pub largest: Vec<LargeEntry>,
    /// The number of lines that are neither entries nor blank.
    pub damaged: u64,
    /// How many of the largest entries are kept.
    #[serde(skip, default = "largest_kept")]
    #[doc(hidden)]
    pub keep: usize,
}

fn largest_kept() -> usize {
    LARGEST_KEPT
}

impl Default for SessionUsage {
    fn default() -> Self {
        Self::keeping(LARGEST_KEPT)
    }
}

/// The purpose of a call.
enum CallKind<'a> {
    /// A request to a model, by its provider and name.
    Model,
    Tool,
    /// The writing of a summary. The text is the type of the entry.
    Summary(&'a [u8]),
}

#[doc(hidden)]
impl SessionUsage {
    /// An empty usage that will keep the `keep` largest entries.
    pub fn keeping(keep: usize) -> Self {
        Self {
            calls: Vec::new(),
            named_sessions: Vec::new(),
            models: Vec::new(),
            entries: 0,
            bytes: 0,
            largest: Vec::new(),
            damaged: 0,
            keep,
        }
    }

    /// Whether every model index and call index is in range. A corrupt row fails this.
    pub(crate) fn is_consistent(&self) -> bool {
        let has_model = |call: &Call| (call.model as usize) < self.models.len();
        let has_call = |named: &NamedSession| (named.call as usize) < self.calls.len();
        self.calls.iter().all(has_model) && self.named_sessions.iter().all(has_call)
    }

    /// Adds a line.
    pub fn add(&mut self, line: &ScannedLine, version: Version) -> Result<(), OutOfMemory> {
        if !line.is_entry(version) {
            self.damaged += u64::from(!line.is_blank);
            return Ok(());
        }
        let kind = short_text(&line.kind);
        let kind = kind.as_deref().unwrap_or(b"(no type)");
        // A second header.
        if kind == b"session" {
            return Ok(());
        }
        let (from, to) = line.span;
        let bytes = to.saturating_sub(from);
        self.entries += 1;
        self.bytes += bytes;
        self.add_large(LargeEntry { bytes, offset: from })?;
        let entry_time = time(&line.timestamp);
        let (facts, fields) = match EntryKind::from_name(kind) {
            EntryKind::Message => (line.message.role().facts(), &line.message.call),
            kind => (kind.facts(), &line.call),
        };
        match facts.call {
            None => Ok(()),
            Some(ModelCall::Model) => self.add_call(line, fields, CallKind::Model, entry_time),
            Some(ModelCall::Tool) => self.add_call(line, fields, CallKind::Tool, entry_time),
            Some(ModelCall::Summary) => self.add_call(line, fields, CallKind::Summary(kind), entry_time),
        }
    }

    fn add_call(
        &mut self,
        line: &ScannedLine,
        call: &CallFields,
        kind: CallKind<'_>,
        entry_time: Option<f64>,
    ) -> memory::Result<()> {
        let (amounts, mut errors) = match (call.usage, &kind) {
            (Some(usage), _) => usage,
            // Tool results and summaries need not have a usage.
            (None, CallKind::Tool | CallKind::Summary(_)) => return Ok(()),
            (None, CallKind::Model) => (Amounts::default(), CallErrors::NO_USAGE),
        };
        // The model's name, followed by the bytes of the identity.
        let mut text = Vec::new();
        if !put_name(&mut text, line, call, &kind) {
            errors.add(CallErrors::NO_MODEL);
        }
        let model = position_of(&mut self.models, &text)?;
        let identity = identity_of(&mut text, line, &amounts);
        // The time of the message counts if it is a number.
        let message_time = &line.message.timestamp;
        let time = if number(message_time).is_some() { time(message_time) } else { entry_time };
        if time.is_none() {
            errors.add(CallErrors::NO_TIME);
        }
        for name in line.message.named_sessions.iter().filter(|_| matches!(kind, CallKind::Tool)) {
            let named = NamedSession { call: self.calls.len() as u32, name: copy_of_bytes(name)? };
            push(&mut self.named_sessions, named)?;
        }
        push(&mut self.calls, Call { identity, time: time.unwrap_or(f64::NAN), model, errors, amounts })
    }

    fn add_large(&mut self, entry: LargeEntry) -> memory::Result<()> {
        push(&mut self.largest, entry)?;
        if self.largest.len() >= self.keep.saturating_mul(2).saturating_add(LARGEST_KEPT) {
            self.sort_largest();
        }
        Ok(())
    }

    /// Sorts the largest entries, the largest first, and drops those beyond `keep`.
    pub fn sort_largest(&mut self) {
        self.largest.sort_unstable_by_key(LargeEntry::rank);
        self.largest.truncate(self.keep);
    }
}

/// The index of a name in a list. Adds the name if it is missing.
fn position_of(names: &mut Vec<Vec<u8>>, name: &[u8]) -> memory::Result<u32> {
    let find = |names: &[Vec<u8>], name: &[u8]| names.iter().position(|one| one == name);
    let position = find(names, name).or_else(|| match names.len() < MAX_NAMES {
        true => None,
        false => find(names, OTHER),
    });
    let position = match position {
        Some(position) => position,
        None => {
            push(names, copy_of_bytes(if names.len() < MAX_NAMES { name } else { OTHER })?)?;
            names.len() - 1
        }
    };
    Ok(position as u32)
}

/// Writes the name of the model, tool or summary that a call belongs to. False if a model or its provider has no name.
fn put_name(out: &mut Vec<u8>, line: &ScannedLine, call: &CallFields, kind: &CallKind<'_>) -> bool {
    let [provider, asked, answered, tool] =
        [&call.provider, &call.model, &call.response_model, &line.message.tool_name].map(|json| short_text(json));
    let named = |name: &'_ Option<Cow<'_, [u8]>>| name.as_deref().is_some_and(|name| !name.is_empty());
    // A router chooses the model that answers. pi's own sums use that one too.
    let model = if named(&answered) { answered } else { asked };
    let mut put = |parts: [&[u8]; 3]| parts.iter().for_each(|part| out.extend_from_slice(part));
    match kind {
        CallKind::Model => {
            let (has_provider, has_model) = (named(&provider), named(&model));
            let provider = provider.as_deref().filter(|_| has_provider).unwrap_or(b"(no provider)");
            let model = model.as_deref().filter(|_| has_model).unwrap_or(b"(no model)");
            match has_provider || has_model {
                true => put([provider, b"/", model]),
                false => put([model, b"", b""]),
            }
            has_provider && has_model
        }
        CallKind::Tool => {
            put([b"(tool ", tool.as_deref().filter(|name| !name.is_empty()).unwrap_or(b"without a name"), b")"]);
            true
        }
        CallKind::Summary(entry_type) => {
            put([b"(", entry_type, b")"]);
            true
        }
    }
}

/// A hash of a call's times, model and amounts, which are the same in the copies of a call in forks. The entry's id is
/// used only if there are no times, because entries of version 1 get a new id at each fork. `text` is the model's name.
fn identity_of(text: &mut Vec<u8>, line: &ScannedLine, amounts: &Amounts) -> u64 {
    // One pass over a short buffer is faster than hashing each part.
    let model = text.len();
    let mut part = |tag: u8, bytes: &[u8]| {
        text.push(tag);
        text.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        text.extend_from_slice(bytes);
    };
    let mut has_time = false;
    for json in [&line.timestamp, &line.message.timestamp].map(Vec::as_slice) {
        if matches!(json, b"" | b"null") {
            continue;
        }
        has_time = true;
        match (short_text(json), number(json)) {
            (Some(text), _) => part(b't', &text),
            (None, Some(number)) => part(b'n', &number.to_bits().to_le_bytes()),
            (None, None) => part(b'j', json),
        }
    }
    if !has_time {
        part(b'i', &short_text(&line.id).unwrap_or_default());
    }
    text.extend_from_slice(b"m");
    text.extend_from_slice(&(model as u64).to_le_bytes());
    text.extend_from_within(..model);
    for amount in amounts.to_array() {
        text.extend_from_slice(&amount.to_bits().to_le_bytes());
    }
    xxh3_64(text.get(model..).unwrap_or_default())
}

#[cfg(test)]
mod tests;
