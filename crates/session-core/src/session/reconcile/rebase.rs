//! Moves a session to the file that replaced its own, or to new content of the same file, if that contains the same
//! session.
//!
//! The entries of the new file count. Entries that were appended here and are missing there are added, with their
//! ancestors, if the old file is still open. If another file has the name by then, the session moves again
//! ([`crate::storage::end_mark`]).
//!
//! Entries that were removed from the file in place are lost, and so are entries that are missing if the old file
//! cannot be read any more.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::base::error::{Error, Result};
use crate::base::memory::{self, collect, copy_of_bytes, insert_into, with_capacity};
use crate::format::entry::{read_line, EntryHead, Line};
use crate::format::header::Version;
use crate::index::load::{load, Loaded};
use crate::index::Index;
use crate::io::owner;
use crate::storage::file::FileStorage;
use crate::storage::storage::{read_into, Storage};
use crate::tree::{IdNo, RowNo};

use super::{CheckDepth, PreviousFile};
use crate::session::append::TRIES;
use crate::session::{ForeignChangeKind, Persistence, RowRemap, Session};
use crate::summary::header_scan::first_header;

impl Session {
    /// Moves to the file that is at the path now. Fails if that is another session.
    pub(super) fn rebase(&mut self, old: PreviousFile, depth: CheckDepth) -> Result<()> {
        let Some(path) = self.file.clone() else {
            return Ok(());
        };
        // A file that another session has locked must not be written, so we wait until the lock is free.
        let free = if depth == CheckDepth::ForRead || !self.is_persisted() { Ok(()) } else { self.lock.wait(&path) };
        let mut storage = self.open_replacement(&path, old)?;
        // Lines that are still being copied to the file must not count as missing in it.
        storage.wait_until_unlocked();
        // The size is read before the content, so that lines that others append after that do not count as known.
        let size = storage.size()?;
        let Some(mut loaded) = load(&storage)?.filter(|loaded| loaded.header.id == self.id) else {
            return Err(Error::changed(&path, "it is not a session any more"));
        };
        if depth == CheckDepth::ForRead && loaded.index.damaged().len() > self.index.damaged().len() {
            // The read that found the damage reports it.
            return Err(Error::changed(&path, "lines of it are damaged"));
        }
        storage.set_unterminated(loaded.is_unterminated);
        storage.set_shared();
        let theirs = loaded.index.tree.len();
        let lines = self.missing_entries(&loaded.index, old, depth)?;
        if !lines.is_empty() {
            free?;
        }
        add(&lines, &mut storage, &mut loaded.index)?;
        let is_missing = |row: RowNo| loaded.index.tree.find(self.tree().id_of(row)).is_none();
        let lost_entries = match old {
            PreviousFile::SameFile => (0..self.tree().len() as RowNo).any(is_missing),
            PreviousFile::Open | PreviousFile::Gone => self.appended.iter().copied().any(is_missing),
        };
        let moved = self.remapped_rows(&loaded.index, theirs, &storage, old)?;
        // Other processes may have changed these entries, but their ids count.
        let mut ours = HashSet::new();
        for &row in &self.appended {
            insert_into(&mut ours, self.tree().id_of(row))?;
        }
        let rows = 0..loaded.index.tree.len() as RowNo;
        let appended = collect(rows.filter(|&row| ours.contains(loaded.index.tree.id_of(row))))?;
        let size = size.max(loaded.index.indexed_end());
        let leaf = self.leaf_in(&loaded.index)?;
        // Nothing after this can fail.
        if !lines.is_empty() {
            self.history.repaired("entries of ours that a replaced file lacked were added to it");
        }
        let known = moved.iter().filter(|row| row.is_some()).count();
        self.history.changed(if lost_entries { ForeignChangeKind::EntriesLost } else { ForeignChangeKind::Replaced });
        self.history.grown(0, theirs.saturating_sub(known));
        self.size = size;
        self.appended = appended;
        self.swap_in(storage, loaded, leaf, moved);
        Ok(())
    }

