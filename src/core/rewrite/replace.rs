//! Replacing a whole file: old or new, never in between, and the old one kept.
//!
//! Others may be writing to the old file all the while: pi and its kind know of no lock. So the file to be replaced is
//! held by a handle, and locked against others of this module who would replace it. What comes into it after it was
//! read is carried over: before the new one gets its name, and after, as long as somebody still writes to the old one.
//! Right before the rename it is made sure that the name still leads to the file that was read; if not, nothing is done.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::core::base::error::{Error, Result};
use crate::core::base::options::Durability;
use crate::core::io::dirs;
use crate::core::io::fs::{self, Identity};
use crate::core::io::line_reader::{LineReader, Positioned, RawLine, HEAD};
use crate::core::io::open::{self, Access};
use crate::core::io::sidecar_names;
use crate::core::io::sweep::sweep_if_due;
use crate::core::io::temporary::Temporary;
use crate::core::json::reader::is_json;
use crate::core::storage::file::FileStorage;
use crate::core::storage::storage::Storage;

/// How often, and how long after each other, it is tried to hold a file that another replaces: ten seconds in all.
const HOLD_TRIES: u32 = 5000;
const HOLD_PAUSE: Duration = Duration::from_millis(2);
/// How often what came meanwhile is carried over before the new file gets its name all the same.
const STROKES: u32 = 3;
/// The old file is left when nothing came to it at so many looks in a row, so long after each other; or after so many.
const QUIET_LOOKS: u32 = 3;
const LOOKS: u32 = 200;
const LOOK_PAUSE: Duration = Duration::from_millis(1);
/// How much of what came meanwhile is read at once.
const CHUNK: usize = 1 << 20;

/// What the old version is kept as: the file's name with this behind it, and a number if that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// `.v1.bak`: the file is of an older version of the format.
    OldVersion,
    /// `.bak`: the file was repaired.
    Repaired,
}

/// How far a file was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadTo {
    /// The bytes before this one were read.
    end: u64,
    /// Where the last line starts, if it is half a line: no newline ends it, and it is no JSON.
    half: Option<u64>,
    /// Whether the new version ends without a newline.
    open: bool,
}

impl ReadTo {
    /// Takes note of the next line, which stands in the new version too.
    pub fn pass(&mut self, line: &RawLine<'_>) {
        self.end = line.end();
        self.half = (!line.ended && (line.skipped.is_some() || !is_json(&line.text()))).then_some(line.offset);
        self.open = !line.ended;
    }

    /// Says that the new version of the last line has a newline, whether the old one has or not.
    pub fn close(&mut self) {
        self.open = false;
    }

    /// All of `bytes`, to be followed by whole lines; `half` is where the last line starts if it is half a line.
    pub fn all(bytes: u64, half: Option<u64>) -> Self {
        Self { end: bytes, half, open: false }
    }
}

/// How a new version of a file is made.
pub trait Rewrite {
    /// Writes the new version of all that is in the old one, and tells how far that was.
    fn write(&mut self, old: &dyn Storage, out: &mut dyn Write) -> Result<ReadTo>;
    /// The new version of a line that came later, both without newlines.
    fn later(&mut self, line: &[u8]) -> Vec<u8>;
}

/// Writes one line of a new version of the file called `name`, with its newline if it has one.
pub fn write_line(out: &mut dyn Write, line: &[u8], ended: bool, name: &str) -> Result<()> {
    let written = out.write_all(line).and_then(|()| out.write_all(if ended { b"\n" } else { b"" }));
    written.map_err(|error| Error::io("write", name, error))
}

/// A file that is going to be replaced.
pub struct RewriteTarget {
    path: String,
    /// The same without symbolic links.
    target: PathBuf,
    file: File,
    identity: Identity,
    storage: FileStorage,
    /// How it begins. Whoever writes it anew in place, as pi migrates, changes that.
    head: Vec<u8>,
}

impl RewriteTarget {
    /// Takes hold of the file at `path`. Whoever else of this module is replacing it is waited for, a while; then it is
    /// the new one that is held.
    pub fn hold(path: &str) -> Result<Self> {
        let fail = |syscall| move |error| Error::io(syscall, path, error);
        let mut tries = 0;
        loop {
            let target = fs::real_path(Path::new(path)).map_err(fail("realpath"))?;
            let file = open::regular(&target, Access::Read).map_err(fail("open"))?;
            let identity = fs::stat(&file).map_err(fail("fstat"))?.identity;
            // Elsewhere than on Unix a lock would keep others from reading. Not every file system has locks. Who was
            // stopped while he held one finds, when he goes on, that the file is another.
            while cfg!(unix) && tries < HOLD_TRIES && fs::try_lock(&file).is_ok_and(|locked| !locked) {
                std::thread::sleep(HOLD_PAUSE);
                tries += 1;
            }
            let now = fs::stat_path(&target).map_err(fail("stat"))?;
            if now.is_none_or(|now| now.identity != identity) && tries < HOLD_TRIES {
                tries += 1;
                continue;
            }
            let storage = FileStorage::of_new(path, &file, Durability::Os)?;
            let head = head_of(&file).map_err(fail("read"))?;
            return Ok(Self { path: path.to_owned(), target, file, identity, storage, head });
        }
    }

