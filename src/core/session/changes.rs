//! What happens when the file changes underneath: grown, deleted, renamed, replaced or cut by somebody else.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::core::diagnostics::Change;
use crate::core::entry::{read_line, Line};
use crate::core::error::{Error, Result};
use crate::core::header::Version;
use crate::core::load::{load, Index, Loaded};
use crate::core::storage::{disk, make_dir_of, FileStorage, Look, NewFile, Place, Storage};
use crate::core::tree::{ParentRef, RowNo};

use super::{first_header, Moved, Persistence, Session};

const WRITTEN_AGAIN: &str = "the deleted, renamed or emptied file was written again, whole";

/// How many bytes are copied at once.
const CHUNK: usize = 1 << 20;

impl Session {
    /// Takes in what others have written to the file since; the leaf stays. A file that was deleted is written again,
    /// one that was replaced or cut is adopted if it holds the same session.
    pub fn take_in_foreign(&mut self) -> Result<()> {
        self.look(false)
    }

    /// The same, and notices a rename even where one look cannot.
    pub fn reload(&mut self) -> Result<()> {
        self.look(true)
    }

    /// Looks at the file as `reload` does, and waits until the disk has it.
    pub fn flush(&mut self) -> Result<()> {
        self.look(true)?;
        match self.storage.as_mut().filter(|_| self.persistence == Persistence::File) {
            Some(storage) => storage.flush(),
            None => Ok(()),
        }
    }

    /// Lets go of the file and of the lock. The session goes on: the next call that needs the file opens it again, the
    /// next append takes the lock again.
    pub fn close(&mut self) {
        if let Some(storage) = self.storage.as_mut() {
            storage.close();
        }
        self.release_lock();
    }

    /// After the file was replaced rows have other numbers: what they were before, once.
    pub fn take_moved(&mut self) -> Option<Moved> {
        self.moved.take().map(|moved| *moved)
    }

    fn look(&mut self, thorough: bool) -> Result<()> {
        let Some(storage) = self.storage.as_ref().filter(|_| self.persistence == Persistence::File) else {
            return Ok(());
        };
        match storage.look(thorough)? {
            Look::Here(size) if size == self.size => Ok(()),
            Look::Here(size) if size > self.size => self.take_in(size),
            Look::Here(_) => self.adopt(Change::Truncated, true),
            Look::Gone { readable: false, .. } => Err(Error::lost(storage.name())),
            Look::Gone { deleted, .. } => {
                self.restore()?;
                self.notes.changed(if deleted { Change::Deleted } else { Change::Renamed });
                Ok(())
            }
            Look::Replaced { readable } => self.adopt(Change::Replaced, readable),
        }
    }

    fn take_in(&mut self, size: u64) -> Result<()> {
        self.share();
        let Some(storage) = self.storage.as_mut() else {
            return Ok(());
        };
        let before = self.index.tree.len();
        let unended = self.index.read_more(&**storage)?;
        storage.set_unended(unended);
        let grown = size - self.size;
        self.size = size.max(self.index.read_to());
        self.notes.grown(grown, self.index.tree.len() - before);
        Ok(())
    }

    /// Writes a file that is gone again, byte by byte what it was: entries keep their places.
    fn restore(&mut self) -> Result<()> {
        let Some(storage) = self.storage.as_ref() else {
            return Ok(());
        };
        let name = storage.name().to_owned();
        make_dir_of(&name, self.options.durability)?;
        let mut file = NewFile::create(&name)?;
        let unended = copy(&**storage, &mut |bytes| file.bytes(bytes))?;
        let mut restored = file.finish_safely(self.options.durability)?;
        restored.set_unended(unended);
        self.size = restored.size()?;
        self.storage = Some(Box::new(restored));
        self.forget_lock();
        // Others may have written to the old file until the end.
        let size = self.size;
        if size > self.index.read_to() {
            self.take_in(size)?;
        }
        self.notes.repaired(WRITTEN_AGAIN);
        Ok(())
    }

