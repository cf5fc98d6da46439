//! An entry that stays in the file, and its changes.

use super::line_text::{bytes_of, LineSource};
use super::repair_log::RepairLog;
use crate::base::error::{Error, Result};
use crate::base::memory::{self, copy_of, copy_of_bytes, push};
use crate::base::wtf8::shown;
use crate::format::entry::{EntryHead, Parent};
use crate::json::{quoted, ObjectText};
use crate::lines::line_reader::line_text;
use crate::storage::storage::Storage;

/// An entry that stays.
#[derive(Debug)]
pub(super) struct KeptEntry {
    pub head: EntryHead<'static>,
    pub source: LineSource,
    /// The number of its line in the old file, or of the line from which it was salvaged.
    pub line: u64,
    /// The fields that change, with their new JSON texts.
    edits: Vec<(&'static str, String)>,
}

impl KeptEntry {
    pub(super) fn of(head: EntryHead<'static>, source: LineSource, line: u64) -> Self {
        Self { head, source, line, edits: Vec::new() }
    }

    pub(super) fn set(&mut self, key: &'static str, text: String) -> memory::Result<()> {
        self.edits.retain(|(other, _)| *other != key);
        push(&mut self.edits, (key, text))
    }

    pub(super) fn set_parent(&mut self, parent: Option<&[u8]>) -> memory::Result<()> {
        self.set("parentId", parent.map_or_else(|| Ok("null".to_owned()), quoted)?)?;
        self.head.parent = match parent {
            Some(id) => Parent::Id(copy_of_bytes(id)?.into()),
            None => Parent::Null,
        };
        Ok(())
    }

    /// Sets one of its references to the entry `id`.
    pub(super) fn refer(&mut self, key: &'static str, id: &[u8]) -> memory::Result<()> {
        match key {
            "parentId" => self.set_parent(Some(id)),
            _ => self.set(key, quoted(id)?),
        }
    }

    /// Sets its parent, because the old parent cannot be read.
    pub(super) fn reattach(&mut self, parent: Option<&[u8]>, repairs: &mut RepairLog) -> memory::Result<()> {
        let now = parent.map_or(" made a root", |_| " reattached to ");
        let [id, parent_id] = [&*self.head.id, parent.unwrap_or_default()].map(shown);
        repairs.push(self.line, &["entry ", &id, now, &parent_id, ": its parent cannot be read"])?;
        self.set_parent(parent)
    }

    /// Changes a compaction whose first kept entry is missing: it then keeps the entries from `first` on.
    pub(super) fn keep_from(&mut self, first: &[u8], repairs: &mut RepairLog) -> memory::Result<()> {
        let [id, from] = [&*self.head.id, first].map(shown);
        repairs.push(self.line, &["compaction ", &id, " keeps entries from ", &from, " on"])?;
        self.set("firstKeptEntryId", quoted(first)?)
    }

    /// The entry's line in the new file.
    pub(super) fn line_text(&self, storage: &dyn Storage) -> Result<Vec<u8>> {
        let bytes = bytes_of(storage, &self.source)?;
        if self.edits.is_empty() {
            return Ok(bytes);
        }
        let text = line_text(&bytes)?;
        let not_an_object = || Error::internal("the line of an entry that is repaired is not an object");
        let mut object = ObjectText::read(&text)?.ok_or_else(not_an_object)?;
        for (key, value) in &self.edits {
            object.set(key, copy_of(value)?)?;
        }
        Ok(object.text()?)
    }
}
