//! Tool calls without a result, and results without a call, in the context of the leaf. A provider may refuse such a
//! conversation, but the file is not damaged: pi adds the missing results to its requests.

use serde::{Serialize, Serializer};

use crate::base::error::Result;
use crate::base::memory::{self, owned, push};
use crate::base::wtf8::copy_lossy;
use crate::context::projection::{project, Contribution, Step};
use crate::format::agent_message::Role;
use crate::index::damage_report::REPORT_LIMIT;
use crate::index::surveyed_line::SurveyedLine;
use crate::json::reader::{elements, read, Raw};
use crate::json::{fields, Value};
use crate::lines::line_reader::line_text;
use crate::storage::storage::{bytes_at, Storage};
use crate::tree::{RowNo, Tree};

/// A tool call without its result, or a result without its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnpairedCall {
    /// The line of its entry, counted from 1.
    pub line: u64,
    /// The id of the call.
    pub tool_call_id: String,
    /// Whether the call or the result is alone.
    pub reason: Unpaired,
}

/// Whether a tool call or a result is alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpaired {
    /// A call without a result before the next message of the user or the model.
    Call,
    /// A result whose call is not in the model's last message before it, or has another result already.
    Result,
}

impl Unpaired {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Call => "a tool call without a result",
            Self::Result => "a result without its tool call",
        }
    }
}

impl Serialize for Unpaired {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.reason())
    }
}

fields! {
    struct LineParts<V> {
        message: V = "message",
        replacement: V = "replacement",
    }
}

fields! {
    /// The fields of a message, a replacement or a content block that identify calls.
    struct CallParts<V> {
        kind: V = "type",
        id: V = "id",
        content: V = "content",
        stop_reason: V = "stopReason",
        call_id: V = "toolCallId",
        is_excluded: V = "excludeFromContext",
    }
}

fn parts_of<'a>(object: Raw<'a>) -> Option<CallParts<Raw<'a>>> {
    read(object.get())
}

/// The first of them, sorted by the line of the call or result. `entry` returns the line of a row.
pub(crate) fn unpaired_calls<'a>(
    tree: &Tree,
    storage: &dyn Storage,
    entry: &dyn Fn(RowNo) -> Option<&'a SurveyedLine>,
) -> Result<Vec<UnpairedCall>> {
    let Some(leaf) = tree.leaf() else { return Ok(Vec::new()) };
    let mut pairing = Pairing::default();
    for step in project(tree, &tree.path(leaf)?)?.steps {
        if step.gives != Contribution::Nothing {
            pairing.take(tree, storage, &step, entry)?;
        }
    }
    pairing.close()?;
    Ok(pairing.found)
}

#[derive(Default)]
struct Pairing {
    /// The calls of the model's last message without a result so far, each with its line.
    waiting: Vec<(Vec<u8>, u64)>,
    /// The first unpaired calls and results, sorted by their lines.
    found: Vec<UnpairedCall>,
}

impl Pairing {
    fn take<'a>(
        &mut self,
        tree: &Tree,
        storage: &dyn Storage,
        step: &Step,
        entry: &dyn Fn(RowNo) -> Option<&'a SurveyedLine>,
    ) -> Result<()> {
        let role = tree.row(step.row).and_then(|row| row.role());
        if role == Some(Role::System) {
            // A system message may be between a call and its result.
            return Ok(());
        }
        let is_read = matches!(role, Some(Role::Assistant | Role::ToolResult | Role::BashExecution));
        let (Some(line), true) = (entry(step.row), is_read || step.edit.is_some()) else { return self.close() };
        let edit = step.edit.and_then(entry).map(|edit| bytes_at(storage, edit.span())).transpose()?;
        let edit = edit.as_deref().map(line_text).transpose()?;
        let replacement = edit.as_deref().and_then(|edit| read::<LineParts<Raw<'_>>>(edit)?.replacement);
        if replacement.is_some_and(|replacement| replacement.is_null()) {
            return Ok(());
        }
        let bytes = bytes_at(storage, line.span())?;
        let text = line_text(&bytes)?;
        let Some(message) = read::<LineParts<Raw<'_>>>(&text).and_then(|line| parts_of(line.message?)) else {
            return self.close();
        };
        match role {
            Some(Role::BashExecution) if message.is_excluded.is_some_and(|flag| flag.is_truthy()) => Ok(()),
            Some(Role::ToolResult) => self.add_result(message.call_id, line.number),
            Some(Role::Assistant) => {
                self.close()?;
                // pi does not send a message that broke off.
                let stop_reason = message.stop_reason.as_ref().map_or(Ok(None), Value::text)?;
                if matches!(stop_reason.as_deref(), Some(b"error" | b"aborted")) {
                    return Ok(());
                }
                let content = match replacement {
                    Some(replacement) => parts_of(replacement).and_then(|parts| parts.content),
                    None => message.content,
                };
                self.add_calls(content.map_or("", Raw::get), line.number)
            }
            _ => self.close(),
        }
    }

    fn add_calls(&mut self, content: &str, line: u64) -> Result<()> {
        for block in elements(content) {
            let Some(block) = read::<CallParts<Raw<'_>>>(block) else { continue };
            let is_call = block.kind.as_ref().map_or(Ok(None), Value::text)?.as_deref() == Some(b"toolCall");
            if let Some(id) = block.id.as_ref().filter(|_| is_call).map_or(Ok(None), Value::text)? {
                push(&mut self.waiting, (owned(id)?, line))?;
            }
        }
        Ok(())
    }

    fn add_result(&mut self, id: Option<Raw<'_>>, line: u64) -> Result<()> {
        let id = id.as_ref().map_or(Ok(None), Value::text)?.unwrap_or_default();
        match self.waiting.iter().position(|(waiting, _)| **waiting == *id) {
            Some(at) => drop(self.waiting.remove(at)),
            None => self.add(&id, line, Unpaired::Result)?,
        }
        Ok(())
    }

    /// No more results of the waiting calls can follow.
    fn close(&mut self) -> Result<()> {
        for (id, line) in std::mem::take(&mut self.waiting) {
            self.add(&id, line, Unpaired::Call)?;
        }
        Ok(())
    }

    fn add(&mut self, id: &[u8], line: u64, reason: Unpaired) -> memory::Result<()> {
        let at = self.found.partition_point(|found| found.line <= line);
        if at < REPORT_LIMIT {
            self.found.insert(at, UnpairedCall { line, tool_call_id: copy_lossy(id)?, reason });
            self.found.truncate(REPORT_LIMIT);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
