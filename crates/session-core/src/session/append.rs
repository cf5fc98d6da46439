//! Appends one line.
//!
//! A check before the write (`statx`, or `fstat` where there is none) shows whether the file still exists and whether
//! it has grown. After the write `lseek` returns the position of the line. Lines that other processes wrote in between
//! precede it, and are read first. In two cases the line is rolled back and written again:
//! - It continues an unterminated line of another process. It is written again on a line of its own.
//! - Another process has used the same id in the meantime. It is written again with a new id.
//!
//! If two processes choose one id at the same moment, the process whose line is later in the file sees the other's line
//! and rolls its own back. So ids stay unique without a lock.
//!
//! A line that is not at the expected position may be in a file that has lost its name. Then the session searches the
//! file that has the name now, and writes the line there if it is missing ([`crate::storage::end_mark`]).

use std::borrow::Cow;
use std::cell::Cell;

use crate::base::error::{part, Error, Result};
use crate::base::memory::{self, copy_of_bytes, keep, reserve, with_capacity};
use crate::base::time::timestamp;
use crate::base::wtf8::shown;
use crate::format::entry::EntryKind;
use crate::format::serialize::{line, push_line, Envelope, NewHead};
use crate::format::session_entry::OwnFields;
use crate::lines::line_span::LineSpan;
use crate::storage::new_file::NewFile;
use crate::storage::storage::FileStatus;
use crate::tree::RowNo;

use super::session::{check_length, Session};

thread_local! {
    /// The buffer for the next line.
    static LINE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// How often a line is written before the append fails. A second time is needed only if another writer chose the same
/// id (1 in 2^32), or replaced the file between our check and our write. If it happens this often in a row, a program
/// replaces the file all the time.
pub(super) const TRIES: usize = 8;

/// The parent of a new entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParentChoice {
    /// The leaf. Appends of other processes do not move it.
    Leaf,
    /// The entry with this id, WTF-8.
    Id(Vec<u8>),
    /// No parent: the entry becomes a root.
    Root,
}

/// The effect of the next append, for a session whose entries the caller keeps.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendPlan {
    /// The caller keeps the entry, and nothing is written.
    Keep,
    WriteLine,
    /// Creates the file, with the header and all entries.
    MakeFile {
        /// The number of entries before the new one. It shows whether an entry was added after their lines were made.
        entries: usize,
    },
}

/// Whether an append needs the JSON text of a message, before its role is known. The boundary asks this, so that it
/// makes no text that is not written.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TextNeed {
    /// The session has no file.
    Never = 0,
    Always = 1,
    /// Only if the message is conversation, which creates the session's file.
    OfConversation = 2,
}

/// An entry that will be appended.
#[derive(Debug)]
pub struct NewEntry<'a> {
    /// The entry's kind; not [`EntryKind::Unknown`].
    pub kind: EntryKind,
    /// The JSON text of an object, in one line: the fields of the kind (see [`file_format`](crate::file_format)),
    /// without `type`, `id`, `parentId` and `timestamp`.
    pub own_fields: Cow<'a, [u8]>,
    /// The entry's parent.
    pub parent: ParentChoice,
    /// An id to which the own fields already refer, and that no entry has. Any text is accepted, but an entry with an
    /// empty id has no children. None chooses a new id. That is better, because another process may use a given id in
    /// the meantime (`SessionChanged`).
    pub id: Option<&'a str>,
    /// The entry's time, ms since 1970.
    pub time: f64,
}

impl<'a> NewEntry<'a> {
    /// An entry with a new id. Its parent is the leaf.
    pub fn new(kind: EntryKind, own_fields: &'a [u8], time: f64) -> Self {
        Self { kind, own_fields: Cow::Borrowed(own_fields), parent: ParentChoice::Leaf, id: None, time }
    }

    /// Like [`new`](Self::new), from a value. [`OwnFields::Other`] contains the kind in its `type`.
    ///
    /// ```
    /// # use pi_session_core::{NewEntry, NewHeader, Session};
    /// use pi_session_core::session_entry::SessionInfoEntry;
    /// # let header = NewHeader { id: "s", cwd: "/", parent: None, time: 0.0 };
    /// # let mut session = Session::create(None, &header, Default::default())?;
    /// let name = SessionInfoEntry { name: Some("The checkout test".into()), ..Default::default() };
    /// session.append(&NewEntry::of(&name.into(), 1767225600000.0)?)?;
    /// # Ok::<(), pi_session_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `System`: the allocation of the fields' JSON fails.
    pub fn of(fields: &OwnFields, time: f64) -> Result<Self> {
        let own_fields = Cow::Owned(fields.to_json()?.into_bytes());
        Ok(Self { kind: fields.kind(), own_fields, parent: ParentChoice::Leaf, id: None, time })
    }
}