    /// Opens the file that is at the path now. Fails if it is not this session's.
    fn open_replacement(&self, path: &str, old: PreviousFile) -> Result<FileStorage> {
        let storage = FileStorage::open(path)?.with_durability(self.options.durability);
        let is_empty = storage.size()? == 0;
        if is_empty && old != PreviousFile::Open {
            return Err(Error::lost(path));
        }
        let what = match first_header(&storage)? {
            None if is_empty => "an empty file is there now",
            None => "it is not a session any more",
            Some(header) if header.id != self.id => "another session is there now",
            Some(header) if header.version != Version::Current => "an older version of it is there now",
            Some(_) if old == PreviousFile::SameFile => return Ok(storage),
            Some(_) => return self.check_owner(&storage, old == PreviousFile::Open).map(|()| storage),
        };
        Err(Error::changed(path, what))
    }

    /// Continues with the new file that was read. `moved` contains the old row of each new row.
    fn swap_in(&mut self, storage: FileStorage, loaded: Loaded, leaf: Option<RowNo>, mut moved: Vec<Option<RowNo>>) {
        let Loaded { header, header_span, header_line, mut index, .. } = loaded;
        index.tree.set_leaf(leaf);
        // A header that is too long to be kept counts as changed.
        let same_header = self.header_text.is_some() && self.header_text == header_line;
        let id = std::mem::replace(&mut self.id, header.id);
        let mut before = Self::new(id, Persistence::Memory, self.file.clone());
        // Marked suspect, so that it is read without a check of its name: we know that another file has it.
        *before.is_suspect.get_mut() = true;
        before.header_span = self.header_span.replace(header_span);
        before.header_text = std::mem::replace(&mut self.header_text, header_line);
        before.index = std::mem::replace(&mut self.index, index);
        before.storage = self.storage.replace(Box::new(storage));
        self.lock.recheck();
        self.remap = Some(match self.remap.take() {
            None => Box::new(RowRemap { rows: moved, old: before, same_header }),
            // The session moved twice before the caller asked. Rows map to the rows that the caller knows.
            Some(mut first) => {
                let was = |row: RowNo| first.rows.get(row as usize).copied().flatten();
                moved.iter_mut().for_each(|row| *row = row.and_then(was));
                first.rows = moved;
                first.same_header &= same_header;
                first
            }
        });
    }

    /// Fails if the file that replaced ours belongs neither to this process's user nor to the owner of ours, because it
    /// would get our entries, and others may be able to read it. The owner of our file is read from its handle, if that
    /// is `open`.
    pub(super) fn check_owner(&self, storage: &FileStorage, open: bool) -> Result<()> {
        let Some(found) = storage.metadata()?.filter(|found| !owner::is_trusted(found)) else { return Ok(()) };
        let before = self.storage.as_ref().filter(|_| open).map(|before| before.metadata()).transpose()?.flatten();
        if before.is_some_and(|before| owner::has_same_owner(&found, &before)) {
            Ok(())
        } else {
            Err(Error::changed(storage.name(), "another user's file is there now"))
        }
    }

