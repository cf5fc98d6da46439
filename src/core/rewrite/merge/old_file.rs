//! The lines of a session file that stored lines are merged with.

use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::stored::StoredLines;
use crate::base::error::{Error, Result, WithCall};
use crate::base::memory::{self, copy_of_bytes, insert, insert_into, push};
use crate::format::entry::{read_line, Line};
use crate::format::header::{Header, Version};
use crate::io::line_reader::{line_text, LineReader, WHOLE};
use crate::json::reader::is_json;
use crate::storage::storage::Storage;

/// The bytes `from..to` of a file, whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub from: u64,
    pub to: u64,
}

/// An entry of the file, and the lines after it that are not entries.
#[derive(Debug)]
pub struct Group {
    pub id: Vec<u8>,
    pub entry: Range,
    pub rest: Vec<Range>,
    pub is_stored: bool,
}

/// The lines of a session file.
#[derive(Debug)]
pub struct OldFile {
    pub size: u64,
    pub torn_line_start: Option<u64>,
    pub is_unterminated: bool,
    /// The lines at the front, which stay as they are.
    pub front: Vec<Range>,
    /// Ids of stored lines that entries in front have, with the key of the last line that has it.
    pub front_ids: HashMap<Vec<u8>, u128>,
    pub has_front_entries: bool,
    pub groups: Vec<Group>,
    by_key: HashMap<u128, usize>,
    /// Makes keys that nobody can predict, so that nobody can craft two lines with one key.
    seed: u64,
}

impl OldFile {
    /// Reads the file of a session. The first `front` bytes, whole lines, stay as they are; at least everything up to the header
    /// does. An error if it is the file of another session, or of an old version.
    pub fn read(storage: &dyn Storage, session: &str, front: u64, stored: StoredLines<'_>) -> Result<Self> {
        let mut old = Self::empty();
        let mut stored_ids = HashSet::new();
        for line in stored.iter().filter(|_| front > 0) {
            if let Ok(id) = id_in_line(&line_text(line.bytes)?)? {
                insert_into(&mut stored_ids, id)?;
            }
        }
        let mut header = None;
        let mut reader = LineReader::new(storage.reader(0)?, 0, WHOLE);
        while let Some(line) = reader.next_line().with_call("read", storage.name())? {
            let range = Range { from: line.offset, to: line.end() };
            (old.size, old.is_unterminated) = (range.to, !line.is_terminated);
            let text = line_text(line.bytes)?;
            old.torn_line_start = line.is_torn()?.then_some(range.from);
            if header.is_none() && line.skipped.is_none() && is_json(&text) {
                header = Some(Header::read(&text)?.ok_or_else(|| Error::not_a_session(storage.name()))?);
            }
            let id = match line.skipped {
                Some(_) => None,
                None => id_in_line(&text)?.ok(),
            };
            let id = id.filter(|_| header.is_some());
            if range.from < front {
                old.add_front(range, line.bytes, id, &stored_ids)?;
            } else {
                old.add(range, line.bytes, id)?;
            }
        }
        let header = header.ok_or_else(|| Error::not_a_session(storage.name()))?;
        if header.id != session.as_bytes() {
            return Err(Error::changed(storage.name(), "it is another session's"));
        }
        match header.version {
            Version::Current => Ok(old),
            _ => Err(Error::changed(storage.name(), "it is of an old version; open it once, which migrates it")),
        }
    }

    fn empty() -> Self {
        Self {
            size: 0,
            torn_line_start: None,
            is_unterminated: false,
            front: Vec::new(),
            front_ids: HashMap::new(),
            has_front_entries: false,
            groups: Vec::new(),
            by_key: HashMap::new(),
            seed: uuid::Uuid::new_v4().as_u64_pair().0,
        }
    }

    /// The key of a line: equal lines have one.
    pub fn key(&self, line: &[u8]) -> u128 {
        xxh3_128_with_seed(line, self.seed)
    }

    fn add_front(
        &mut self,
        range: Range,
        line: &[u8],
        id: Option<Vec<u8>>,
        stored_ids: &HashSet<Vec<u8>>,
    ) -> memory::Result<()> {
        push(&mut self.front, range)?;
        self.has_front_entries |= id.is_some();
        if let Some(id) = id.filter(|id| stored_ids.contains(id)) {
            let key = self.key(line);
            insert(&mut self.front_ids, id, key)?;
        }
        Ok(())
    }

    fn add(&mut self, range: Range, line: &[u8], id: Option<Vec<u8>>) -> memory::Result<()> {
        let Some(id) = id else {
            return push(self.groups.last_mut().map_or(&mut self.front, |group| &mut group.rest), range);
        };
        let key = self.key(line);
        // A repeated entry is not kept again.
        if !self.by_key.contains_key(&key) {
            insert(&mut self.by_key, key, self.groups.len())?;
            push(&mut self.groups, Group { id, entry: range, rest: Vec::new(), is_stored: false })?;
        }
        Ok(())
    }

    /// Takes an entry that is stored, with the lines after it, out of the file's own.
    pub fn take(&mut self, key: u128) -> Option<(Range, Vec<Range>)> {
        let group = self.groups.get_mut(*self.by_key.get(&key)?)?;
        group.is_stored = true;
        Some((group.entry, std::mem::take(&mut group.rest)))
    }
}

/// The id of a line that is an entry; else why it is not one.
pub fn id_in_line(text: &str) -> memory::Result<std::result::Result<Vec<u8>, &'static str>> {
    read_line(text, |line| match line {
        Line::Entry(head) => Ok(Ok(copy_of_bytes(&head.id)?)),
        Line::Header => Ok(Err("a header")),
        Line::Blank => Ok(Err("blank")),
        Line::Damaged(damage) => Ok(Err(damage.reason())),
    })?
}
