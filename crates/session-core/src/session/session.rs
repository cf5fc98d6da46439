//! One session: its id, its index and its storage, and the calls that do not check its file.
//!
//! A session stores the head of each entry. The rest of the entry is in its line in the storage, or the caller keeps it
//! while the session has no file. A call that fails does not change the session.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::history::History;
use crate::base::error::{Error, ErrorCode, Result};
use crate::base::memory::reserve;
use crate::base::options::SessionFileOptions;
use crate::base::wtf8::shown;
use crate::format::body::{Body, BodyOf};
use crate::format::entry::EntryHead;
use crate::format::header::Header;
use crate::format::ids::short_entry_id;
use crate::format::serialize::NewHead;
use crate::index::read_entries::{TakeBody, TakeLine};
use crate::index::Index;
use crate::io::file_fingerprint::Nanos;
use crate::lines::line_reader::{owned_text, MAX_LINE_BYTES};
use crate::lines::line_span::LineSpan;
use crate::locks::session_lock::SessionLock;
use crate::storage::file::FileStorage;
use crate::storage::storage::{bytes_at, FileStatus, Storage};
use crate::tree::{RowNo, Tree};

/// Whether a session writes to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// Reads a file, if there is one, into memory, and never writes. Appends stay in memory.
    Memory,
    /// Displays a file. Calls that would change the file or the session's entries fail
    /// ([`ErrorCode::SessionReadOnly`]). The leaf is the last entry.
    ReadOnly,
    /// Writes to its file, which is created with the first user or assistant message.
    File,
}

/// How rows changed when the session moved to another file.
#[derive(Debug)]
pub struct RowRemap {
    /// The old row of each new row; None if the entry is new or changed. Rows from `rows.len()` on were added later.
    pub rows: Vec<Option<RowNo>>,
    /// The session with its old rows and its old file, which may not be readable any more.
    pub old: Session,
    /// Whether the header's text is known to be unchanged.
    pub same_header: bool,
}

/// A session's entries, and where they are stored. Dropping it closes its file and releases its lock. Nothing that was
/// written is lost: once there is a file, each append writes its line before it returns.
pub struct Session {
    pub(super) id: Vec<u8>,
    pub(super) persistence: Persistence,
    pub(super) options: SessionFileOptions,
    /// The path of the file, even if the file does not exist yet.
    pub(super) file: Option<String>,
    pub(super) storage: Option<Box<dyn Storage>>,
    /// The size of the storage, in bytes, at the last check or write.
    pub(super) size: u64,
    /// The file's change time when the whole file was last compared with the index; None if a later change may not
    /// change it.
    pub(super) content_changed: Option<Nanos>,
    pub(super) header_span: Option<LineSpan>,
    /// The header's text, if it was read and is short.
    pub(super) header_text: Option<String>,
    pub(super) index: Index,
    /// The rows that were appended here. A file that replaces ours must contain them.
    pub(super) appended: Vec<RowNo>,
    /// How rows changed when the file was replaced, until the caller takes it.
    pub(super) remap: Option<Box<RowRemap>>,
    /// Whether a read on any thread found a line that differs from the index, or changes that a check found could not
    /// be read. The next check then reads every line.
    pub(super) is_suspect: AtomicBool,
    pub(super) lock: SessionLock,
    pub(super) history: History,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Session");
        out.field("id", &shown(&self.id)).field("file", &self.file).field("persistence", &self.persistence);
        out.field("entries", &self.tree().len()).finish_non_exhaustive()
    }
}

impl Session {
    /// How the session's file is written.
    pub fn options(&self) -> SessionFileOptions {
        self.options
    }

    /// The session's id, WTF-8.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// Whether the session writes to a file.
    pub fn is_persisted(&self) -> bool {
        self.persistence == Persistence::File
    }

    /// Fails if the session was opened read-only.
    pub fn check_writable(&self) -> Result<()> {
        match self.persistence {
            Persistence::ReadOnly => {
                let text = "The session was opened read-only and cannot be changed";
                Err(Error::of_file(ErrorCode::SessionReadOnly, text, self.file.as_deref().unwrap_or_default()))
            }
            Persistence::Memory | Persistence::File => Ok(()),
        }
    }

    /// The path of the session's file, even if the file does not exist yet.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The positions of the entries' lines, and the lines that are not entries.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The tree of the entries.
    pub fn tree(&self) -> &Tree {
        &self.index.tree
    }

