//! One session: its identity, its index and its storage, and the rule when it gets a file.
//!
//! Entries come in as heads; their bodies are lines in the storage, or are kept by the caller as long as the session
//! has no file. Every call that can fail leaves the session as it was when it does.

use super::append::{Envelope, NewHead};
use super::body::Body;
use super::context::Projection;
use super::copy::Copier;
use super::entry::{EntryHead, Kind};
use super::error::{Error, Result};
use super::header::{Header, Version};
use super::ids::entry_id;
use super::lines::{LineReader, HEAD};
use super::load::{load, Index, Loaded};
use super::migrate::Migrator;
use super::pieces::Each;
use super::storage::{replace_with_backup, FileStorage, MemoryStorage, NewFile, Place, Storage};
use super::tree::{RowNo, Tree};

/// How a session goes with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// Never writes.
    Memory,
    /// Writes to its file, which it makes when there is conversation.
    File,
}

/// What is at a path that a session shall be opened from.
pub enum Found {
    Missing,
    /// A file without a byte in it.
    Empty,
    Session(Box<Session>),
}

/// A session's entries and where they are kept.
pub struct Session {
    id: Vec<u8>,
    persistence: Persistence,
    /// The path of the file, whether it exists yet or not.
    file: Option<String>,
    storage: Option<Box<dyn Storage>>,
    header_place: Option<Place>,
    index: Index,
}

impl Session {
    /// A session without entries. `file` is where it will be written once there is conversation.
    pub fn new(id: Vec<u8>, persistence: Persistence, file: Option<String>) -> Self {
        Self { id, persistence, file, storage: None, header_place: None, index: Index::default() }
    }

    /// Opens the session file at an absolute path. Old versions are migrated: the file is rewritten once, unless the
    /// session never writes.
    pub fn open(path: &str, persistence: Persistence) -> Result<Found> {
        let storage = match FileStorage::open(path) {
            Err(error) if error.is_missing() => return Ok(Found::Missing),
            result => result?,
        };
        if storage.size()? == Some(0) {
            return Ok(Found::Empty);
        }
        let mut storage: Box<dyn Storage> = Box::new(storage);
        let version = match first_header(&*storage)? {
            Some(header) => header.version,
            None => return Err(Error::not_a_session(path)),
        };
        if version != Version::Current {
            storage = match persistence {
                Persistence::File => {
                    replace_with_backup(path, |out| {
                        migrate_lines(&*storage, version, &mut |line, ended| {
                            let written =
                                out.write_all(line).and_then(|()| out.write_all(if ended { b"\n" } else { b"" }));
                            written.map_err(|error| Error::io("write", path, error))
                        })
                    })?;
                    Box::new(FileStorage::open(path)?)
                }
                Persistence::Memory => {
                    let mut bytes = Vec::new();
                    migrate_lines(&*storage, version, &mut |line, ended| {
                        bytes.extend_from_slice(line);
                        bytes.extend_from_slice(if ended { b"\n" } else { b"" });
                        Ok(())
                    })?;
                    Box::new(MemoryStorage::new(path.to_owned(), bytes))
                }
            };
        }
        let Some(Loaded { header, header_place, index, unended }) = load(&*storage)? else {
            return Err(Error::not_a_session(path));
        };
        storage.set_unended(unended);
        Ok(Found::Session(Box::new(Self {
            id: header.id,
            persistence,
            file: Some(path.to_owned()),
            storage: Some(storage),
            header_place: Some(header_place),
            index,
        })))
    }

    /// The session in a file that was just written, with its index.
    pub fn of_file(id: Vec<u8>, path: &str, storage: Box<dyn Storage>, header: Place, index: Index) -> Self {
        let (persistence, file) = (Persistence::File, Some(path.to_owned()));
        Self { id, persistence, file, storage: Some(storage), header_place: Some(header), index }
    }

    /// The session's id, WTF-8.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// Whether it writes to a file.
    pub fn is_persisted(&self) -> bool {
        self.persistence == Persistence::File
    }

    /// The path of its file, whether it exists yet or not.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Its entries.
    pub fn tree(&self) -> &Tree {
        &self.index.tree
    }

    /// The path to the leaf, or to what stands for it, kept from one question to the next.
    pub fn kept_path(&mut self, end: Option<RowNo>) -> &[RowNo] {
        self.index.tree.kept_path(end)
    }

    /// The context of that path.
    pub fn kept_projection(&mut self, end: Option<RowNo>) -> Projection {
        self.index.tree.kept_projection(end)
    }

    /// Moves the leaf.
    pub fn set_leaf(&mut self, leaf: Option<RowNo>) {
        self.index.tree.set_leaf(leaf);
    }

    /// Whether each append writes a line now.
    pub fn writes_lines(&self) -> bool {
        self.is_persisted() && self.storage.is_some()
    }