/// A line in a file that had lost its name.
struct StrayLine {
    id: String,
    span: LineSpan,
    line: Vec<u8>,
}

impl Session {
    /// Appends an entry, which becomes the leaf. Returns its row. After the call other rows may have other numbers, see
    /// [`RowNo`]. The call checks only one field, the target of a context edit; [`EntryKind`] lists the fields that
    /// each kind needs.
    ///
    /// The line is written to the session's file, after the lines of other processes were read. A session without a
    /// file ([`Session::create`]) keeps its entries in memory. When the first message of the user or the model is
    /// appended, it creates the file with all of them. With [`Persistence::Memory`](super::Persistence::Memory) the
    /// entries stay in memory.
    ///
    /// # Errors
    ///
    /// The session is then unchanged, except for entries of other processes.
    /// - `InvalidArgument`: `new` cannot be an entry of this session, see its fields.
    /// - `EntryNotFound`: no entry has the id of the parent, or of the target of a context edit.
    /// - `EntryNotEditable`: a context edit would have no effect, because its target is not on the path to its parent,
    ///   or has no content for the model.
    /// - `SessionReadOnly`: the session was opened read-only.
    /// - `SessionLocked`: another process has the session's lock.
    /// - `SessionChanged`, `SessionDeleted`: the entry cannot be added to the file any more. `SessionChanged` also if
    ///   other processes kept writing at the same moments, or used the id of `new`. Then append again, with another id.
    /// - `TooLong`: the line would have more than 2 GiB.
    /// - `System`: the file could not be read, created or written.
    pub fn append(&mut self, new: &NewEntry<'_>) -> Result<RowNo> {
        self.check_writable()?;
        let head = NewHead::of(new.kind, &new.own_fields)?;
        if self.storage.is_none() {
            return Err(Error::invalid("The caller keeps the entries of this session: call append_as_planned"));
        }
        if !self.makes_file_with(&head) {
            return self.append_as_planned(new, &head, AppendPlan::WriteLine, &[]);
        }
        let mut before = memory::collect(self.header_line()?.map(String::into_bytes))?;
        let rows = memory::collect(0..self.tree().len() as RowNo)?;
        self.lines(&rows, &mut |_, line| Ok(memory::push(&mut before, copy_of_bytes(line.as_bytes())?)?))?;
        self.append_as_planned(new, &head, AppendPlan::MakeFile { entries: rows.len() }, &before)
    }

    /// The effect of an append of this entry, if the caller keeps the entries without a line.
    #[doc(hidden)]
    pub fn append_plan(&self, head: &NewHead) -> AppendPlan {
        if self.writes_lines() {
            AppendPlan::WriteLine
        } else if self.makes_file_with(head) {
            AppendPlan::MakeFile { entries: self.tree().len() }
        } else {
            AppendPlan::Keep
        }
    }

    /// Whether the next append of a message needs its text.
    #[doc(hidden)]
    pub fn text_need(&self) -> TextNeed {
        if !self.is_persisted() {
            TextNeed::Never
        } else if self.writes_lines() || self.tree().has_conversation() {
            TextNeed::Always
        } else {
            TextNeed::OfConversation
        }
    }

    /// Appends an entry without checking its own fields again. If the append creates the file, `before` contains the
    /// lines of the header and of all entries. If the caller keeps the entry, its own fields are not read.
    #[doc(hidden)]
    pub fn append_as_planned(
        &mut self,
        new: &NewEntry<'_>,
        head: &NewHead,
        plan: AppendPlan,
        before: &[Vec<u8>],
    ) -> Result<RowNo> {
        self.check_writable()?;
        let appended = match plan {
            AppendPlan::WriteLine => self.append_line(new, head),
            AppendPlan::MakeFile { .. } => self.append_and_make_file(new, head, before),
            AppendPlan::Keep => {
                let envelope = self.envelope(new, head)?;
                self.push_local(&head.with(new.kind, &envelope), None)
            }
        };
        appended.map_err(|error| error.with_path(self.file()))
    }