    /// The entries appended here that are missing in the index of a new file, and their missing ancestors, with their
    /// lines in the old file. Entries that cannot be read there are lost. Their children become orphans, which the
    /// diagnostics report.
    fn missing_entries(&self, index: &Index, old: PreviousFile, depth: CheckDepth) -> Result<Vec<String>> {
        let Some(storage) = self.storage.as_deref().filter(|_| old == PreviousFile::Open) else {
            return Ok(Vec::new());
        };
        let is_there = |row: RowNo| index.tree.find(self.tree().id_of(row)).is_some();
        let mut found = HashSet::new();
        for &row in &self.appended {
            // Another process may have used the id too. The last entry with the id counts.
            let mut at = self.tree().find(self.tree().id_of(row)).filter(|&row| !is_there(row));
            while let Some(row) = at {
                let is_new = insert_into(&mut found, row)?;
                at = self.tree().parent_row(row).filter(|&parent| is_new && !is_there(parent));
            }
        }
        if depth == CheckDepth::ForRead && !found.is_empty() {
            let what = "entries that this process appended are missing from it, which the next append or reload adds";
            return Err(Error::changed(storage.name(), what));
        }
        let mut rows = collect(found)?;
        rows.sort_unstable();
        let mut lines = with_capacity(rows.len())?;
        for row in rows {
            match self.index.line(storage, row) {
                Ok(line) => lines.extend(line),
                // The old file was rewritten before it was replaced.
                Err(error) if error.as_io().is_none() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(lines)
    }

    /// The old row of each row of a new index: the next row with its id, if it has the same content. Rows from `theirs`
    /// on were added here; they are the last rows with their ids. Rows appended here keep the caller's objects, unless
    /// their lines were changed for the new file. Changes of the old file before that do not count, because only the
    /// indexes are compared.
    fn remapped_rows(
        &self,
        new: &Index,
        theirs: usize,
        storage: &dyn Storage,
        old: PreviousFile,
    ) -> Result<Vec<Option<RowNo>>> {
        let mut unpaired: HashMap<IdNo, VecDeque<RowNo>> = HashMap::new();
        for (no, row) in (0..).zip(self.tree().rows()) {
            unpaired.try_reserve(1)?;
            let of_id = unpaired.entry(row.id).or_default();
            of_id.try_reserve(1)?;
            of_id.push_back(no);
        }
        let before = self.storage.as_deref().filter(|_| old == PreviousFile::Open);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut has_same_bytes = |was: RowNo, row: RowNo| -> Result<bool> {
            let (Some(before), Some(from), Some(to)) = (before, self.index.line_span(was), new.line_span(row)) else {
                return Ok(true);
            };
            read_into(storage, to.offset, to.len as usize, &mut b)?;
            if read_into(before, from.offset, from.len as usize, &mut a).is_err() || a == b {
                return Ok(true);
            }
            Ok(self.is_appended_here(was) && self.index.check_line(before, was, &a).is_err())
        };
        let mut rows = with_capacity(new.tree.len())?;
        for row in 0..new.tree.len() as RowNo {
            let of_id = self.tree().id_no(new.tree.id_of(row)).and_then(|id_no| unpaired.get_mut(&id_no));
            let was = of_id.and_then(|rows| if (row as usize) < theirs { rows.pop_front() } else { rows.pop_back() });
            let Some(was) = was.filter(|&was| self.is_same_row(was, new, row)) else {
                rows.push(None);
                continue;
            };
            let is_same = has_same_bytes(was, row)?;
            rows.push(Some(was).filter(|_| is_same));
        }
        Ok(rows)
    }

    /// The leaf in another index: the same entry, else its nearest ancestor there, else the last entry.
    fn leaf_in(&self, index: &Index) -> memory::Result<Option<RowNo>> {
        let Some(leaf) = self.tree().leaf() else { return Ok(None) };
        let path = self.tree().path(leaf)?;
        let kept = path.iter().rev().find_map(|&row| index.tree.find(self.tree().id_of(row)));
        Ok(kept.or_else(|| (index.tree.len() as RowNo).checked_sub(1)))
    }
}

/// Appends lines to a storage and its index.
fn add(lines: &[String], storage: &mut FileStorage, index: &mut Index) -> Result<()> {
    for line in lines {
        read_line(line, |read| match read {
            Line::Entry(head) => add_entry(line, &head, storage, index),
            _ => Ok(()),
        })??;
    }
    Ok(())
}

/// Appends an entry's line, unless another process has just added the entry.
fn add_entry(line: &str, head: &EntryHead<'_>, storage: &mut FileStorage, index: &mut Index) -> Result<()> {
    for _ in 0..TRIES {
        // Reserved before the write, so that adding the entry after it cannot fail.
        index.reserve(head)?;
        let span = storage.append(&mut copy_of_bytes(line.as_bytes())?)?;
        let (mut is_continuation, mut is_there) = (false, false);
        if span.offset > index.indexed_end() {
            if !storage.has_its_name()? {
                return Err(Error::elsewhere(storage.name()));
            }
            is_continuation = index.read_more(storage, span.offset)?;
            is_there = index.tree.find(&head.id).is_some();
        }
        if !is_continuation && !is_there {
            index.push(head, Some(span))?;
            return Ok(());
        }
        storage.rollback_append(span, line.as_bytes())?;
        storage.set_unterminated(is_continuation);
        if is_there {
            return Ok(());
        }
    }
    Err(Error::changed(storage.name(), "other processes keep writing to it; try again later"))
}