    /// Writes a session whose file is lost again, from the lines of its header and every entry as the caller has them.
    pub fn rewrite<'a>(&mut self, lines: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        let Some(path) = self.file.clone() else {
            return Ok(());
        };
        let fail = |error| Error::io("stat", &path, error);
        let mut places = Vec::with_capacity(self.tree().len() + 1);
        let storage = match disk::stat_path(Path::new(&path)).map_err(fail)? {
            None => {
                make_dir_of(&path, self.options.durability)?;
                let mut file = NewFile::create(&path)?;
                for line in lines {
                    places.push(file.line(line)?);
                }
                file.finish_safely(self.options.durability)?
            }
            Some(now) if now.size == 0 => {
                let mut all = Vec::new();
                for line in lines {
                    places.push(Place::of(all.len() as u64, line.len()));
                    all.extend_from_slice(line);
                    all.push(b'\n');
                }
                all.pop();
                let mut storage = FileStorage::open(&path)?.with_durability(self.options.durability);
                self.fill(&mut storage, &mut all)?;
                storage
            }
            Some(_) => return Err(Error::changed(&path, "another file has taken its place")),
        };
        self.forget_lock();
        self.adopt_file(storage, places, Vec::new());
        self.notes.repaired(WRITTEN_AGAIN);
        Ok(())
    }

    /// Writes a whole session into an empty file.
    fn fill(&self, storage: &mut FileStorage, all: &mut Vec<u8>) -> Result<()> {
        let place = storage.append(all)?;
        if place.offset == 0 {
            return Ok(());
        }
        storage.set_shared();
        storage.take_back(place)?;
        Err(Error::changed(storage.name(), "another process writes to it"))
    }

    /// Goes on in what is at the path now, if it is the same session: entries come from there. What was appended here
    /// and is not there is added, as far as the old file can still be read.
    fn adopt(&mut self, change: Change, readable: bool) -> Result<()> {
        let Some(path) = self.file.clone() else {
            return Ok(());
        };
        let mut storage = FileStorage::open(&path)?.with_durability(self.options.durability);
        if storage.size()? == 0 {
            return self.fill_emptied(storage, &path, change, readable);
        }
        match first_header(&storage)? {
            None => return Err(Error::changed(&path, "it is no session any more")),
            Some(header) if header.id != self.id => return Err(Error::changed(&path, "another session is there now")),
            Some(header) if header.version != Version::Current => {
                return Err(Error::changed(&path, "an older version of it is there now"));
            }
            Some(_) => {}
        }
        let Some(Loaded { header_place, mut index, unended, .. }) = load(&storage)? else {
            return Err(Error::changed(&path, "it is no session any more"));
        };
        storage.set_unended(unended);
        storage.set_shared();
        let (theirs, added) = (index.tree.len(), self.add_own(&mut storage, &mut index, readable)?);
        if added > 0 {
            self.notes.repaired("entries of ours that a replaced file lacked were added to it");
        }
        let moved = moved_rows(&self.index, &index);
        let leaf = self.leaf_in(&index);
        index.tree.set_leaf(leaf);
        self.own = own_rows(&self.own, &self.index, &index);
        self.size = storage.size()?.max(index.read_to());
        let known = moved.iter().filter(|row| row.is_some()).count();
        let mut old = Self::new(self.id.clone(), Persistence::Memory, self.file.clone());
        old.header_place = self.header_place.replace(header_place);
        old.index = std::mem::replace(&mut self.index, index);
        old.storage = self.storage.replace(Box::new(storage));
        self.forget_lock();
        self.moved = Some(match self.moved.take() {
            None => Box::new(Moved { rows: moved, old }),
            // Moved twice since somebody asked: rows are followed to where they were at first.
            Some(mut first) => {
                let was = |row: RowNo| first.rows.get(row as usize).copied().flatten();
                first.rows = moved.into_iter().map(|row| row.and_then(was)).collect();
                first
            }
        });
        self.notes.changed(change);
        self.notes.grown(0, theirs.saturating_sub(known));
        Ok(())
    }

    /// An empty file has no bytes of anybody: all of ours go there, if they can still be read.
    fn fill_emptied(&mut self, mut storage: FileStorage, path: &str, change: Change, readable: bool) -> Result<()> {
        let old = self.storage.as_ref().filter(|_| readable && change == Change::Replaced);
        let Some(old) = old else {
            return Err(Error::lost(path));
        };
        let mut all = Vec::new();
        copy(&**old, &mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        if all.last() == Some(&b'\n') {
            all.pop();
        }
        self.fill(&mut storage, &mut all)?;
        self.size = storage.size()?;
        self.storage = Some(Box::new(storage));
        self.notes.changed(change);
        self.notes.repaired(WRITTEN_AGAIN);
        let size = self.size;
        match size > self.index.read_to() {
            true => self.take_in(size),
            false => Ok(()),
        }
    }

    /// Adds the entries that were appended here and are not in another index, with their lines. Tells how many.
    fn add_own(&self, storage: &mut FileStorage, index: &mut Index, readable: bool) -> Result<usize> {
        let Some(old) = self.storage.as_ref().filter(|_| readable) else {
            return Ok(0);
        };
        let mut added = 0;
        for row in self.own.iter().flat_map(|&(first, end)| first..end) {
            if index.tree.find(self.tree().id_of(row)).is_some() {
                continue;
            }
            let text = match self.index.line(&**old, row) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                // Where the file was cut in place nothing is left to read, or something else stands there.
                Err(error) if error.as_io().is_none() => continue,
                Err(error) => return Err(error),
            };
            let place = storage.append(&mut text.clone().into_bytes())?;
            if place.offset > index.read_to() {
                index.read_more_until(storage, place.offset)?;
            }
            read_line(&text, |line| {
                if let Line::Entry(head) = line {
                    index.push(&head, Some(place));
                }
            });
            added += 1;
        }
        Ok(added)
    }

    /// The leaf in another index: the same entry, or the nearest before it that is there, or the last of all.
    fn leaf_in(&self, index: &Index) -> Option<RowNo> {
        let leaf = self.tree().leaf()?;
        let path = self.tree().path(leaf);
        let kept = path.iter().rev().find_map(|&row| index.tree.find(self.tree().id_of(row)));
        kept.or_else(|| (index.tree.len() as RowNo).checked_sub(1))
    }
}

