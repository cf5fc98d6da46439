//! Where the lines of a session are kept: one trait, its file engine and one for lines that have no file.
//!
//! Invariants: what `append` returned stands at its place; a failed `append` leaves what was there; reads never
//! change anything.

pub mod change_clock;
pub mod file;
pub mod memory;
pub mod new_file;
pub mod write_lock;

pub use self::change_clock::GLANCES;
pub use self::file::{make_dir, make_room, FileStorage};
pub use self::memory::{Memory, MemoryStorage};
pub use self::new_file::NewFile;
pub use crate::core::io::fs::read_at;
pub use crate::core::io::sidecar_names::beside;
pub use crate::core::io::temporary::{sweep, Temporary};
pub use crate::core::rewrite::replace::{write_line, Backup, Original, ReadTo, Renewal};

use std::fs::Metadata;
use std::io::{self, Read};

use crate::core::base::error::{Error, Result};
use crate::core::io::line_reader::resize;

/// How many bytes are copied at once.
const CHUNK: usize = 1 << 20;

/// A place in the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub offset: u64,
    pub len: u32,
}

impl Place {
    /// The place of a line's bytes. No line is read, or written, that has 4 GiB; what is longer is capped here.
    pub fn of(offset: u64, len: usize) -> Self {
        Self { offset, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }

    /// Where the line's bytes end, its newline not counted.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

/// The bytes at a place; an error if there are not that many, or no memory for them.
pub fn bytes_at(storage: &dyn Storage, place: Place) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_into(storage, place.offset, place.len as usize, &mut bytes)?;
    Ok(bytes)
}

/// Makes `bytes` the `len` bytes that stand at `offset`.
pub fn read_into(storage: &dyn Storage, offset: u64, len: usize, bytes: &mut Vec<u8>) -> Result<()> {
    resize(bytes, len).map_err(|error| Error::io("read", storage.name(), error))?;
    storage.read_at(offset, bytes)
}

/// Hands on the bytes `from..to`, as far as there are any, in pieces. Tells the last of them.
pub fn copy_bytes(
    storage: &dyn Storage,
    from: u64,
    to: u64,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Option<u8>> {
    let mut reader = storage.reader(from)?.take(to.saturating_sub(from));
    let size = storage.size()?.min(to).saturating_sub(from);
    let mut buffer = vec![0; usize::try_from(size + 1).unwrap_or(CHUNK).min(CHUNK)];
    let mut last = None;
    loop {
        let size = match reader.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result.map_err(|error| Error::io("read", storage.name(), error))?,
        };
        let bytes = buffer.get(..size).unwrap_or_default();
        match bytes.last() {
            None => return Ok(last),
            Some(&byte) => last = Some(byte),
        }
        each(bytes)?;
    }
}

/// When a written line counts as written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the operating system has it: it outlives this process, not a power cut.
    #[default]
    Os,
    /// When the disk has it.
    Fsync,
}

/// What a look at the storage found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It is where it was, with this many bytes; others may have added some, or taken some away. `touched`: its times
    /// tell that somebody else changed it, or may have. `reopened`: it was closed meanwhile, and what is there now looks
    /// like the same file, but may be another.
    Here { size: u64, touched: bool, reopened: bool },
    /// Its name leads nowhere now. What it held can still be read if `readable`, but nothing written to it would be
    /// found again. `deleted`: it has no other name either, as far as can be told.
    Gone { readable: bool, deleted: bool },
    /// Its name leads to something else. What it held can still be read if `readable`.
    Replaced { readable: bool },
}

/// Keeps a session's lines.
pub trait Storage: Send + Sync {
    /// Fills `into` from `offset`; an error if there are not that many bytes.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()>;
    /// Reads on from `offset` to the end.
    fn reader(&self, offset: u64) -> Result<Box<dyn Read + '_>>;
    /// How many bytes there are now; others may have added some.
    fn size(&self) -> Result<u64>;
    /// Looks whether it is still what it was, before something is written to it. Not `thorough`, it costs one call
    /// and may miss what was done to its name, or without a change of its size, a moment ago.
    fn look(&self, thorough: bool) -> Result<Look>;
    /// How often `look` looked at all there is to see, which it does not do every time.
    fn looks(&self) -> u64;
    /// Adds one line (given without its newline) in one write and tells where it came to stand.
    fn append(&mut self, line: &mut Vec<u8>) -> Result<Place>;
    /// Takes out a line that `append` has just added: cut off, or made blank where others wrote behind it (its newline
    /// stays then). Where something else stands by now, that stays.
    fn take_back(&mut self, place: Place, line: &[u8]) -> Result<()>;
    /// Says that the storage ends in the middle of a line, which the next append must end first.
    fn set_unended(&mut self, unended: bool);
    /// Says that others write here too: what is written or cut off is so under a lock of a moment.
    fn set_shared(&mut self);
    /// Waits until the disk has everything.
    fn flush(&mut self) -> Result<()>;
    /// Mode and owner of the file, which may have no name any more; None where there is no file.
    fn metadata(&self) -> Result<Option<Metadata>>;
    /// Whether what it holds can be read even if its name leads elsewhere by now.
    fn is_open(&self) -> bool;
    /// Lets go of the file; it is opened again when it is needed.
    fn close(&mut self);
    /// The name of the storage in messages.
    fn name(&self) -> &str;
}
