//! Appending one line.
//!
//! A check before the write (`statx`, or `fstat` where there is none) tells whether the file is still there, and whether it
//! has grown. After the write `lseek` tells where the line is. What other processes wrote in between is before it and is read
//! first. In two cases the line is rolled back and written again:
//! - It continues an unterminated line of another process: it is written on a line of its own.
//! - Another process has used the same id meanwhile: it is written with a new id.
//!
//! If two processes choose one id at the same moment, the one whose line is later in the file sees the other's line and takes
//! its own back. So ids stay unique without a lock.

use crate::base::error::{part, Error, Result};
use crate::base::wtf8::shown;
use crate::format::entry::EntryKind;
use crate::format::serialize::{line, Envelope, NewHead};
use crate::io::line_span::LineSpan;
use crate::tree::tree::RowNo;

use super::session::{check_length, Session};

/// How often a line is written before the append fails.
const TRIES: usize = 8;

/// The parent of a new entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentChoice {
    /// The leaf.
    Leaf,
    Row(RowNo),
    /// None: the entry becomes a root.
    Root,
}

/// What the next append does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendPlan {
    /// The caller keeps the entry: nothing is written.
    Keep,
    WriteLine,
    /// Makes the file, with the header and all entries.
    MakeFile {
        /// How many entries there are before the new one: it tells whether any was added since their lines were made.
        entries: usize,
    },
}

/// An entry to be written.
#[derive(Debug)]
pub struct NewEntry<'a> {
    pub kind: EntryKind,
    pub head: &'a NewHead,
    /// The JSON text of an object with its own fields; not read if the caller keeps the entry.
    pub own_fields: &'a [u8],
    pub below: ParentChoice,
    /// An id that its own fields refer to already.
    pub id: Option<&'a str>,
    /// Its time, ms since 1970.
    pub time: f64,
    /// The same in ISO 8601.
    pub timestamp: &'a str,
}

/// What happened to a line that was written.
enum Landing {
    Kept,
    /// It was rolled back and must be written again.
    RolledBack,
}

impl Session {
    /// What an append of this entry is going to do.
    pub fn append_plan(&self, head: &NewHead) -> AppendPlan {
        if self.writes_lines() {
            AppendPlan::WriteLine
        } else if self.makes_file_with(head) {
            AppendPlan::MakeFile { entries: self.tree().len() }
        } else {
            AppendPlan::Keep
        }
    }

    /// Adds an entry to a session that has no file yet. `before` are the lines of the header and of all entries, if the append
    /// makes the file.
    pub fn append_without_file(&mut self, new: &NewEntry<'_>, before: &[Vec<u8>]) -> Result<RowNo> {
        let envelope = self.envelope(self.parent_row(new.below), new.time, new.timestamp.to_owned());
        let mut envelope = envelope.map_err(|error| self.no_memory(error))?;
        if let Some(id) = new.id {
            id.clone_into(&mut envelope.id);
        }
        let head = new.head.with(new.kind, &envelope);
        if !self.makes_file_with(new.head) {
            return self.push_local(&head, None);
        }
        let last = line(new.kind, &envelope, new.own_fields)?;
        let lines = before.iter().map(Vec::as_slice).chain(std::iter::once(last.as_slice()));
        self.make_file(lines, Some(&head))?;
        Ok(self.tree().len() as RowNo - 1)
    }

    fn parent_row(&self, below: ParentChoice) -> Option<RowNo> {
        match below {
            ParentChoice::Leaf => self.tree().leaf(),
            ParentChoice::Row(row) => Some(row),
            ParentChoice::Root => None,
        }
    }

