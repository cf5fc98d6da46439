//! The content of the merged file, as pieces of the old one and new lines.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Write;

use serde::Serialize;

use super::ids::{Ids, RenamedEntry};
use super::old_file::{id_in_line, OldFile, Range};
use super::stored::StoredLines;
use crate::base::error::{Error, Result};
use crate::base::memory::{self, copy_of, extend, insert_into, push};
use crate::base::wtf8::copy_lossy;
use crate::io::line_reader::line_text;
use crate::io::line_span::LineSpan;
use crate::rewrite::new_ids::NewIds;
use crate::rewrite::replace::{write_line, ReadTo, Rewrite};
use crate::storage::storage::{bytes_at, copy_bytes, Storage};

/// A piece of the new file.
#[derive(Debug)]
enum Piece<'a> {
    Old(Range),
    New(Cow<'a, [u8]>),
}

/// The report on a merge.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Merged {
    /// Nothing was done: all stored lines are needed.
    pub needs_all: bool,
    /// Nothing was done: an entry of the file that is not stored has an id that a stored one has, or refers to an entry that gets
    /// a new id. It must be stored first.
    pub needs_push: bool,
    /// Whether the file was written.
    pub changed: bool,
    /// Stored lines that the file did not have.
    pub added: u64,
    /// Entries of the file that are not stored.
    pub unstored: u64,
    /// How many bytes of the file hold the stored lines in their order.
    pub stored_bytes: u64,
    /// The inode number of the file that this report is about, which another process may have replaced since. Empty if nothing was done.
    pub inode: String,
    /// The entries of the file that got a new id.
    pub renamed: Vec<RenamedEntry>,
}

/// The merged file.
#[derive(Debug)]
pub struct MergeLayout<'a> {
    pieces: Vec<Piece<'a>>,
    read: ReadTo,
    /// Where the newline of the old file's unterminated line goes.
    missing_newline_at: Option<u64>,
    /// What it says of the lines.
    pub report: Merged,
}

fn not_an_entry(number: usize, reason: &str) -> Error {
    Error::argument(format!("line {number} of `lines` is not an entry: {reason}"))
}

impl Merged {
    /// The report that nothing was done: one of the stored lines belongs to the front, or has an id that is used there.
    pub fn needs_all() -> Self {
        Self { needs_all: true, ..Self::default() }
    }
}

impl<'a> MergeLayout<'a> {
    /// The merged file, or the report on what it needs first.
    pub fn of(storage: &dyn Storage, mut old: OldFile, stored: StoredLines<'a>) -> Result<Result<Self, Merged>> {
        let mut layout = Self {
            pieces: Vec::new(),
            read: ReadTo::all(old.size, old.torn_line_start),
            missing_newline_at: Some(old.size).filter(|_| old.is_unterminated),
            report: Merged::default(),
        };
        old.front.iter().try_for_each(|&range| layout.push_old(range))?;
        let mut ids = Ids::default();
        let mut own = NewIds::default();
        if !layout.place_stored(&mut old, stored, (&mut ids, &mut own))? {
            return Ok(Err(Merged::needs_all()));
        }
        layout.report.stored_bytes = layout.length();
        for group in old.groups.iter().filter(|group| !group.is_stored) {
            layout.report.unstored += 1;
            let bytes =
                bytes_at(storage, LineSpan::of(group.entry.from, (group.entry.to - group.entry.from) as usize))?;
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            // The push of this line may be under way: an edited copy of it would become a second entry. How it is to be edited is
            // known once it has its place in the store.
            let is_in_front = old.front_ids.contains_key(&group.id);
            if (!is_in_front && ids.is_taken(&group.id)) || own.edited(line, None)?.is_some() {
                return Ok(Err(Merged { needs_push: true, ..Merged::default() }));
            }
            let ranges = std::iter::once(group.entry).chain(group.rest.iter().copied());
            ranges.into_iter().try_for_each(|range| layout.push_old(range))?;
        }
        if old.has_front_entries && !layout.report.renamed.is_empty() {
            return Ok(Err(Merged::needs_all()));
        }
        Ok(Ok(layout))
    }