    /// Sets the leaf, which becomes the parent of the next entry. None is before the first entry. Files do not store
    /// the leaf: a session that is opened begins at its last entry.
    ///
    /// To start a branch, set the leaf to an earlier entry. Keep the entry's id, because rows may have other numbers
    /// after an append, see [`RowNo`].
    ///
    /// ```
    /// # use pi_session_core::{EntryKind::Custom, NewEntry, NewHeader, Result, Session};
    /// # fn branches(session: &mut Session) -> Result<()> {
    /// let asked = session.append(&NewEntry::new(Custom, br#"{"customType":"question"}"#, 0.0))?;
    /// let asked = session.tree().id_of(asked).to_vec();
    /// session.append(&NewEntry::new(Custom, br#"{"customType":"answer"}"#, 0.0))?;
    /// session.set_leaf(session.tree().find(&asked))?;
    /// let other = session.append(&NewEntry::new(Custom, br#"{"customType":"other answer"}"#, 0.0))?;
    /// assert_eq!(session.tree().parent_row(other), session.tree().find(&asked));
    /// # Ok(())
    /// # }
    /// # let header = NewHeader { id: "s", cwd: "/", parent: None, time: 0.0 };
    /// # branches(&mut Session::create(None, &header, Default::default()).unwrap()).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// `SessionReadOnly`: the session was opened read-only. `InvalidArgument`: there is no such row.
    pub fn set_leaf(&mut self, leaf: Option<RowNo>) -> Result<()> {
        self.check_writable()?;
        self.check_row(leaf)?;
        self.index.tree.set_leaf(leaf);
        Ok(())
    }

    pub(super) fn check_row(&self, row: Option<RowNo>) -> Result<()> {
        match row.filter(|&row| self.tree().row(row).is_none()) {
            Some(row) => Err(Error::invalid(format!("There is no entry with the row {row}"))),
            None => Ok(()),
        }
    }

    /// Whether each append writes a line to a file now.
    pub(crate) fn writes_lines(&self) -> bool {
        self.is_persisted() && self.storage.as_ref().is_some_and(|storage| storage.target().is_some())
    }

    /// Whether appending this entry creates the file.
    pub(crate) fn makes_file_with(&self, head: &NewHead) -> bool {
        let conversation = head.message.is_some_and(|message| message.role.is_conversation());
        self.is_persisted()
            && self.file.is_some()
            && !self.writes_lines()
            && (conversation || self.tree().has_conversation())
    }

    /// A new id that no entry has.
    pub fn new_entry_id(&self) -> String {
        short_entry_id(|id| self.tree().find(id).is_some())
    }

    /// Moves to a file that was just written. `spans` are the spans of the header and of every entry, `bodies` the
    /// known bodies.
    pub(crate) fn move_to_file(
        &mut self,
        storage: FileStorage,
        mut spans: Vec<Option<LineSpan>>,
        bodies: Vec<(RowNo, Body)>,
    ) {
        let header = if spans.is_empty() { None } else { spans.remove(0) };
        self.index.set_spans(header, spans, bodies);
        self.header_span = header;
        self.size = self.index.indexed_end();
        self.storage = Some(Box::new(storage.with_durability(self.options.durability)));
    }

    /// The text of an entry's line; None if there is no such row. Lone surrogates are escapes in it.
    ///
    /// # Errors
    ///
    /// - `SessionChanged`: the line is not at its position. Call [`refresh`](Self::refresh), which then reads the whole
    ///   file.
    /// - `System`: the file could not be read.
    pub fn line(&self, row: RowNo) -> Result<Option<String>> {
        self.check_has_name()?;
        match &self.storage {
            Some(storage) => self.note_mismatch(self.index.line(&**storage, row)),
            None => Ok(None),
        }
    }

    /// The error of an entry whose line was changed. `how` describes the change.
    pub(super) fn entry_changed(&self, row: RowNo, how: &str) -> Error {
        self.index.changed(self.file().unwrap_or_default(), row, how)
    }

    /// Marks the file suspect (see [`mark_suspect`](Self::mark_suspect)) if the result is an error that a line differs
    /// from the index.
    pub(crate) fn note_mismatch<T>(&self, result: Result<T>) -> Result<T> {
        if result.as_ref().is_err_and(Error::is_changed) {
            self.mark_suspect();
        }
        result
    }

