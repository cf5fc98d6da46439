//! Recognizes files of other programs in session directories, by one of their lines.

use serde::{Serialize, Serializer};

use crate::base::memory;
use crate::json::reader::{read, Raw};
use crate::json::{fields, Value};

/// The format of a file that is not a session of pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherFormat {
    /// Only white space.
    Empty,
    /// A session of pi-agent-core from 0.84 on: each line after the header is an array, one transaction.
    PiAgentCore,
    /// A session of oh-my-pi: a line with the title precedes a header that is like pi's.
    OhMyPi,
    /// A transcript of Claude Code, or of a program that writes its format, such as packages of subagents.
    ClaudeCode,
    /// The output of `pi --mode json`: pi's header, then events instead of entries.
    Events,
    /// A file without a pi header or pi entries.
    Unknown,
}

impl OtherFormat {
    /// A description that may follow "it is".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Empty => "an empty file",
            Self::PiAgentCore => "a session of pi-agent-core in format 4",
            Self::OhMyPi => "a session of oh-my-pi",
            Self::ClaudeCode => "a transcript in Claude Code's format",
            Self::Events => "the events that pi --mode json prints",
            Self::Unknown => "a file without a pi header or pi entries",
        }
    }

    /// The format of a file by its first line that is JSON. None if this line alone does not decide.
    pub(crate) fn of_first_line(line: &str) -> memory::Result<Option<Self>> {
        let Some(fields) = read::<TellingFields<Raw<'_>>>(line) else { return Ok(None) };
        let has_number = |value: &Option<Raw<'_>>| value.as_ref().is_some_and(|value| value.number().is_some());
        Ok(match (is(&fields.kind_of_line, b"header")?, is(&fields.kind, b"title")?) {
            (true, _) if has_number(&fields.v) => Some(Self::PiAgentCore),
            (_, true) if has_number(&fields.v) || fields.title.is_some() => Some(Self::OhMyPi),
            _ => None,
        })
    }

    /// The format of a file by one of its lines, if the file is not a session. The line is not an entry of pi's.
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
    /// The fields by which the programs' lines differ.
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

/// Whether a type belongs to an event of a model's run. All events count, because a recording may begin or end
/// anywhere.
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