    /// Creates the file of a session without one, with a new entry at the end.
    fn append_and_make_file(&mut self, new: &NewEntry<'_>, head: &NewHead, before: &[Vec<u8>]) -> Result<RowNo> {
        let path = self.file.clone().filter(|_| before.len() == self.tree().len() + 1);
        let path = path.ok_or_else(|| Error::internal("a file would be made without its header or an entry"))?;
        let envelope = self.envelope(new, head)?;
        let last = line(new.kind, &envelope, &new.own_fields)?;
        let head = head.with(new.kind, &envelope);
        self.reserve(&head)?;
        self.take_lock()?;
        self.check_lock()?;
        let mut file = NewFile::create(&path)?;
        let mut spans = with_capacity(before.len() + 1)?;
        for line in before.iter().chain([&last]) {
            check_length(line, &path)?;
            spans.push(Some(file.line(line)?));
        }
        let storage = file.finish(self.options.durability)?;
        let row = self.push_local(&head, None)?;
        self.move_to_file(storage, spans, Vec::new());
        Ok(row)
    }

    fn parent_of(&self, new: &NewEntry<'_>) -> Result<Option<RowNo>> {
        match &new.parent {
            ParentChoice::Leaf => Ok(self.tree().leaf()),
            ParentChoice::Id(id) => self.tree().find(id).map(Some).ok_or_else(|| Error::entry_not_found(shown(id))),
            ParentChoice::Root => Ok(None),
        }
    }

    /// The envelope of a new entry. Fails if the envelope does not fit the current entries.
    #[doc(hidden)]
    pub fn envelope(&self, new: &NewEntry<'_>, head: &NewHead) -> Result<Envelope> {
        let parent = self.parent_of(new)?;
        if new.kind == EntryKind::ContextEdit {
            let target = head.target.as_deref();
            self.check_edit(parent, target, || shown(target.unwrap_or_default()).to_string())?;
        }
        if let Some(id) = new.id.filter(|id| self.tree().find(id.as_bytes()).is_some()) {
            return Err(Error::invalid(format!("An entry has the id {id} already")));
        }
        let timestamp = timestamp(new.time)?;
        let parent = parent.map(|row| copy_of_bytes(self.tree().id_of(row))).transpose()?;
        let id = new.id.map_or_else(|| self.new_entry_id(), str::to_owned);
        Ok(Envelope { id, parent, time: new.time.trunc(), timestamp })
    }

    /// Writes an entry's line, to the file or to memory, and adds the entry.
    fn append_line(&mut self, new: &NewEntry<'_>, new_head: &NewHead) -> Result<RowNo> {
        let mut stray = None;
        let appended = self.append_until_named(new, new_head, &mut stray);
        if let (Err(_), Some(StrayLine { span, line, .. })) = (&appended, &stray) {
            // If that file gets its name back, it must not contain a line whose append failed. If the roll-back fails,
            // the line is read like one of another process.
            let _ = self.roll_back(*span, line);
        }
        appended
    }

    /// Writes the line until it is in the file that has the name. Sets `stray` to the last line that was written to a
    /// file that had lost its name.
    fn append_until_named(
        &mut self,
        new: &NewEntry<'_>,
        new_head: &NewHead,
        stray: &mut Option<StrayLine>,
    ) -> Result<RowNo> {
        let has_id = |session: &Self| new.id.filter(|id| session.tree().find(id.as_bytes()).is_some());
        let had_id = has_id(self).is_some();
        for left in (0..TRIES).rev() {
            self.take_lock()?;
            self.refresh()?;
            if self.check_lock()? {
                // The process that had the lock may have replaced the file. Another process may take the lock again,
                // but it waits as long as a check is valid.
                self.refresh()?;
            }
            if let Some(StrayLine { id, line, .. }) = stray {
                if let Some(row) = self.tree().find(id.as_bytes()) {
                    self.adopt(row, line);
                    return Ok(row);
                }
            }
            if let Some(id) = has_id(self).filter(|_| !had_id) {
                return Err(self.id_taken(id));
            }
            let mut envelope = self.envelope(new, new_head)?;
            if let Some(StrayLine { id, .. }) = stray {
                envelope.id.clone_from(id);
            }
            let head = new_head.with(new.kind, &envelope);
            // After the write nothing may fail.
            self.reserve(&head)?;
            let Some(storage) = self.storage.as_mut() else {
                return Err(Error::internal("a session without a storage writes a line"));
            };
            let mut text = LINE.take();
            push_line(&mut text, new.kind, &envelope, &new.own_fields)?;
            check_length(&text, self.file.as_deref().unwrap_or_default())?;
            let span = match storage.append(&mut text) {
                // Another file took the name before the file was opened for writing.
                Err(error) if error.needs_file_check() && left > 0 => {
                    self.mark_suspect();
                    continue;
                }
                result => result?,
            };
            // A newline that ends another writer's last line may precede it.
            let start = span.offset - (text.len() as u64 - 1 - u64::from(span.len));
            if start == self.size && self.index.indexed_end() == start {
                self.size = span.end() + 1;
                keep(&LINE, text);
                return self.push_local(&head, Some(span));
            }
            let end = text.len() - usize::from(text.ends_with(b"\n"));
            let own = part(&text, end.saturating_sub(span.len as usize)..end, "the appended line")?;
            if start != self.size && !self.has_name_after_write(span, own)? {
                *stray = Some(StrayLine { id: envelope.id, span, line: copy_of_bytes(own)? });
                self.mark_suspect();
                continue;
            }
            if self.check_landing(span, start, (&envelope, own), (new, new_head))? {
                return self.push_local(&head, Some(span));
            }
        }
        Err(Error::changed(self.file().unwrap_or_default(), "other processes keep writing to it; try again later"))
    }