    /// Fails and marks the file suspect if another file has taken the session's name, because lines of the old file may
    /// have been redacted in the new one. A file that is already suspect is read without this check.
    #[doc(hidden)]
    pub fn check_has_name(&self) -> Result<()> {
        match &self.storage {
            Some(storage) if !self.is_suspect() && self.is_replaced() => {
                self.note_mismatch(Err(Error::elsewhere(storage.name())))
            }
            _ => Ok(()),
        }
    }

    /// Whether another file has taken the session's name. False if the check fails; a read that fails reports the
    /// error.
    pub(super) fn is_replaced(&self) -> bool {
        let Some(storage) = self.storage.as_ref().filter(|storage| storage.target().is_some()) else { return false };
        let status = match storage.status(false) {
            Ok(FileStatus::Open { size }) if size != self.size => storage.status(true),
            status => status,
        };
        matches!(status, Ok(FileStatus::Replaced { .. }))
    }

    /// Whether the entry was appended here and its line is unchanged. Always true for a session that does not write to
    /// a file.
    #[doc(hidden)]
    pub fn is_own(&self, row: RowNo) -> bool {
        !self.is_persisted() || self.is_appended_here(row)
    }

    /// The header; None if there is no header line. Has the errors of [`header_line`](Self::header_line).
    pub fn header(&self) -> Result<Option<Header>> {
        self.header_line()?.map_or(Ok(None), |line| Ok(Header::read(&line)?))
    }

    /// The text of the header's line; None if there is no header line.
    ///
    /// # Errors
    ///
    /// The errors of [`line`](Self::line).
    pub fn header_line(&self) -> Result<Option<String>> {
        if let Some(text) = &self.header_text {
            return Ok(Some(text.clone()));
        }
        let (Some(storage), Some(span)) = (&self.storage, self.header_span) else {
            return Ok(None);
        };
        let bytes = self.note_mismatch(bytes_at(&**storage, span))?;
        Ok(Some(owned_text(bytes)?))
    }

    /// Calls `each` with the row and the line of each of these entries. Neighbours are read together.
    ///
    /// # Errors
    ///
    /// The errors of [`line`](Self::line), and those that `each` returns.
    pub fn lines(&self, rows: &[RowNo], each: &mut dyn FnMut(RowNo, &str) -> Result<()>) -> Result<()> {
        let mut each = |row, line: &str, _| each(row, line);
        self.check_has_name()?;
        match &self.storage {
            Some(storage) => self.note_mismatch(self.index.lines(&**storage, rows, &mut each)),
            None => Ok(()),
        }
    }

    /// Reserves memory for an entry, so that adding it next cannot fail.
    pub(super) fn reserve(&mut self, head: &EntryHead<'_>) -> Result<()> {
        reserve(&mut self.appended, 1)?;
        Ok(self.index.reserve(head)?)
    }

    /// Records that other processes write to the file too.
    pub(super) fn share(&mut self) {
        self.lock.recheck();
        if let Some(storage) = self.storage.as_mut() {
            storage.set_shared();
        }
    }

    /// Takes the lock by the session's options, unless it has the lock.
    pub(super) fn take_lock(&mut self) -> Result<()> {
        match (&self.file, self.persistence) {
            (Some(file), Persistence::File) => self.lock.take(file, self.options.lock),
            _ => Ok(()),
        }
    }

    /// Checks that no other process has the lock. True if another process had it (such as a repair) and released it:
    /// the path may then lead to another file.
    pub(super) fn check_lock(&mut self) -> Result<bool> {
        match (&self.file, self.persistence) {
            (Some(file), Persistence::File) => self.lock.check(file, self.options.lock),
            _ => Ok(false),
        }
    }

    /// Releases the lock. The next append takes it again.
    pub fn release_lock(&mut self) {
        self.lock = SessionLock::default();
    }

    /// Reads the lines that other processes appended. `size` is the size of the storage when its path was checked.
    pub(super) fn read_appended(&mut self, size: u64) -> Result<()> {
        self.share();
        let Some(storage) = self.storage.as_mut() else {
            return Ok(());
        };
        let before = self.index.tree.len();
        // Not further, because an end mark may follow, and then lines of a file that has lost its name since it had
        // this size.
        let is_unterminated = self.index.read_more(&**storage, size)?;
        // The unterminated line may have been read before, by an append that then failed.
        storage.set_unterminated(is_unterminated || self.index.is_after_unterminated_line());
        let grown = size - self.size;
        self.size = size.max(self.index.indexed_end());
        self.history.grown(grown, self.index.tree.len() - before);
        Ok(())
    }
}

