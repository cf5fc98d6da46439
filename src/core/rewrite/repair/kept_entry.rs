//! An entry that stays in the file, and what of it changes.

use std::io;

use super::line_text::{bytes_of, LineSource};
use super::repair_log::RepairLog;
use crate::base::error::{Error, Result};
use crate::base::memory::{copy_of, copy_of_bytes};
use crate::base::wtf8::to_string_lossy;
use crate::format::entry::{EntryHead, Parent};
use crate::io::line_reader::line_text;
use crate::json::string::json_string;
use crate::json::ObjectText;
use crate::storage::storage::Storage;

/// An entry that stays.
#[derive(Debug)]
pub struct KeptEntry {
    pub head: EntryHead<'static>,
    pub source: LineSource,
    /// The number of its line in the old file, or of the line that it was salvaged from.
    pub line: u64,
    /// The fields that change, with their new JSON texts.
    edits: Vec<(&'static str, String)>,
}

impl KeptEntry {
    pub fn of(head: EntryHead<'static>, source: LineSource, line: u64) -> Self {
        Self { head, source, line, edits: Vec::new() }
    }

    pub fn set(&mut self, key: &'static str, text: String) {
        self.edits.retain(|(other, _)| *other != key);
        self.edits.push((key, text));
    }

    pub fn set_parent(&mut self, parent: Option<&[u8]>) -> io::Result<()> {
        self.set("parentId", parent.map_or_else(|| copy_of("null"), json_string)?);
        self.head.parent = match parent {
            Some(id) => Parent::Id(copy_of_bytes(id)?.into()),
            None => Parent::Null,
        };
        Ok(())
    }

    /// Gives it a parent in place of one that cannot be read.
    pub fn reattach(&mut self, parent: Option<&[u8]>, repairs: &mut RepairLog) -> io::Result<()> {
        let (now, shown) =
            (parent.map_or(" made a root", |_| " reattached to "), to_string_lossy(parent.unwrap_or_default()));
        let id = to_string_lossy(&self.head.id);
        repairs.push(self.line, &["entry ", &id, now, &shown, ": its parent cannot be read"])?;
        self.set_parent(parent)
    }

    /// Lets a compaction, whose first kept entry is missing, keep entries from another one on.
    pub fn keep_from(&mut self, first: &[u8], repairs: &mut RepairLog) -> io::Result<()> {
        let [id, from] = [&*self.head.id, first].map(to_string_lossy);
        repairs.push(self.line, &["compaction ", &id, " keeps entries from ", &from, " on"])?;
        self.set("firstKeptEntryId", json_string(first)?);
        Ok(())
    }

    /// The entry's line in the new file.
    pub fn line_text(&self, storage: &dyn Storage) -> Result<Vec<u8>> {
        let bytes = bytes_of(storage, &self.source)?;
        if self.edits.is_empty() {
            return Ok(bytes);
        }
        let fail = |error| Error::io("read", storage.name(), error);
        let text = line_text(&bytes).map_err(fail)?;
        let not_an_object = || Error::internal("the line of an entry that is repaired is not an object");
        let mut object = ObjectText::read(&text).map_err(fail)?.ok_or_else(not_an_object)?;
        for (key, value) in &self.edits {
            object.set(key, copy_of(value).map_err(fail)?);
        }
        object.text().map_err(fail)
    }
}