    /// Whether the path still leads to the file in which a line was written. Rolls the line back if the check fails.
    fn has_name_after_write(&mut self, span: LineSpan, line: &[u8]) -> Result<bool> {
        let status = self.storage.as_ref().map(|storage| storage.status(true)).transpose();
        match status {
            // Lines in memory have no name to lose.
            Ok(status) => {
                Ok(status.is_none_or(|found| matches!(found, FileStatus::Here { .. } | FileStatus::Open { .. })))
            }
            Err(error) => self.roll_back(span, line).and(Err(error)),
        }
    }

    /// Treats an entry whose line was copied to another file as appended here. If the line was changed there, for
    /// example by a redaction, the entry counts as read from the file.
    fn adopt(&mut self, row: RowNo, line: &[u8]) {
        let is_as_written = self.line(row).is_ok_and(|found| found.is_some_and(|found| found.as_bytes() == line));
        if let Err(at) = self.appended.binary_search(&row) {
            if is_as_written && reserve(&mut self.appended, 1).is_ok() {
                self.appended.insert(at, row);
            }
        }
        self.index.tree.set_leaf(Some(row));
    }

    /// Checks the bytes before a line that was not written at the expected position, or was written after an
    /// unterminated line. Returns whether the line stays. If not, it was rolled back and must be written again.
    fn check_landing(
        &mut self,
        span: LineSpan,
        start: u64,
        (envelope, line): (&Envelope, &[u8]),
        (new, head): (&NewEntry<'_>, &NewHead),
    ) -> Result<bool> {
        let expected = self.size;
        let has_same_ends = if start > expected { self.has_same_ends() } else { Ok(start == expected) };
        if !matches!(has_same_ends, Ok(true)) {
            // The file was truncated or rewritten a moment before. The next check reads the change.
            self.roll_back(span, line)?;
            self.mark_suspect();
            return has_same_ends.map(|_| false);
        }
        if start > expected {
            self.share();
        }
        let before = self.tree().len();
        let Some(storage) = self.storage.as_ref() else {
            return Ok(false);
        };
        let read = self.index.read_more(&**storage, span.offset);
        let has_room = |is_unterminated| self.reserve(&head.with(new.kind, envelope)).map(|()| is_unterminated);
        let is_unterminated = match read.and_then(has_room) {
            Ok(is_unterminated) => is_unterminated,
            Err(error) => {
                self.roll_back(span, line)?;
                return Err(error);
            }
        };
        self.history.grown(start - expected, self.tree().len() - before);
        if is_unterminated && span.offset == start {
            // The newline after the spaces ends the unterminated line; or the next try begins with a newline.
            self.roll_back(span, line)?;
            if let Some(storage) = self.storage.as_mut() {
                storage.set_unterminated(true);
            }
            self.size = self.index.indexed_end();
            self.history.repaired(
                "a line that continued another process's unterminated line was written again on a line of its own",
            );
            return Ok(false);
        }
        if self.tree().find(envelope.id.as_bytes()).is_some() {
            self.roll_back(span, line)?;
            self.size = span.offset;
            self.history.repaired("an id that another process chose at the same moment was chosen again");
            if new.id.is_some() {
                return Err(self.id_taken(&envelope.id));
            }
            return Ok(false);
        }
        self.size = span.end() + 1;
        Ok(true)
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