    /// Writes an entry's line and adds the entry. What other processes wrote is read first; the leaf moves to the new
    /// entry.
    pub fn append(&mut self, new: &NewEntry<'_>) -> Result<RowNo> {
        for left in (0..TRIES).rev() {
            self.take_lock()?;
            self.refresh()?;
            if self.check_lock()? {
                continue;
            }
            let parent = self.parent_row(self.parent_now(new.below)?);
            let envelope = self.envelope(parent, new.time, new.timestamp.to_owned());
            let mut envelope = envelope.map_err(|error| self.no_memory(error))?;
            if let Some(id) = new.id {
                if self.tree().find(id.as_bytes()).is_some() {
                    return Err(self.id_taken(id));
                }
                id.clone_into(&mut envelope.id);
            }
            let head = new.head.with(new.kind, &envelope);
            // After the write there is nothing that may fail.
            self.reserve(&head)?;
            let Some(storage) = self.storage.as_mut() else {
                return self.push_local(&head, None);
            };
            let mut text = line(new.kind, &envelope, new.own_fields)?;
            check_length(&text, self.file.as_deref().unwrap_or_default())?;
            let span = match storage.append(&mut text) {
                // Another file took its name before it was opened for writing.
                Err(error) if error.needs_file_check() && left > 0 => {
                    self.mark_suspect();
                    continue;
                }
                result => result?,
            };
            // A newline may precede it that ends another writer's last line.
            let start = span.offset - (text.len() as u64 - 1 - u64::from(span.len));
            if start == self.size && self.index.indexed_end() == start {
                self.size = span.end() + 1;
                return self.push_local(&head, Some(span));
            }
            let end = text.len() - usize::from(text.ends_with(b"\n"));
            let own = part(&text, end.saturating_sub(span.len as usize)..end, "the appended line")?;
            match self.check_landing(span, start, (&envelope, own), new)? {
                Landing::Kept => return self.push_local(&head, Some(span)),
                Landing::RolledBack => {}
            }
        }
        Err(Error::changed(self.file().unwrap_or_default(), "other processes keep writing into the same place"))
    }

    /// The row of the parent that the caller chose: the file may have been replaced since.
    fn parent_now(&self, below: ParentChoice) -> Result<ParentChoice> {
        let (ParentChoice::Row(old), Some(moved)) = (below, &self.remap) else {
            return Ok(below);
        };
        let id = moved.old.tree().id_of(old);
        // If the row is gone, the entry with its id counts.
        let now = moved.rows.iter().position(|before| *before == Some(old)).map(|row| row as RowNo);
        let row = now.or_else(|| self.tree().find(id));
        row.map(ParentChoice::Row).ok_or_else(|| Error::entry_not_found(shown(id)))
    }

    /// Checks what precedes a line that was not written where it was expected, or was written after an unterminated line.
    fn check_landing(
        &mut self,
        span: LineSpan,
        start: u64,
        (envelope, line): (&Envelope, &[u8]),
        new: &NewEntry<'_>,
    ) -> Result<Landing> {
        let expected = self.size;
        let has_same_ends = if start > expected { self.has_same_ends() } else { Ok(start == expected) };
        if !matches!(has_same_ends, Ok(true)) {
            // The file was truncated or rewritten a moment before; the next check takes that in.
            self.roll_back(span, line)?;
            self.mark_suspect();
            return has_same_ends.map(|_| Landing::RolledBack);
        }
        if start > expected {
            self.share();
        }
        let before = self.tree().len();
        let Some(storage) = self.storage.as_ref() else {
            return Ok(Landing::RolledBack);
        };
        let read = self.index.read_more_until(&**storage, span.offset);
        let has_room = |is_unterminated| self.reserve(&new.head.with(new.kind, envelope)).map(|()| is_unterminated);
        let is_unterminated = match read.and_then(has_room) {
            Ok(is_unterminated) => is_unterminated,
            Err(error) => {
                self.roll_back(span, line)?;
                return Err(error);
            }
        };
        self.history.grown(start - expected, self.tree().len() - before);
        if is_unterminated && span.offset == start {
            // The unterminated line is ended by the newline after the spaces, or by the one that the next try begins with.
            self.roll_back(span, line)?;
            if let Some(storage) = self.storage.as_mut() {
                storage.set_unterminated(true);
            }
            self.size = self.index.indexed_end();
            self.history.repaired(
                "a line that continued another process's unterminated line was written again on a line of its own",
            );
            return Ok(Landing::RolledBack);
        }
        if self.tree().find(envelope.id.as_bytes()).is_some() {
            self.roll_back(span, line)?;
            self.size = span.offset;
            self.history.repaired("an id that another process chose at the same moment was chosen again");
            if new.id.is_some() {
                return Err(self.id_taken(&envelope.id));
            }
            return Ok(Landing::RolledBack);
        }
        self.size = span.end() + 1;
        Ok(Landing::Kept)
    }

    fn id_taken(&self, id: &str) -> Error {
        let what = format!("another process has just taken the id {id}; append again");
        Error::changed(self.file().unwrap_or_default(), what)
    }

    fn roll_back(&mut self, span: LineSpan, line: &[u8]) -> Result<()> {
        match self.storage.as_mut() {
            Some(storage) => storage.rollback_append(span, line),
            None => Ok(()),
        }
    }
}