#[doc(hidden)]
impl Session {
    /// A session without entries. The caller keeps entries until the file exists. `file` is the path to which it is
    /// written once there is conversation.
    pub fn new(id: Vec<u8>, persistence: Persistence, file: Option<String>) -> Self {
        Self {
            id,
            persistence,
            options: SessionFileOptions::default(),
            file,
            storage: None,
            size: 0,
            content_changed: None,
            header_span: None,
            header_text: None,
            index: Index::default(),
            appended: Vec::new(),
            remap: None,
            is_suspect: AtomicBool::new(false),
            lock: SessionLock::default(),
            history: History::default(),
        }
    }

    /// Whether the session displays a copy of a file of an old version that was migrated in memory. Changes of the file
    /// are not noticed.
    pub fn is_migrated_copy(&self) -> bool {
        self.persistence == Persistence::ReadOnly
            && self.storage.as_ref().is_some_and(|storage| storage.target().is_none())
    }

    /// The start and the end of an entry's line, with its newline if it has one.
    pub fn whole_line(&self, row: RowNo) -> Option<(u64, u64)> {
        // Only the last line can be unterminated.
        self.index.line_span(row).map(|span| (span.offset, (span.end() + 1).min(self.index.indexed_end())))
    }

    /// Marks the file suspect, because a line in it differed from the index. The next check reads every line.
    pub fn mark_suspect(&self) {
        self.is_suspect.store(true, Relaxed);
    }

    /// Whether the file is suspect: it may differ from the index.
    pub fn is_suspect(&self) -> bool {
        self.is_suspect.load(Relaxed)
    }

    /// Calls `take` with the text of a body. False if the body is not at its indexed position, or if `take` returns
    /// that it is not JSON.
    pub fn body(&self, row: RowNo, of: BodyOf, take: &mut TakeBody<'_>) -> Result<bool> {
        match &self.storage {
            Some(storage) => self.index.body(&**storage, row, of, take),
            None => Ok(false),
        }
    }

    /// The lines of several entries without their bodies, see [`crate::format::body`].
    pub fn lines_without_bodies(&self, rows: &[RowNo], each: &mut TakeLine<'_>) -> Result<()> {
        self.check_has_name()?;
        match &self.storage {
            Some(storage) => self.note_mismatch(self.index.lines_without_bodies(&**storage, rows, each)),
            None => Ok(()),
        }
    }

    /// Fails if a context edit would have no effect below this parent. `shown` returns the target's id as JavaScript
    /// prints it.
    pub fn check_edit(
        &self,
        parent: Option<RowNo>,
        target: Option<&[u8]>,
        shown: impl Fn() -> String,
    ) -> Result<RowNo> {
        let Some(row) = target.and_then(|id| self.tree().find(id)) else {
            return Err(Error::entry_not_found(shown()));
        };
        let path = parent.map_or(Ok(Vec::new()), |parent| self.tree().path(parent))?;
        if !path.contains(&row) {
            let text = format!("Entry {} is not on the active branch", shown());
            return Err(Error::new(ErrorCode::EntryNotEditable, text));
        }
        let editable = self.tree().row(row).is_some_and(|entry| entry.kind.is_editable(entry.role()));
        if editable {
            Ok(row)
        } else {
            let text = format!("Entry {} does not contribute editable model content", shown());
            Err(Error::new(ErrorCode::EntryNotEditable, text))
        }
    }

    /// Adds an entry that the caller keeps, or whose line is at `span`.
    pub fn push_local(&mut self, head: &EntryHead<'_>, span: Option<LineSpan>) -> Result<RowNo> {
        reserve(&mut self.appended, 1)?;
        let row = self.index.push(head, span)?;
        if self.is_persisted() {
            self.appended.push(row);
        }
        Ok(row)
    }
}

/// Fails if a line is too long to be read again from the file at `path`.
pub(super) fn check_length(line: &[u8], path: &str) -> Result<()> {
    if line.len() > MAX_LINE_BYTES {
        let size = line.len();
        let text = format!("The line of the entry has {size} bytes, more than the {MAX_LINE_BYTES} that a line of a session file can have");
        Err(Error::of_file(ErrorCode::TooLong, text, path))
    } else {
        Ok(())
    }
}
