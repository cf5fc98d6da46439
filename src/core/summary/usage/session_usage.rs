//! What is collected of one session, entry by entry.

use std::borrow::Cow;
use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::call::{number, plain, scan_usage, time, Amounts, Call, CallErrors, UsageValue};
use crate::format::header::Version;
use crate::json::reader::{read, Raw};
use crate::json::scanner::Scanner;
use crate::json::{fields, Value};
use crate::summary::line_scanner::ScannedLine;

/// How many of a session's largest entries are kept.
pub const LARGEST_KEPT: usize = 100;

/// How many different models, and kinds of entries, are counted by name in one session.
const MAX_NAMES: usize = 1000;
const OTHER: &[u8] = b"(other)";

/// Entries of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindSize {
    /// A message's role, else the entry's type. WTF-8.
    pub name: Vec<u8>,
    pub entries: u64,
    pub bytes: u64,
}

/// Entries that follow each other and have their times in the same minute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Minute {
    /// Minutes since 1970.
    pub minute: i64,
    pub entries: u64,
    pub bytes: u64,
}

/// A large entry, ordered by size. Of two entries of one size the earlier is greater.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LargeEntry {
    /// Of its line, the newline included.
    pub bytes: u64,
    /// Where its line starts in the file.
    pub offset: Reverse<u64>,
    /// The position of its kind in the session's list of kinds.
    pub kind: u32,
}

/// What was collected of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionUsage {
    /// In the order of the file.
    pub calls: Vec<Call>,
    /// The names of the models that calls refer to. WTF-8.
    pub models: Vec<Vec<u8>>,
    pub kinds: Vec<KindSize>,
    pub minutes: Vec<Minute>,
    /// The largest entries. More than `keep` of them in any order, until [`SessionUsage::sort_largest`] sorts them.
    pub largest: Vec<LargeEntry>,
    /// Lines that are neither entries nor blank.
    pub damaged: u64,
    /// How many of the largest entries are kept.
    #[serde(skip, default = "largest_kept")]
    pub keep: usize,
    /// The greatest entry that was dropped: only greater ones can be among the largest.
    #[serde(skip)]
    floor: Option<LargeEntry>,
    /// Memory for the next call's name and identity, empty between calls.
    #[serde(skip)]
    scratch: Vec<u8>,
}

fn largest_kept() -> usize {
    LARGEST_KEPT
}

impl Default for SessionUsage {
    fn default() -> Self {
        Self::keeping(LARGEST_KEPT)
    }
}

fields! {
    /// The fields of an entry that are read.
    struct EntryFields<V> {
        kind: V = "type",
        id: V = "id",
        timestamp: V = "timestamp",
        message: V = "message",
        provider: V = "provider",
        model: V = "model",
        usage: V = "usage",
    }
}

fields! {
    /// The fields of a message that are read.
    struct MessageFields<V> {
        role: V = "role",
        timestamp: V = "timestamp",
        provider: V = "provider",
        model: V = "model",
        tool_name: V = "toolName",
        usage: V = "usage",
    }
}

/// The JSON texts of an entry's values, and its usage.
#[derive(Default)]
struct EntryParts<'a> {
    /// Its text, unlike the others.
    kind: Option<Cow<'a, [u8]>>,
    role: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    timestamp: Option<&'a [u8]>,
    message_time: Option<&'a [u8]>,
    provider: Option<&'a [u8]>,
    model: Option<&'a [u8]>,
    tool_name: Option<&'a [u8]>,
    usage: Option<UsageValue>,
}

/// What a call is made for.
enum Caller<'a> {
    /// A model, by its provider and name.
    Model,
    Tool,
    /// A summary, by the entry's type.
    Summary(&'a [u8]),
}

impl SessionUsage {
    /// Usage of no entry yet, which will keep this many of the largest entries.
    pub fn keeping(keep: usize) -> Self {
        Self {
            calls: Vec::new(),
            models: Vec::new(),
            kinds: Vec::new(),
            minutes: Vec::new(),
            largest: Vec::new(),
            damaged: 0,
            keep,
            floor: None,
            scratch: Vec::new(),
        }
    }

    /// As bytes, for the catalog.
    pub fn pack(&self) -> Vec<u8> {
        // Writing to memory cannot fail. No bytes at all would count as no usage.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// What was packed. None if the bytes are not what [`SessionUsage::pack`] makes.
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        let (mut usage, rest) = postcard::take_from_bytes::<Self>(bytes).ok()?;
        usage.calls.shrink_to_fit();
        usage.sort_largest();
        rest.is_empty().then_some(usage)
    }

