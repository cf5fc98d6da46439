//! Files that lie where sessions are and are not pi's: which program wrote one, by a line of it.

use serde::{Serialize, Serializer};

use crate::base::memory;
use crate::json::reader::{read, Raw};
use crate::json::{fields, Value};

/// What a file is that is not a session of pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherFormat {
    /// Nothing but white space is in it.
    Empty,
    /// A session of pi-agent-core from 0.84 on: each line after the header is a list, one transaction.
    PiAgentCore,
    /// A session of oh-my-pi: a line with the title comes before a header that is like pi's.
    OhMyPi,
    /// A transcript of Claude Code, or of a program that writes its format, as packages of subagents do.
    ClaudeCode,
    /// What `pi --mode json` prints: pi's header, and then events in place of entries.
    Events,
    /// No header and no entry of pi's is in it.
    Unknown,
}

impl OtherFormat {
    /// What the file is, in words that may follow "it is".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Empty => "an empty file",
            Self::PiAgentCore => "a session of pi-agent-core in format 4",
            Self::OhMyPi => "a session of oh-my-pi",
            Self::ClaudeCode => "a transcript in Claude Code's format",
            Self::Events => "the events that pi --mode json prints",
            Self::Unknown => "a file without a header or an entry of pi's",
        }
    }

    /// What a file is whose first line of JSON is this one, if that line alone tells.
    pub(crate) fn of_first_line(line: &str) -> memory::Result<Option<Self>> {
        let Some(fields) = read::<TellingFields<Raw<'_>>>(line) else { return Ok(None) };
        let has_number = |value: &Option<Raw<'_>>| value.as_ref().is_some_and(|value| value.number().is_some());
        Ok(match (is(&fields.kind_of_line, b"header")?, is(&fields.kind, b"title")?) {
            (true, _) if has_number(&fields.v) => Some(Self::PiAgentCore),
            (_, true) if has_number(&fields.v) || fields.title.is_some() => Some(Self::OhMyPi),
            _ => None,
        })
    }

    /// What a file is that has this line, if it is otherwise not a session. The line is not an entry of pi's.
    pub(crate) fn of_line(line: &str) -> memory::Result<Option<Self>> {
        let Some(fields) = read::<TellingFields<Raw<'_>>>(line) else { return Ok(None) };
        Ok(if fields.is_sidechain.is_some() || fields.parent_uuid.is_some() || fields.leaf_uuid.is_some() {
            Some(Self::ClaudeCode)
        } else if is_event(&fields.kind)? {
            Some(Self::Events)
        } else {
            None
        })
    }
}

impl Serialize for OtherFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.words())
    }
}

fields! {
    /// The fields that tell one program's lines from another's.
    struct TellingFields<V> {
        kind: V = "type",
        v: V = "v",
        kind_of_line: V = "kind",
        title: V = "title",
        is_sidechain: V = "isSidechain",
        parent_uuid: V = "parentUuid",
        leaf_uuid: V = "leafUuid",
    }
}

/// Whether a type is that of an event of a model's run. A recording may begin or break off anywhere.
fn is_event(kind: &Option<Raw<'_>>) -> memory::Result<bool> {
    let kind = kind.as_ref().map_or(Ok(None), Value::text)?;
    let events = ["agent_", "turn_", "message_", "tool_execution_"];
    let is_phase = |phase: &str| ["start", "update", "end", "settled"].contains(&phase);
    let kind = kind.as_deref().and_then(|kind| std::str::from_utf8(kind).ok()).unwrap_or_default();
    Ok(events.iter().any(|event| kind.strip_prefix(event).is_some_and(is_phase)))
}

fn is(value: &Option<Raw<'_>>, text: &[u8]) -> memory::Result<bool> {
    Ok(value.as_ref().map_or(Ok(None), Value::text)?.as_deref() == Some(text))
}
