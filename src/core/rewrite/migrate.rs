//! Migration of old files. Version 1 has no tree: entries get ids and a linear chain of parents. Version 2 calls custom
//! messages `hookMessage`. Only the keys that change are edited; a line that is not an entry is copied as it is.

use std::io::Write;

use super::replace::{write_line, ReadTo, Rewrite};
use crate::core::base::error::{Error, Result};
use crate::core::format::agent_message::Role;
use crate::core::format::entry::{is_blank, read_message};
use crate::core::format::header::Version;
use crate::core::format::ids::entry_id;
use crate::core::io::line_reader::{text_of, LineReader, WHOLE};
use crate::core::json::reader::{is_json, read, Raw};
use crate::core::json::{fields, quoted, ObjectText, Value};
use crate::core::storage::storage::{copy_bytes, Storage};

fields! {
    /// The fields that a migration reads.
    struct OldFields<V> {
        kind: V = "type",
        message: V = "message",
        first_kept_index: V = "firstKeptEntryIndex",
    }
}

/// The tree fields that an entry of version 1 gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chained {
    pub id: String,
    pub parent: Option<String>,
    /// For a compaction that named its first kept entry by index: the id of that entry, if there is one.
    pub first_kept: Option<String>,
}

/// Migrates a session's values in file order.
#[derive(Debug)]
pub struct Migrator {
    version: Version,
    /// The id that each value got so far; values that are not entries have none. A `firstKeptEntryIndex` counts them all.
    given: Vec<Option<String>>,
    taken: std::collections::HashSet<String>,
    previous: Option<String>,
}

impl Migrator {
    /// A migration from `version` to the current one.
    pub fn new(version: Version) -> Self {
        Self { version, given: Vec::new(), taken: Default::default(), previous: None }
    }

    /// Whether entries get ids.
    pub fn makes_chain(&self) -> bool {
        self.version == Version::V1
    }

    /// Counts a value that is not an entry: the header, or a value that cannot have an id.
    pub fn pass(&mut self) {
        self.given.push(None);
    }

    /// Gives the next entry its id and parent. `first_kept_index` is a compaction's index of its first kept
    /// entry, in which the header counts as 0.
    pub fn chain(&mut self, first_kept_index: Option<f64>) -> Chained {
        let id = entry_id(|id| std::str::from_utf8(id).is_ok_and(|id| self.taken.contains(id)));
        self.taken.insert(id.clone());
        self.given.push(Some(id.clone()));
        let target = first_kept_index.filter(|index| index.fract() == 0.0 && *index >= 0.0);
        let first_kept = target.and_then(|index| self.given.get(index as usize).cloned().flatten());
        Chained { parent: self.previous.replace(id.clone()), id, first_kept }
    }

    /// The migrated form of a line; None if it does not change.
    pub fn line(&mut self, line: &str) -> Option<Vec<u8>> {
        if is_blank(line) || !is_json(line) {
            return None;
        }
        let parts = ObjectText::read(line).zip(read::<OldFields<Raw<'_>>>(line).ok());
        let Some((mut object, fields)) = parts else {
            // The reference drops falsy values when it loads and counts the others.
            if !matches!(line.trim(), "null" | "false" | "0" | "-0" | "\"\"") {
                self.pass();
            }
            return None;
        };
        let kind = fields.kind.as_ref().and_then(Value::text).unwrap_or_default();
        if *kind == *b"session" {
            self.pass();
            object.set("version", "3");
            return Some(written(&object));
        }
        if self.makes_chain() {
            let compaction = *kind == *b"compaction";
            let index = fields.first_kept_index.as_ref().and_then(Value::number).filter(|_| compaction);
            let chained = self.chain(index);
            object.set("id", quoted(chained.id.as_bytes()));
            object.set("parentId", chained.parent.map_or("null".into(), |id| quoted(id.as_bytes())));
            if index.is_some() {
                if let Some(id) = chained.first_kept {
                    object.set("firstKeptEntryId", quoted(id.as_bytes()));
                }
                object.remove("firstKeptEntryIndex");
            }
        }
        let message = fields.message.filter(|_| *kind == *b"message");
        match message.and_then(renamed_hook) {
            Some(message) => object.set("message", message),
            None if !self.makes_chain() => return None,
            None => {}
        }
        Some(written(&object))
    }
}

/// The migration of a whole file.
#[derive(Debug)]
pub struct Migration(Migrator);

impl Migration {
    /// A migration from `version` to the current one.
    pub fn new(version: Version) -> Self {
        Self(Migrator::new(version))
    }