/// Hands on all bytes of a storage. Tells whether they end in the middle of a line.
fn copy(storage: &dyn Storage, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
    let mut reader = storage.reader(0)?;
    let mut buffer = vec![0; CHUNK.min(storage.size()? as usize + 1)];
    let mut last = b'\n';
    loop {
        let size = match reader.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            result => result.map_err(|error| Error::io("read", storage.name(), error))?,
        };
        let bytes = buffer.get(..size).unwrap_or_default();
        match bytes.last() {
            None => return Ok(last != b'\n'),
            Some(&byte) => last = byte,
        }
        each(bytes)?;
    }
}

/// For each row of the new index the row it was in the old one: the same id, of several the same in order, and the
/// same in what the index knows.
fn moved_rows(old: &Index, new: &Index) -> Vec<Option<RowNo>> {
    let mut by_id: HashMap<&[u8], std::collections::VecDeque<RowNo>> = HashMap::new();
    for row in 0..old.tree.len() as RowNo {
        by_id.entry(old.tree.id_of(row)).or_default().push_back(row);
    }
    let rows = 0..new.tree.len() as RowNo;
    rows.map(|row| by_id.get_mut(new.tree.id_of(row))?.pop_front().filter(|&was| is_same(old, was, new, row))).collect()
}

fn is_same(old: &Index, was: RowNo, new: &Index, row: RowNo) -> bool {
    let (Some(a), Some(b)) = (old.tree.row(was), new.tree.row(row)) else {
        return false;
    };
    let length = |index: &Index, row| index.place(row).map(|place| place.len);
    let parent = |index: &Index, of: ParentRef| match of {
        ParentRef::Id(sym) => Some(index.tree.id_bytes(sym).to_vec()),
        _ => None,
    };
    a.kind == b.kind && length(old, was) == length(new, row) && parent(old, a.parent) == parent(new, b.parent)
}

/// The rows of a new index that carry the ids of own rows of the old one, whatever others made of them.
fn own_rows(own: &[(RowNo, RowNo)], old: &Index, new: &Index) -> Vec<(RowNo, RowNo)> {
    let ids: HashSet<&[u8]> = own.iter().flat_map(|&(first, end)| first..end).map(|row| old.tree.id_of(row)).collect();
    let mut now: Vec<(RowNo, RowNo)> = Vec::new();
    for row in (0..new.tree.len() as RowNo).filter(|&row| ids.contains(new.tree.id_of(row))) {
        match now.last_mut().filter(|(_, end)| *end == row) {
            Some((_, end)) => *end += 1,
            None => now.push((row, row + 1)),
        }
    }
    now
}