    /// Whether it differs from the old file.
    pub fn is_changed(&self) -> bool {
        !matches!(self.pieces.as_slice(), [Piece::Old(Range { from: 0, to })] if *to == self.read.end)
    }

    /// Adds the stored lines. False if those at the front are needed as well. `own` gets the new ids of entries that have
    /// their old ids in this file: the file's references to them follow.
    fn place_stored(
        &mut self,
        old: &mut OldFile,
        stored: StoredLines<'a>,
        (ids, own): (&mut Ids, &mut NewIds),
    ) -> Result<bool> {
        let mut by_host: HashMap<u32, NewIds> = HashMap::new();
        let mut seen = HashSet::new();
        let mut has_new = false;
        for (index, line) in stored.iter().enumerate() {
            let key = old.key(line.bytes);
            if !insert_into(&mut seen, key)? {
                continue;
            }
            let id = id_in_line(&line_text(line.bytes)?)?.map_err(|reason| not_an_entry(index + 1, reason))?;
            match old.front_ids.get(&id) {
                // It is in front already. A line that comes before it in the store's order belongs there, too.
                Some(&known) if known == key && !has_new => continue,
                Some(_) => return Ok(false),
                None => {}
            }
            has_new = true;
            let new = ids.add(&id, line.host, line.bytes)?;
            by_host.try_reserve(1)?;
            let host = by_host.entry(line.host).or_default();
            let as_stored = old.take(key);
            if let Some(new) = &new {
                self.rename(&id, new, host)?;
                if as_stored.is_some() {
                    own.insert(&id, new)?;
                }
            }
            // What refers to itself goes on to do so.
            let edited = host.edited(line.bytes, new.as_deref())?;
            // The file may have it as it is stored, edited, or both.
            let is_in_file = as_stored.is_some();
            let (entry, rest) = as_stored.unzip();
            let mut rest = rest.unwrap_or_default();
            let (entry, line) = match edited {
                None => (entry, line.bytes.into()),
                Some(edited) => {
                    let key = old.key(&edited);
                    if !insert_into(&mut seen, key)? {
                        rest.into_iter().try_for_each(|range| self.push_old(range))?;
                        continue;
                    }
                    let (entry, after) = old.take(key).unzip();
                    extend(&mut rest, after.into_iter().flatten())?;
                    (entry, edited.into())
                }
            };
            self.report.added += u64::from(!is_in_file && entry.is_none());
            match entry {
                Some(entry) => self.push_old(entry),
                None => push(&mut self.pieces, Piece::New(line)),
            }?;
            rest.into_iter().try_for_each(|range| self.push_old(range))?;
        }
        Ok(true)
    }

    fn rename(&mut self, old: &[u8], new: &str, ids: &mut NewIds) -> memory::Result<()> {
        ids.insert(old, new)?;
        push(&mut self.report.renamed, RenamedEntry { id: copy_lossy(old)?, new_id: copy_of(new)? })
    }

    /// Adds a range of the old file. It extends the last piece if that ends where the range begins.
    fn push_old(&mut self, range: Range) -> memory::Result<()> {
        match self.pieces.last_mut() {
            Some(Piece::Old(last)) if last.to == range.from => last.to = range.to,
            _ => push(&mut self.pieces, Piece::Old(range))?,
        }
        Ok(())
    }

    fn length(&self) -> u64 {
        let length = |piece: &Piece<'_>| match piece {
            Piece::Old(range) => range.to - range.from + u64::from(self.missing_newline_at == Some(range.to)),
            Piece::New(line) => line.len() as u64 + 1,
        };
        self.pieces.iter().map(length).sum()
    }
}

impl Rewrite for MergeLayout<'_> {
    fn write(&mut self, old: &dyn Storage, out: &mut dyn Write) -> Result<ReadTo> {
        for piece in &self.pieces {
            match piece {
                Piece::Old(range) => {
                    copy_bytes(old, range.from, range.to, &mut |bytes| write_line(out, bytes, false, old.name()))?;
                    if self.missing_newline_at == Some(range.to) {
                        write_line(out, b"", true, old.name())?;
                    }
                }
                Piece::New(line) => write_line(out, line, true, old.name())?,
            }
        }
        Ok(self.read)
    }
}