    /// Writes the new version of a line. Gives whether it has a newline.
    fn renewed(&mut self, line: &[u8], ended: bool, name: &str, out: &mut dyn Write) -> Result<bool> {
        let new = self.0.line(&text_of(line));
        let ended = ended || new.is_some();
        write_line(out, new.as_deref().unwrap_or(line), ended, name).map(|()| ended)
    }
}

impl Rewrite for Migration {
    fn write(&mut self, old: &dyn Storage, out: &mut dyn Write) -> Result<ReadTo> {
        let mut read = ReadTo::default();
        let mut lines = LineReader::new(old.reader(0)?, 0, WHOLE);
        while let Some(line) = lines.next_line().map_err(|error| Error::io("read", old.name(), error))? {
            read.add_line(&line);
            let ended = match line.skipped {
                // A line that is too long for memory is copied in pieces.
                Some(_) => {
                    let (from, to, ended) = (line.offset, line.offset + line.length(), line.ended);
                    copy_bytes(old, from, to, &mut |bytes| write_line(out, bytes, false, old.name()))?;
                    write_line(out, b"", ended, old.name())?;
                    ended
                }
                None => self.renewed(line.bytes, line.ended, old.name(), out)?,
            };
            if ended {
                read.add_newline();
            }
        }
        Ok(read)
    }

    fn late_line(&mut self, line: &[u8]) -> Vec<u8> {
        self.0.line(&text_of(line)).unwrap_or_else(|| line.to_vec())
    }
}

fn written(object: &ObjectText<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    object.write(&mut out);
    out
}

/// The text of a hook message with its new role.
fn renamed_hook(message: Raw<'_>) -> Option<String> {
    if read_message(message)?.head().role != Role::HookMessage {
        return None;
    }
    let mut object = ObjectText::read(message.get())?;
    object.set("role", "\"custom\"");
    String::from_utf8(written(&object)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrate(version: Version, lines: &[&str]) -> Vec<String> {
        let mut migrator = Migrator::new(version);
        let line = |line: &&str| {
            migrator.line(line).map_or(line.to_string(), |new| String::from_utf8_lossy(&new).into_owned())
        };
        let mut all: Vec<String> = lines.iter().map(line).collect();
        for (n, id) in migrator.given.iter().flatten().enumerate() {
            all = all.into_iter().map(|line| line.replace(id.as_str(), &format!("#{n}"))).collect();
        }
        all
    }

    #[test]
    fn version_1_gets_a_linear_chain() {
        let lines = [
            r#"{"type":"session","id":"s","provider":"p"}"#,
            r#"{"type":"message","message":{"role":"hookMessage","content":"x","n":1.50}}"#,
            "torn {",
            r#"{"type":"compaction","firstKeptEntryIndex":1,"summary":"é\ud83d"}"#,
            r#"{"type":"compaction","firstKeptEntryIndex":0,"id":"old"}"#,
            r#"{"type":"compaction","firstKeptEntryIndex":9}"#,
        ];
        assert_eq!(
            migrate(Version::V1, &lines),
            [
                r#"{"type":"session","id":"s","provider":"p","version":3}"#,
                r##"{"type":"message","message":{"role":"custom","content":"x","n":1.50},"id":"#0","parentId":null}"##,
                "torn {",
                r##"{"type":"compaction","summary":"é\ud83d","id":"#1","parentId":"#0","firstKeptEntryId":"#0"}"##,
                r##"{"type":"compaction","id":"#2","parentId":"#1"}"##,
                r##"{"type":"compaction","id":"#3","parentId":"#2"}"##,
            ]
        );
    }

    #[test]
    fn version_2_renames_only_hook_messages() {
        let lines = [
            r#"{"type":"session","version":2,"id":"s"}"#,
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"hookMessage"}}"#,
            r#"{"type":"custom","id":"b",  "message":{"role":"hookMessage"}}"#,
        ];
        assert_eq!(
            migrate(Version::V2, &lines),
            [
                r#"{"type":"session","version":3,"id":"s"}"#,
                r#"{"type":"message","id":"a","parentId":null,"message":{"role":"custom"}}"#,
                lines[2],
            ]
        );
    }
}