    /// Adds a scanned line that has these bytes of the file. False if the line has to be read whole, by
    /// [`SessionUsage::add_line`]: it has no time, or a message where none belongs.
    pub fn add_scanned(&mut self, line: &ScannedLine, version: Version, span: (u64, u64)) -> bool {
        if version != Version::V1 && line.has_text_id != Some(true) {
            self.damaged += 1;
            return true;
        }
        let parts = EntryParts {
            kind: line.kind.get().and_then(plain),
            role: line.role.get(),
            id: None,
            timestamp: line.timestamp.get(),
            message_time: line.message_time.get(),
            provider: line.provider.get(),
            model: line.model.get(),
            tool_name: line.tool_name.get(),
            usage: line.usage,
        };
        let has_time = [parts.timestamp, parts.message_time].into_iter().flatten().any(|time| time != b"null");
        let is_message = parts.kind.as_deref() == Some(b"message");
        if !has_time || is_message != line.has_message {
            return false;
        }
        self.add(&parts, span);
        true
    }

    /// Adds a line of any shape.
    pub fn add_line(&mut self, line: &str, version: Version, span: (u64, u64)) {
        let Ok(entry) = read::<EntryFields<Raw<'_>>>(line) else {
            self.damaged += u64::from(!line.trim_ascii().is_empty());
            return;
        };
        fn json<'a>(value: &'a Option<Raw<'_>>) -> Option<&'a [u8]> {
            value.as_ref().map(|raw| raw.get().as_bytes())
        }
        if version != Version::V1 && entry.id.as_ref().and_then(Value::text).is_none() {
            self.damaged += 1;
            return;
        }
        let usage =
            |value: &Option<Raw<'_>>| value.and_then(|raw| scan_usage(&mut Scanner::new(raw.get().as_bytes())).ok());
        let (id, timestamp) = (json(&entry.id), json(&entry.timestamp));
        let kind = json(&entry.kind).and_then(plain);
        let mut parts = EntryParts { kind, id, timestamp, ..EntryParts::default() };
        let message = entry.message.and_then(|raw| read::<MessageFields<Raw<'_>>>(raw.get()).ok());
        match (parts.kind.as_deref(), &message) {
            (Some(b"message"), Some(message)) => {
                parts.role = json(&message.role);
                parts.message_time = json(&message.timestamp);
                parts.provider = json(&message.provider);
                parts.model = json(&message.model);
                parts.tool_name = json(&message.tool_name);
                parts.usage = usage(&message.usage);
            }
            (Some(b"message"), None) => {}
            _ => {
                parts.message_time = message.as_ref().and_then(|message| json(&message.timestamp));
                parts.provider = json(&entry.provider);
                parts.model = json(&entry.model);
                parts.usage = usage(&entry.usage);
            }
        }
        self.add(&parts, span);
    }

    /// Counts a line that is not a JSON object.
    pub fn add_damaged(&mut self) {
        self.damaged += 1;
    }

    fn add(&mut self, entry: &EntryParts<'_>, (from, to): (u64, u64)) {
        let role = entry.role.and_then(plain);
        let kind = entry.kind.as_deref().unwrap_or(b"(no type)");
        let name = match kind {
            // A later header.
            b"session" => return,
            b"message" => role.as_deref().unwrap_or(b"message"),
            kind => kind,
        };
        let bytes = to.saturating_sub(from);
        let position =
            position_of(&mut self.kinds, name, |kind| &kind.name, |name| KindSize { name, entries: 0, bytes: 0 });
        if let Some(kind) = self.kinds.get_mut(position as usize) {
            kind.entries += 1;
            kind.bytes += bytes;
        }
        self.add_large(LargeEntry { bytes, offset: Reverse(from), kind: position });
        let entry_time = entry.timestamp.and_then(time);
        if let Some(ms) = entry_time {
            self.add_to_minute((ms / 60_000.0).floor() as i64, bytes);
        }
        let caller = match (kind, name) {
            (b"message", b"assistant") | (b"usage", _) => Caller::Model,
            (b"message", b"toolResult") => Caller::Tool,
            (b"compaction" | b"branch_summary", _) => Caller::Summary(kind),
            _ => return,
        };
        self.add_call(entry, caller, entry_time);
    }

    fn add_call(&mut self, entry: &EntryParts<'_>, caller: Caller<'_>, entry_time: Option<f64>) {
        let (amounts, mut errors) = match (entry.usage, &caller) {
            (Some(UsageValue::Amounts(amounts, errors)), _) => (amounts, errors),
            // Tools and summaries need no model.
            (None | Some(UsageValue::Null), Caller::Tool | Caller::Summary(_)) => return,
            _ => (Amounts::default(), CallErrors::NO_USAGE),
        };
        // The model's name, and after it what the identity is made of.
        let mut text = std::mem::take(&mut self.scratch);
        if !put_name(&mut text, entry, &caller) {
            errors.add(CallErrors::NO_MODEL);
        }
        let model = position_of(&mut self.models, &text, |name| name, |name| name);
        let identity = identity_of(&mut text, entry, &amounts);
        text.clear();
        self.scratch = text;
        // A message's own time counts if it is a number.
        let time = match entry.message_time.filter(|json| number(json).is_some()) {
            Some(json) => time(json),
            None => entry_time,
        };
        if time.is_none() {
            errors.add(CallErrors::NO_TIME);
        }
        self.calls.push(Call { identity, time: time.unwrap_or(f64::NAN), model, errors, amounts });
    }

