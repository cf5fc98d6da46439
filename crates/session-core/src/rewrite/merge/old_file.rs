//! The lines of the session file that is merged with stored lines.

use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::base::error::{Error, Result, WithCall};
use crate::base::memory::{self, insert, insert_into, push};
use crate::format::entry::{read_line, Line};
use crate::format::header::{Header, Version};
use crate::json::reader::is_json;
use crate::lines::file_window::WHOLE;
use crate::lines::line_reader::{line_text, LineReader};
use crate::storage::storage::Storage;

/// The bytes `from..to` of a file. They are whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub from: u64,
    pub to: u64,
}

/// An entry of the file, and the lines after it that are not entries.
#[derive(Debug)]
pub(super) struct Group {
    pub entry: Range,
    pub rest: Vec<Range>,
    pub is_stored: bool,
}

/// The lines of a session file.
#[derive(Debug)]
pub(super) struct OldFile {
    pub size: u64,
    pub torn_line_start: Option<u64>,
    pub is_unterminated: bool,
    /// The lines at the front, which do not change.
    pub front: Vec<Range>,
    /// The keys of stored lines in the front.
    pub front_keys: HashSet<u128>,
    pub groups: Vec<Group>,
    by_key: HashMap<u128, usize>,
    /// A random seed of the keys, so that nobody can craft two lines with the same key.
    seed: u64,
}

/// The lines of a text that ends with a newline, each without its newline.
pub(super) fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

impl OldFile {
    /// Reads the file of a session. Its first `front` bytes (whole lines, at least everything up to the header) do not
    /// change. Fails if the file is another session's, or has an old version.
    pub(super) fn read(storage: &dyn Storage, session: &str, front: u64, stored: &[u8]) -> Result<Self> {
        let mut old = Self::empty();
        let mut stored_keys = HashSet::new();
        if front > 0 {
            for line in lines_of(stored) {
                insert_into(&mut stored_keys, old.key(line))?;
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
            let is_entry = header.is_some() && line.skipped.is_none() && fault_of_entry(&text)?.is_none();
            if range.from < front {
                push(&mut old.front, range)?;
                let key = old.key(line.bytes);
                if is_entry && stored_keys.contains(&key) {
                    insert_into(&mut old.front_keys, key)?;
                }
            } else {
                old.add(range, line.bytes, is_entry)?;
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
            front_keys: HashSet::new(),
            groups: Vec::new(),
            by_key: HashMap::new(),
            seed: uuid::Uuid::new_v4().as_u64_pair().0,
        }
    }

    /// The key of a line. Equal lines have the same key.
    pub(super) fn key(&self, line: &[u8]) -> u128 {
        xxh3_128_with_seed(line, self.seed)
    }

    fn add(&mut self, range: Range, line: &[u8], is_entry: bool) -> memory::Result<()> {
        if !is_entry {
            return push(self.groups.last_mut().map_or(&mut self.front, |group| &mut group.rest), range);
        }
        let key = self.key(line);
        // A repeated entry is omitted.
        if !self.by_key.contains_key(&key) {
            insert(&mut self.by_key, key, self.groups.len())?;
            push(&mut self.groups, Group { entry: range, rest: Vec::new(), is_stored: false })?;
        }
        Ok(())
    }

    /// Removes a stored entry, with the lines after it, from the file's own entries.
    pub(super) fn take(&mut self, key: u128) -> Option<(Range, Vec<Range>)> {
        let group = self.groups.get_mut(*self.by_key.get(&key)?)?;
        group.is_stored = true;
        Some((group.entry, std::mem::take(&mut group.rest)))
    }
}

/// The reason why a line is not an entry; None if it is one.
pub(super) fn fault_of_entry(text: &str) -> memory::Result<Option<&'static str>> {
    read_line(text, |line| match line {
        Line::Entry(_) => None,
        Line::Header => Some("a header"),
        Line::Blank => Some("blank"),
        Line::Damaged(damage) => Some(damage.reason()),
    })
}
