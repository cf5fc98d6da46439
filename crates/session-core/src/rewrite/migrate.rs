//! Migration of old files. Version 1 has no tree, so entries get ids and a linear chain of parents. In version 2 custom
//! messages have the role `hookMessage`. A line is copied unchanged if no key of it changes; `docs/file-format.md`
//! describes what an edited line loses.

use std::io::Write;

use super::replace::{write_lines, ReadTo, Rewrite};
use crate::base::error::Result;
use crate::base::memory::{self, copy_of, insert_into, push};
use crate::format::agent_message::Role;
use crate::format::header::{Version, CURRENT_VERSION};
use crate::format::ids::{numbered_id, short_entry_id};
use crate::format::message_head::MessageFields;
use crate::json::reader::{read, Raw};
use crate::json::{fields, quoted, ObjectText, Value};
use crate::lines::line_reader::line_text;
use crate::storage::storage::Storage;

fields! {
    /// The fields that a migration reads.
    pub struct OldFields<V> {
        kind: V = "type",
        message: V = "message",
        first_kept_index: V = "firstKeptEntryIndex",
    }
}

/// A change of one value, which is the object of a line, or an object of the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MigrationEdit {
    /// Sets the current version in a header.
    Version,
    /// Sets the id of an entry.
    Id(String),
    /// Sets the parent of an entry; None is null.
    Parent(Option<String>),
    /// Sets the first kept entry of a compaction to this id. The compaction named it by its index.
    FirstKept(String),
    /// Sets the first kept entry of a compaction to the id of a later entry. The compaction named it by this index. The
    /// later entry has no new id yet, only the id that it came with; in a file it has none.
    FirstKeptLater(usize),
    /// Removes the index of the first kept entry.
    FirstKeptIndexRemoved,
    /// Sets the role of a message to `custom`, if it is the role of a hook.
    CustomRole,
}

/// Migrates the values of a session, in file order.
#[derive(Debug)]
pub struct Migrator {
    version: Version,
    /// The id of each value so far; None for values that are not entries. A `firstKeptEntryIndex` counts all of them.
    given: Vec<Option<String>>,
    taken: std::collections::HashSet<String>,
    previous: Option<String>,
    /// Whether the ids are the numbers of the entries.
    is_numbered: bool,
    keeps_time: bool,
}

impl Migrator {
    /// A migration from `version` to the current one.
    pub fn new(version: Version) -> Self {
        let (given, taken) = Default::default();
        Self { version, given, taken, previous: None, is_numbered: false, keeps_time: false }
    }

    /// Keeps the time of the file. Without it the file gets the time of the migration, as with pi, because a session
    /// that is opened is continued.
    pub(crate) fn keeping_time(self) -> Self {
        Self { keeps_time: true, ..self }
    }

    /// A migration of a copy that is only displayed: the id of an entry of version 1 is its number, so it is the same
    /// each time.
    pub fn numbered(version: Version) -> Self {
        Self { is_numbered: true, ..Self::new(version) }
    }

    /// The changes of the next value.
    pub fn changes<V: Value>(&mut self, fields: &OldFields<V>) -> memory::Result<Vec<MigrationEdit>> {
        let kind = fields.kind.as_ref().map_or(Ok(None), Value::text)?.unwrap_or_default();
        if *kind == *b"session" {
            push(&mut self.given, None)?;
            return Ok(vec![MigrationEdit::Version]);
        }
        let mut changes = Vec::with_capacity(5);
        if self.version == Version::V1 {
            let position = self.given.len();
            let id = if self.is_numbered {
                numbered_id(self.taken.len() + 1)
            } else {
                short_entry_id(|id| std::str::from_utf8(id).is_ok_and(|id| self.taken.contains(id)))
            };
            insert_into(&mut self.taken, copy_of(&id)?)?;
            push(&mut self.given, Some(copy_of(&id)?))?;
            changes.push(MigrationEdit::Id(copy_of(&id)?));
            changes.push(MigrationEdit::Parent(self.previous.replace(id)));
            let index = fields.first_kept_index.as_ref().and_then(Value::number);
            if let Some(index) = index.filter(|_| *kind == *b"compaction") {
                let target = Some(index as usize).filter(|_| index.fract() == 0.0 && index >= 0.0);
                match target.and_then(|target| self.given.get(target)?.as_ref()) {
                    Some(id) => changes.push(MigrationEdit::FirstKept(copy_of(id)?)),
                    None => {
                        changes.extend(target.filter(|target| *target > position).map(MigrationEdit::FirstKeptLater))
                    }
                }
                changes.push(MigrationEdit::FirstKeptIndexRemoved);
            }
        }
        if *kind == *b"message" && fields.message.is_some() {
            changes.push(MigrationEdit::CustomRole);
        }
        Ok(changes)
    }

    /// The migrated line; None if it does not change.
    pub fn line(&mut self, line: &str) -> memory::Result<Option<Vec<u8>>> {
        let parts = ObjectText::read(line)?.zip(read::<OldFields<Raw<'_>>>(line));
        let Some((mut object, fields)) = parts else {
            // pi drops falsy values when it loads the file, and counts all others.
            if read::<Raw<'_>>(line).is_some_and(|value| value.is_truthy()) {
                push(&mut self.given, None)?;
            }
            return Ok(None);
        };
        let mut is_changed = false;
        for change in self.changes(&fields)? {
            match change {
                MigrationEdit::Version => object.set("version", CURRENT_VERSION.to_string())?,
                MigrationEdit::Id(id) => object.set("id", quoted(id.as_bytes())?)?,
                MigrationEdit::Parent(parent) => {
                    let parent = parent.as_ref().map_or_else(|| Ok("null".to_owned()), |id| quoted(id.as_bytes()))?;
                    object.set("parentId", parent)?;
                }
                MigrationEdit::FirstKept(id) => object.set("firstKeptEntryId", quoted(id.as_bytes())?)?,
                MigrationEdit::FirstKeptLater(_) => {}
                MigrationEdit::FirstKeptIndexRemoved => object.remove("firstKeptEntryIndex"),
                MigrationEdit::CustomRole => match fields.message.map_or(Ok(None), with_custom_role)? {
                    Some(message) => object.set("message", message)?,
                    None => continue,
                },
            }
            is_changed = true;
        }
        is_changed.then(|| object.text()).transpose()
    }
}

impl Rewrite for Migrator {
    fn write(&mut self, old: &dyn Storage, out: &mut dyn Write) -> Result<ReadTo> {
        write_lines(old, out, true, |line| match line.skipped {
            Some(_) => Ok(None),
            None => self.late_line(line.bytes),
        })
    }

    fn late_line(&mut self, line: &[u8]) -> memory::Result<Option<Vec<u8>>> {
        self.line(&line_text(line)?)
    }

    fn keeps_time(&self) -> bool {
        self.keeps_time
    }
}

/// The text of a message with its new role; None if it does not have the role of a hook.
fn with_custom_role(message: Raw<'_>) -> memory::Result<Option<String>> {
    let head = read::<MessageFields<Raw<'_>>>(message.get()).map(|message| message.head()).transpose()?;
    if head.is_none_or(|head| head.role != Role::HookMessage) {
        return Ok(None);
    }
    let Some(mut object) = ObjectText::read(message.get())? else { return Ok(None) };
    object.set("role", "\"custom\"")?;
    Ok(String::from_utf8(object.text()?).ok())
}

#[cfg(test)]
mod tests;