    fn add_to_minute(&mut self, minute: i64, bytes: u64) {
        match self.minutes.last_mut().filter(|last| last.minute == minute) {
            Some(last) => {
                last.entries += 1;
                last.bytes += bytes;
            }
            None => self.minutes.push(Minute { minute, entries: 1, bytes }),
        }
    }

    fn add_large(&mut self, entry: LargeEntry) {
        if self.floor.as_ref().is_some_and(|floor| entry < *floor) || self.keep == 0 {
            return;
        }
        self.largest.push(entry);
        if self.largest.len() >= self.keep.saturating_mul(2).saturating_add(LARGEST_KEPT) {
            self.drop_small();
        }
    }

    /// Sorts the largest entries, the largest first, and drops those that are too many.
    pub fn sort_largest(&mut self) {
        self.drop_small();
        self.largest.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Drops what is not among the largest entries, and keeps the others in any order.
    fn drop_small(&mut self) {
        let Some(last) = self.keep.checked_sub(1).filter(|last| *last < self.largest.len()) else {
            return self.largest.truncate(self.keep);
        };
        let (_, floor, _) = self.largest.select_nth_unstable_by(last, |a, b| b.cmp(a));
        self.floor = Some(floor.clone());
        self.largest.truncate(self.keep);
    }

    /// How many entries there are, and their bytes.
    pub fn size(&self) -> (u64, u64) {
        self.kinds.iter().fold((0, 0), |(entries, bytes), kind| (entries + kind.entries, bytes + kind.bytes))
    }
}

/// The position of a name in a list, to which it is added.
fn position_of<T>(list: &mut Vec<T>, name: &[u8], name_of: impl Fn(&T) -> &[u8], make: impl Fn(Vec<u8>) -> T) -> u32 {
    let find = |list: &[T], name: &[u8]| list.iter().position(|one| name_of(one) == name);
    let position = find(list, name).or_else(|| match list.len() < MAX_NAMES {
        true => None,
        false => find(list, OTHER),
    });
    position.unwrap_or_else(|| {
        let name = if list.len() < MAX_NAMES { name } else { OTHER };
        list.push(make(name.to_vec()));
        list.len() - 1
    }) as u32
}

/// Writes the name of what made a call. False if a model or its provider has none.
fn put_name(out: &mut Vec<u8>, entry: &EntryParts<'_>, caller: &Caller<'_>) -> bool {
    let [provider, model, tool] = [entry.provider, entry.model, entry.tool_name].map(|json| json.and_then(plain));
    let named = |name: &'_ Option<Cow<'_, [u8]>>| name.as_deref().is_some_and(|name| !name.is_empty());
    let mut put = |parts: [&[u8]; 3]| parts.iter().for_each(|part| out.extend_from_slice(part));
    match caller {
        Caller::Model => {
            let (has_provider, has_model) = (named(&provider), named(&model));
            let provider = provider.as_deref().filter(|_| has_provider).unwrap_or(b"(no provider)");
            let model = model.as_deref().filter(|_| has_model).unwrap_or(b"(no model)");
            match has_provider || has_model {
                true => put([provider, b"/", model]),
                false => put([model, b"", b""]),
            }
            has_provider && has_model
        }
        Caller::Tool => {
            put([b"(tool ", tool.as_deref().filter(|name| !name.is_empty()).unwrap_or(b"without a name"), b")"]);
            true
        }
        Caller::Summary(kind) => {
            put([b"(", kind, b")"]);
            true
        }
    }
}

/// A hash of the times, the model and the amounts of a call: forks hold copies of entries with the same. The entry's id
/// counts where there are no times; it does not otherwise, because entries of version 1 get a new one at each fork.
/// `text` is the model's name.
fn identity_of(text: &mut Vec<u8>, entry: &EntryParts<'_>, amounts: &Amounts) -> u64 {
    // One pass over a short buffer is faster than hashing part by part.
    let model = text.len();
    let mut part = |tag: u8, bytes: &[u8]| {
        text.push(tag);
        text.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        text.extend_from_slice(bytes);
    };
    let mut has_time = false;
    for json in [entry.timestamp, entry.message_time].into_iter().flatten().filter(|json| *json != b"null") {
        has_time = true;
        match (plain(json), number(json)) {
            (Some(text), _) => part(b't', &text),
            (None, Some(number)) => part(b'n', &number.to_bits().to_le_bytes()),
            (None, None) => part(b'j', json),
        }
    }
    if !has_time {
        part(b'i', &entry.id.and_then(plain).unwrap_or_default());
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