    /// Whether appending such a message makes the file.
    pub fn makes_file_with(&self, head: &NewHead) -> bool {
        let conversation = head.message.is_some_and(|message| message.role.is_conversation());
        self.is_persisted()
            && self.file.is_some()
            && self.storage.is_none()
            && (conversation || self.tree().has_conversation())
    }

    /// Takes in what others have written to the file since; the leaf stays. A file that was deleted is written again.
    pub fn take_in_foreign(&mut self) -> Result<()> {
        let Some(storage) = self.storage.as_mut().filter(|_| self.persistence == Persistence::File) else {
            return Ok(());
        };
        let Some(size) = storage.size()? else {
            return self.restore_file();
        };
        if size < self.index.read_to() {
            return Err(Error::changed(storage.name(), "it is shorter than it was"));
        }
        if size > self.index.read_to() {
            let unended = self.index.read_more(&**storage)?;
            storage.set_unended(unended);
        }
        Ok(())
    }

    /// Writes a deleted file again, byte by byte what it was: entries keep their places.
    fn restore_file(&mut self) -> Result<()> {
        let Some(storage) = &self.storage else {
            return Ok(());
        };
        let name = storage.name().to_owned();
        let mut file = NewFile::create(&name)?;
        let mut lines = LineReader::new(storage.reader(0)?, 0, super::lines::WHOLE);
        while let Some(line) = lines.next_line().map_err(|error| Error::io("read", &name, error))? {
            file.line(line.bytes)?;
        }
        drop(lines);
        self.storage = Some(Box::new(file.finish()?));
        Ok(())
    }

    /// The envelope of an entry below a row, or of a root, made at `time` (ms since 1970), which reads `timestamp`.
    pub fn envelope(&self, parent: Option<RowNo>, time: f64, timestamp: String) -> Envelope {
        let tree = self.tree();
        Envelope {
            id: entry_id(|id| tree.find(id).is_some()),
            parent: parent.map(|row| tree.id_of(row).to_vec()),
            time,
            timestamp,
        }
    }

    /// Adds an entry whose body the caller keeps.
    pub fn push_kept(&mut self, head: &EntryHead<'_>) -> RowNo {
        self.index.push(head, None)
    }

    /// Writes an entry's line and adds the entry.
    pub fn push_line(&mut self, head: &EntryHead<'_>, line: &[u8]) -> Result<RowNo> {
        let Some(storage) = self.storage.as_mut() else {
            return Ok(self.push_kept(head));
        };
        let expected = self.index.read_to();
        let place = storage.append(line)?;
        if place.offset > expected + 1 {
            // Another process wrote between the look and the write; its lines stand before ours.
            self.index.read_more_until(&**storage, place.offset)?;
        }
        Ok(self.index.push(head, Some(place)))
    }