    /// What it holds.
    pub fn storage(&self) -> &FileStorage {
        &self.storage
    }

    fn fail(&self, syscall: &'static str) -> impl Fn(io::Error) -> Error + '_ {
        move |error| Error::io(syscall, &self.path, error)
    }

    /// Writes a new version beside the file, then puts it in its place; the old version stays as a backup, whose path is
    /// given back. Symbolic links are followed, mode and owner kept. None, and nothing changed, if the file was replaced
    /// or cut meanwhile, or a half line at its end went on: then all begins anew.
    pub fn replace(self, backup: Backup, rewrite: &mut dyn Rewrite) -> Result<Option<PathBuf>> {
        sweep_if_due(&self.target);
        let temporary = Temporary::beside(&self.target).map_err(self.fail("open"))?;
        let meta = fs::metadata_of(&self.file).map_err(self.fail("fstat"))?;
        fs::set_like(&temporary.file, &meta).map_err(self.fail("fchmod"))?;
        let mut read = {
            let mut writer = BufWriter::with_capacity(1 << 16, ToDisk(&temporary));
            let read = rewrite.write(&self.storage, &mut writer)?;
            writer.flush().map_err(self.fail("write"))?;
            read
        };
        // Until the new file has its name a backup beside the old one would only be one more.
        let kept = self.keep_backup(backup, read.end).map_err(self.fail("link"))?;
        let link = kept.path.as_deref().filter(|_| kept.linked);
        if !self.carry_before(&temporary, &mut read, rewrite)? || !self.is_there(link)? {
            return Ok(None);
        }
        let identity = fs::stat(&temporary.file).map_err(self.fail("fstat"))?.identity;
        temporary.replace(&self.target).map_err(self.fail("rename"))?;
        let kept = kept.wanted();
        // Whether the disk has the name or not, from here on it leads to the new file.
        let synced = dirs::sync_dir_of(&self.target).map_err(self.fail("fsync"));
        self.carry_after(identity, read, rewrite)?;
        synced?;
        Ok(Some(kept))
    }

    /// Writes what came to the old file since it was read to the new one, and waits until the disk has all. False if
    /// the old one is not what was read.
    fn carry_before(&self, temporary: &Temporary, read: &mut ReadTo, rewrite: &mut dyn Rewrite) -> Result<bool> {
        for stroke in 0.. {
            fs::sync(&temporary.file).map_err(self.fail("fsync"))?;
            let size = fs::stat(&self.file).map_err(self.fail("fstat"))?.size;
            if size < read.end || size > read.end && read.half.is_some() {
                return Ok(false);
            }
            let (lines, _) = self.lines_from(read.end, size, rewrite)?;
            if lines.is_empty() || stroke >= STROKES {
                break;
            }
            for (line, end) in lines {
                let lead: &[u8] = if read.open { b"\n" } else { b"" };
                fs::write_all(&temporary.file, &[lead, &line, b"\n"].concat()).map_err(self.fail("write"))?;
                (read.end, read.open) = (end, false);
            }
        }
        Ok(true)
    }

    /// Whether the name still leads to the old file, which nobody wrote anew, and so does the backup that is a link.
    fn is_there(&self, link: Option<&Path>) -> Result<bool> {
        if !head_of(&self.file).map_err(self.fail("read"))?.starts_with(&self.head) {
            return Ok(false);
        }
        for path in link.into_iter().chain([&*self.target]) {
            let stat = fs::stat_path(path).map_err(self.fail("stat"))?;
            if stat.is_none_or(|stat| stat.identity != self.identity) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds to the new file what came to the old one too late for it.
    fn carry_after(&self, identity: Identity, read: ReadTo, rewrite: &mut dyn Rewrite) -> Result<()> {
        let mut from = read.half.unwrap_or(read.end);
        let mut seen = read.end;
        let mut quiet = 0;
        for look in 0..LOOKS {
            let size = fs::stat(&self.file).map_err(self.fail("fstat"))?.size;
            quiet = if size > seen { 0 } else { quiet + 1 };
            let last = quiet >= QUIET_LOOKS || look + 1 == LOOKS;
            if size > seen || last && from < size && seen > read.end {
                let (mut lines, rest) = self.lines_from(from, size, rewrite)?;
                if let Some(rest) = rest.filter(|_| last) {
                    // Half a line that nobody goes on with.
                    lines.push((rest, size));
                }
                from = lines.last().map_or(from, |(_, end)| *end);
                seen = size;
                self.add(identity, lines)?;
            }
            if last {
                break;
            }
            std::thread::sleep(LOOK_PAUSE);
        }
        Ok(())
    }

    fn add(&self, identity: Identity, lines: Vec<Later>) -> Result<()> {
        let says = |line: &[u8]| line.iter().any(|byte| !byte.is_ascii_whitespace());
        let lines: Vec<_> = lines.into_iter().map(|(line, _)| line).filter(|line| says(line)).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let mut new = FileStorage::open(&self.path)?.with_durability(Durability::Fsync);
        if !new.is(identity) {
            return Err(Error::changed(&self.path, "what others wrote while it was replaced is in the old file alone"));
        }
        new.set_shared();
        new.set_lacks_final_newline(true);
        new.append(&mut lines.join(&b'\n')).map(drop)
    }

    /// The new versions of the whole lines in `from..to` of the old file, each with where the old one ends, and what
    /// stands behind them.
    fn lines_from(&self, from: u64, to: u64, rewrite: &mut dyn Rewrite) -> Result<(Vec<Later>, Option<Vec<u8>>)> {
        let source = Positioned::new(&self.file, from, to);
        let mut reader = LineReader::new(source, from, CHUNK);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().map_err(self.fail("read"))? {
            if line.skipped.is_some() {
                // Nobody writes such a line; and it cannot be carried over in memory.
                return Err(self.fail("read")(io::ErrorKind::OutOfMemory.into()));
            }
            if !line.ended {
                return Ok((lines, Some(line.bytes.to_vec())));
            }
            let end = line.offset + line.bytes.len() as u64 + 1;
            lines.push((rewrite.later(line.bytes), end));
        }
        Ok((lines, None))
    }

    /// Makes the backup of the first `end` bytes.
    fn keep_backup(&self, backup: Backup, end: u64) -> io::Result<Kept> {
        let suffix = match backup {
            Backup::OldVersion => ".v1.bak",
            Backup::Repaired => ".bak",
        };
        let mut copy = None;
        let mut number = 0u32;
        loop {
            let numbered = if number == 0 { suffix.to_owned() } else { format!("{suffix}.{number}") };
            let path = sidecar_names::beside(&self.target, &numbered);
            // A second name would keep the old file alive for whoever has it open: that it was replaced shows by its
            // having no name. So a repair copies.
            if let (Backup::OldVersion, None) = (backup, &copy) {
                match fs::link(&self.target, &path) {
                    Ok(()) => return Ok(Kept { path: Some(path), linked: true, ours: true }),
                    Err(error) if is_taken(&error) && self.is_at(&path)? => {
                        // Whoever made it was killed before it replaced the file, or is about to find it replaced.
                        return Ok(Kept { path: Some(path), linked: true, ours: false });
                    }
                    Err(error) if is_taken(&error) => {
                        number += 1;
                        continue;
                    }
                    // File systems without hard links get a copy, too.
                    Err(_) => {}
                }
            }
            let copied = match &mut copy {
                Some(copied) => copied,
                None => {
                    let made = Temporary::beside(&self.target)?;
                    fs::copy(&self.file, end, &made.file)?;
                    copy.insert(made)
                }
            };
            match copied.name(&path) {
                Ok(()) => return Ok(Kept { path: Some(path), linked: false, ours: true }),
                Err(error) if is_taken(&error) => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a name is one of the old file itself.
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let is_file = fs::entry_at(path)?.is_some_and(|found| found.is_file());
        Ok(is_file && fs::stat_path(path)?.is_some_and(|stat| stat.identity == self.identity))
    }
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
}

/// The first bytes of a file, as many as hold a usual header.
fn head_of(file: &File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    Positioned::new(file, 0, HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The new version of a line that came later, and where the old one ends with its newline.
type Later = (Vec<u8>, u64);

/// A backup, which is removed unless it is wanted.
struct Kept {
    path: Option<PathBuf>,
    /// Whether it is the old file itself, by another name.
    linked: bool,
    /// Whether it was made here. One that was there already may be somebody else's.
    ours: bool,
}

impl Kept {
    fn wanted(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|_| self.ours) {
            let _ = fs::remove(path);
        }
    }
}

struct ToDisk<'a>(&'a Temporary);

impl Write for ToDisk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fs::write(&self.0.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