    /// Makes the file of a session that has none yet: `lines` are the header's and every entry's, the new one's last.
    pub fn make_file<'a>(&mut self, lines: impl Iterator<Item = &'a [u8]>, head: Option<&EntryHead<'_>>) -> Result<()> {
        let Some(path) = self.file.clone() else {
            return Ok(());
        };
        let mut file = NewFile::create(&path)?;
        let mut places = Vec::with_capacity(self.tree().len() + 2);
        for line in lines {
            places.push(file.line(line)?);
        }
        let storage = file.finish()?;
        if let Some(head) = head {
            self.index.push(head, None);
        }
        self.adopt_file(storage, places, Vec::new());
        Ok(())
    }

    /// Writes a header into the empty file that this new session was opened from.
    pub fn fill_empty_file(&mut self, header_line: &[u8]) -> Result<()> {
        let Some(path) = self.file.as_deref().filter(|_| self.persistence == Persistence::File) else {
            return Ok(());
        };
        let mut storage = FileStorage::open(path)?;
        let place = storage.append(header_line)?;
        self.adopt_file(storage, vec![place], Vec::new());
        Ok(())
    }

    /// Goes on in a file just written: `places` are the header's and every entry's, `bodies` those that are known.
    pub fn adopt_file(&mut self, storage: FileStorage, mut places: Vec<Place>, bodies: Vec<(RowNo, Body)>) {
        let header = (!places.is_empty()).then(|| places.remove(0));
        self.index.set_places(header, places, bodies);
        self.header_place = header;
        self.storage = Some(Box::new(storage));
    }

    /// The text of an entry's line; None if the caller keeps its body.
    pub fn line(&self, row: RowNo) -> Result<Option<String>> {
        match &self.storage {
            Some(storage) => self.index.line(&**storage, row),
            None => Ok(None),
        }
    }

    /// Copies lines of this session to a new file.
    pub fn copier(&self, out: NewFile) -> Copier<'_> {
        Copier::new(self.storage.as_deref(), &self.index, out)
    }

    /// The large values of an entry's line.
    pub fn bodies(&self, row: RowNo) -> &[(RowNo, Body)] {
        self.index.bodies(row)
    }

    /// How long an entry's line is without its bodies, in bytes; 0 if the caller keeps its body.
    pub fn length_without_bodies(&self, row: RowNo) -> usize {
        self.index.length_without_bodies(row)
    }

    /// The text of the header's line; None if the caller keeps the header.
    pub fn header_line(&self) -> Result<Option<String>> {
        let (Some(storage), Some(place)) = (&self.storage, self.header_place) else {
            return Ok(None);
        };
        let mut bytes = vec![0; place.len as usize];
        storage.read_at(place.offset, &mut bytes)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The lines of several entries, read in few strokes.
    pub fn lines(&self, rows: &[RowNo], each: &mut Each<'_>) -> Result<()> {
        match &self.storage {
            Some(storage) => self.index.lines(&**storage, rows, each),
            None => Ok(()),
        }
    }

    /// The same without bodies, see [`super::body`].
    pub fn lines_without_bodies(&self, rows: &[RowNo], each: &mut Each<'_>) -> Result<()> {
        match &self.storage {
            Some(storage) => self.index.lines_without_bodies(&**storage, rows, each),
            None => Ok(()),
        }
    }

    /// Refuses a context edit that would do nothing. `shown` is the target's id as JavaScript prints it.
    pub fn check_edit(&self, target: Option<&[u8]>, shown: impl Fn() -> String) -> Result<RowNo> {
        let tree = self.tree();
        let Some(row) = target.and_then(|id| tree.find(id)) else {
            return Err(Error::entry_not_found(shown()));
        };
        let on_path = tree.leaf().is_some_and(|leaf| tree.path(leaf).contains(&row));
        if !on_path {
            return Err(Error::not_on_branch(shown()));
        }
        let editable = tree.row(row).is_some_and(|entry| {
            entry.kind == Kind::CustomMessage || entry.role().is_some_and(|role| role.is_editable())
        });
        match editable {
            true => Ok(row),
            false => Err(Error::not_editable(shown())),
        }
    }
}

/// The header in the first line that parses.
pub fn first_header(storage: &dyn Storage) -> Result<Option<Header>> {
    let mut lines = LineReader::new(storage.reader(0)?, 0, HEAD);
    super::find::header_in(&mut lines).map_err(|error| Error::io("read", storage.name(), error))
}

/// Hands on every line of a storage, migrated.
pub fn migrate_lines(
    storage: &dyn Storage,
    version: Version,
    write: &mut dyn FnMut(&[u8], bool) -> Result<()>,
) -> Result<()> {
    let mut migrator = Migrator::new(version);
    let mut lines = LineReader::new(storage.reader(0)?, 0, super::lines::WHOLE);
    while let Some(line) = lines.next_line().map_err(|error| Error::io("read", storage.name(), error))? {
        match migrator.line(&line.text()) {
            Some(new) => write(&new, true)?,
            None => write(line.bytes, line.ended)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::append::line;
    use crate::core::entry::Kind as EntryKind;

    fn append(session: &mut Session) -> Result<()> {
        session.take_in_foreign()?;
        let envelope = session.envelope(session.tree().leaf(), 0.0, "1970-01-01T00:00:00.000Z".into());
        let head = NewHead::default();
        let line = line(EntryKind::Custom, &envelope, b"{\"customType\":\"x\"}");
        session.push_line(&head.with(EntryKind::Custom, &envelope), &line).map(drop)
    }

    fn opened(path: &str) -> Box<Session> {
        match Session::open(path, Persistence::File).expect("opened") {
            Found::Session(session) => session,
            _ => panic!("a session was written there"),
        }
    }

    const HEAD: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"custom\",\"id\":\"a\"}";

    #[test]
    #[cfg(unix)]
    fn a_deleted_file_is_written_again_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
        std::fs::write(&path, HEAD).expect("written");
        let mut session = opened(&path);
        std::fs::remove_file(&path).expect("removed");
        append(&mut session).expect("appended");
        append(&mut session).expect("appended");
        let text = std::fs::read_to_string(&path).expect("read");
        assert!(text.starts_with(&format!("{HEAD}\n")), "{text}");
        assert_eq!(opened(&path).tree().len(), 3);
    }

    #[test]
    #[cfg(unix)]
    fn a_file_in_its_place_is_not_written_to() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
        std::fs::write(&path, HEAD).expect("written");
        let mut session = opened(&path);
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, "something else").expect("written");
        let error = append(&mut session).expect_err("another file is there");
        assert!(error.to_string().contains(&path), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "something else");
    }
}
