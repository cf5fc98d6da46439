//! Replaces a whole file: a reader sees the old file or the new one, never a mixture. The old file is kept if the
//! caller asks for a backup.
//!
//! Other programs may append to the old file at any time, because pi takes no lock. So the old file is kept open, and
//! is locked against other processes that replace it. Lines that are appended after it was read are copied to the new
//! file: before the rename, and after it up to the end mark, by which our own writers notice the replacement
//! ([`crate::storage::end_mark`]), and while anything still writes to the old file. The identity of the file is checked
//! right before the rename: if the path leads to another file, nothing is done.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use super::backup::Backup;
use super::backup::{keep_rest, KeptBackup};
use crate::base::error::{Error, ErrorCode, Result, WithCall};
use crate::base::memory::{self, append, copy_of_bytes, push, OutOfMemory};
use crate::base::options::Durability;
use crate::io::dirs;
use crate::io::fs::{self, At, FileId, Writer};
use crate::io::open::{self, Access};
use crate::io::temporary::Temporary;
use crate::lines::file_window::WHOLE;
use crate::lines::line_reader::{LineReader, RawLine, HEAD};
use crate::locks::sweep::sweep_if_due;
use crate::storage::end_mark;
use crate::storage::file::FileStorage;
use crate::storage::storage::{copy_bytes, Storage};

/// How often, and at which interval, we try to lock a file that another process is replacing: ten seconds in all, in
/// which a hard disk of 120 MB/s stores a file of 1 GiB.
const HOLD_TRIES: u32 = 5000;
const HOLD_PAUSE: Duration = Duration::from_millis(2);
/// How many rounds of appended lines are copied before the rename happens anyway. Each round takes one sync, and copies
/// the lines that were appended during the sync before it, so only a program that appends all the time leaves lines for
/// the third. Later lines are copied after the rename.
const CARRY_ROUNDS: u32 = 3;
/// How long the old file is watched after the rename, for programs that do not know the end mark: until `QUIET_PAUSES`
/// pauses in a row without an appended line, at most `CHECKS` pauses. pi opens the file by its name for each line, and
/// writes some 50 µs later. If it is interrupted in between, it continues when another program's time slice ends, which
/// on Linux takes about 3 ms at most (`base_slice_ns`).
const QUIET_PAUSES: u32 = 3;
const CHECKS: u32 = 200;
const CHECK_PAUSE: Duration = Duration::from_millis(1);
/// How many of the appended bytes are read at once.
const CHUNK: usize = 1 << 20;
/// How often work on a file starts over because others changed the file. A second time is rare; if it happens this
/// often in a row, a program changes the file all the time, and more tries would not help.
const TRIES: usize = 20;

/// How far a file was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReadTo {
    /// The position up to which the bytes were read.
    pub end: u64,
    /// The start of the last line, if it is torn.
    torn_line_start: Option<u64>,
    /// Whether the new file ends without a newline.
    is_unterminated: bool,
}

impl ReadTo {
    /// All of `bytes` were read, and the new file ends with a newline. `torn_line_start` is the start of the old file's
    /// last line, if it is torn.
    pub(crate) fn all(bytes: u64, torn_line_start: Option<u64>) -> Self {
        Self { end: bytes, torn_line_start, is_unterminated: false }
    }
}

/// Determines the content of a new file.
pub(crate) trait Rewrite {
    /// Writes the new content for everything in the old file. Returns how far the old file was read.
    fn write(&mut self, old: &dyn Storage, out: &mut dyn Write) -> Result<ReadTo>;
    /// The new form of a line that was appended after that, both without newlines; None if the line stays.
    fn late_line(&mut self, _line: &[u8]) -> memory::Result<Option<Vec<u8>>> {
        Ok(None)
    }
    /// Whether the new file gets the old file's time, because pi continues the session whose file changed last. Only a
    /// migration by an open does not, as in pi. Lines that others append in the meantime change the time as in the old
    /// file.
    fn keeps_time(&self) -> bool {
        true
    }
}

/// Writes one line, with a newline if `is_terminated`. `name` is the file's name in errors.
pub(crate) fn write_line(out: &mut dyn Write, line: &[u8], is_terminated: bool, name: &str) -> Result<()> {
    let written = out.write_all(line).and_then(|()| out.write_all(if is_terminated { b"\n" } else { b"" }));
    written.with_call("write", name)
}

/// Writes a new file line by line: the result of `new_line`, or the line itself. A line that is too long for memory is
/// passed without its bytes, and copied in pieces. With `ends_new` a new last line gets a newline that the old one does
/// not have.
pub(crate) fn write_lines(
    old: &dyn Storage,
    out: &mut dyn Write,
    ends_new: bool,
    mut new_line: impl FnMut(&RawLine<'_>) -> memory::Result<Option<Vec<u8>>>,
) -> Result<ReadTo> {
    let mut read = ReadTo::default();
    let mut lines = LineReader::new(old.reader(0)?, 0, WHOLE);
    while let Some(line) = lines.next_line().with_call("read", old.name())? {
        let mut is_terminated = line.is_terminated;
        match new_line(&line)? {
            Some(new) => {
                is_terminated |= ends_new;
                write_line(out, &new, is_terminated, old.name())?;
            }
            None if line.skipped.is_none() => write_line(out, line.bytes, is_terminated, old.name())?,
            None => {
                let mut copy = |bytes: &[u8]| write_line(out, bytes, false, old.name());
                copy_bytes(old, line.offset, line.end(), &mut copy)?;
            }
        }
        let torn_line_start = line.is_torn()?.then_some(line.offset);
        read = ReadTo { end: line.end(), torn_line_start, is_unterminated: !is_terminated };
    }
    Ok(read)
}

/// Works on a locked file, and starts over while `work` returns None because others changed the file. `doing` describes
/// the work in the error.
pub(crate) fn retried<T>(
    path: &str,
    doing: &str,
    mut work: impl FnMut(RewriteTarget) -> Result<Option<T>>,
) -> Result<T> {
    for _ in 0..TRIES {
        if let Some(done) = work(RewriteTarget::hold(path)?)? {
            return Ok(done);
        }
    }
    Err(Error::changed(path, format_args!("others keep writing to it while {doing}; try again later")))
}

/// The result of a replacement.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// The path of the backup; empty without one.
    pub backup: PathBuf,
    /// The identity of the new file.
    pub file_id: FileId,
}

/// A file that will be replaced.
pub(crate) struct RewriteTarget {
    path: String,
    /// The path with a symbolic link at its end followed. Its directory is not resolved.
    target: PathBuf,
    file: File,
    storage: FileStorage,
    /// Its first bytes. A program that rewrites the file in place, as pi's migration does, changes them.
    head: Vec<u8>,
}

impl RewriteTarget {
    /// Opens and locks the file at `path`. If another process is replacing it, waits up to ten seconds and opens the
    /// new file.
    pub(crate) fn hold(path: &str) -> Result<Self> {
        let mut tries = 0;
        loop {
            let target = fs::resolve_links(Path::new(path)).with_call("readlink", path)?;
            let file = open::regular(&target, Access::Read).with_call("open", path)?;
            let storage = FileStorage::of_new(path, &target, &file, Durability::Os)?;
            // Not on Windows, because a lock would keep others from reading. Not every file system has locks; without
            // one, the check of the file's identity before the rename protects us.
            while cfg!(unix) && tries < HOLD_TRIES && fs::try_lock(&file).is_ok_and(|locked| !locked) {
                std::thread::sleep(HOLD_PAUSE);
                tries += 1;
            }
            let now = fs::stat_path(&target).with_call("stat", path)?;
            if now.is_none_or(|now| now.file_id != storage.file_id()) && tries < HOLD_TRIES {
                tries += 1;
                continue;
            }
            let head = head_of(&file).with_call("read", path)?;
            return Ok(Self { path: path.to_owned(), target, file, storage, head });
        }
    }

    pub(crate) fn storage(&self) -> &FileStorage {
        &self.storage
    }

    /// Writes the new content to a temporary file and renames it over the old one, which becomes the backup. Symbolic
    /// links are followed; mode, owner and extended attributes are kept. None, and nothing is changed, if the file was
    /// replaced or truncated in the meantime, or its torn last line was continued: then the caller starts over.
    pub(crate) fn replace(self, backup: Backup, rewrite: &mut dyn Rewrite) -> Result<Option<Replaced>> {
        sweep_if_due(&self.target);
        // A rename needs rights only to the directory, but a file that may not be written must not be replaced either.
        let end = open::regular(&self.target, Access::Append).with_call("open", &self.path)?;
        if fs::stat(&end).with_call("fstat", &self.path)?.file_id != self.storage.file_id() {
            return Ok(None);
        }
        let mut temporary = Temporary::beside(&self.target).with_call("open", &self.path)?;
        let meta = fs::metadata_of(&self.file).with_call("fstat", &self.path)?;
        fs::set_like(&temporary.file, &meta).with_call("fchmod", &self.path)?;
        fs::copy_xattrs(&self.file, &temporary.file);
        let mut read = {
            let mut writer = BufWriter::with_capacity(1 << 16, Writer(&temporary.file));
            let read = rewrite.write(&self.storage, &mut writer)?;
            writer.flush().with_call("write", &self.path)?;
            read
        };
        // Removed again unless the rename succeeds.
        let kept = KeptBackup::make(backup, &self.target, &self.file, read.end).with_call("link", &self.path)?;
        if !self.carry_before(&temporary, &mut read, rewrite)? || !self.is_there(kept.link())? {
            return Ok(None);
        }
        if rewrite.keeps_time() {
            fs::copy_time(&self.file, &temporary.file);
        }
        let file_id = fs::stat(&temporary.file).with_call("fstat", &self.path)?.file_id;
        match temporary.replace(&self.target) {
            Err(error) if fs::is_in_use(&error) => {
                drop(end);
                return match self.carry_before(&temporary, &mut read, rewrite)? {
                    true => self.replace_closed(temporary, kept, read.end),
                    false => Ok(None),
                };
            }
            renamed => renamed.with_call("rename", &self.path)?,
        }
        // From here on the path leads to the new file, even if the directory cannot be synced.
        let is_backup = kept.link().is_some();
        let backup = kept.keep();
        // If the mark cannot be written, writers notice the replacement later.
        let mark = if is_backup { None } else { end_mark::write(&end).ok() };
        let carried = self.carry_after(&temporary.file, read, mark, rewrite);
        carried.and(dirs::sync_dir_of(&self.target).with_call("fsync", &self.path))?;
        Ok(Some(Replaced { backup, file_id }))
    }

    /// Renames the new file over the old one where an open file cannot be replaced. If only this process has it open,
    /// it is closed first. After that nobody can append to the old file.
    fn replace_closed(self, mut new: Temporary, kept: KeptBackup, end: u64) -> Result<Option<Replaced>> {
        let Self { path, target, file, storage, .. } = self;
        let file_id = storage.file_id();
        drop((file, storage));
        let now = fs::stat_path(&target).with_call("stat", &path)?;
        if now.is_none_or(|now| now.file_id != file_id || now.size != end) {
            return Ok(None);
        }
        let file_id = fs::stat(&new.file).with_call("fstat", &path)?.file_id;
        match new.replace(&target) {
            Err(error) if fs::is_in_use(&error) => {
                let what =
                    "Session file cannot be replaced while it is open elsewhere, or because it may not be written";
                return Err(Error::of_file(ErrorCode::SessionLocked, what, &path));
            }
            renamed => renamed.with_call("rename", &path)?,
        }
        let backup = kept.keep();
        dirs::sync_dir_of(&target).with_call("fsync", &path)?;
        Ok(Some(Replaced { backup, file_id }))
    }

    /// Copies the lines that were appended to the old file since it was read, and syncs the new file. False if the old
    /// file is no longer the one that was read.
    fn carry_before(&self, temporary: &Temporary, read: &mut ReadTo, rewrite: &mut dyn Rewrite) -> Result<bool> {
        for round in 0.. {
            fs::sync(&temporary.file).with_call("fsync", &self.path)?;
            let size = fs::stat(&self.file).with_call("fstat", &self.path)?.size;
            if size < read.end || size > read.end && read.torn_line_start.is_some() {
                return Ok(false);
            }
            // The remaining lines are passed to `rewrite` by `carry_after`, so that it sees each once.
            if size == read.end || round >= CARRY_ROUNDS {
                break;
            }
            let lines = self.lines_from(read.end, size, false, rewrite)?;
            if lines.is_empty() {
                break;
            }
            for (line, end) in lines {
                let lead: &[u8] = if read.is_unterminated { b"\n" } else { b"" };
                let write = |text: &[u8]| Writer(&temporary.file).write_all(text).with_call("write", &self.path);
                [lead, &line, b"\n"].into_iter().try_for_each(write)?;
                (read.end, read.is_unterminated) = (end, false);
            }
        }
        Ok(true)
    }

    /// Whether the path, and a backup that is a hard link, still lead to the old file, and it was not rewritten in
    /// place.
    fn is_there(&self, link: Option<&Path>) -> Result<bool> {
        if !head_of(&self.file).with_call("read", &self.path)?.starts_with(&self.head) {
            return Ok(false);
        }
        for path in link.into_iter().chain([&*self.target]) {
            let stat = fs::stat_path(path).with_call("stat", &self.path)?;
            if stat.is_none_or(|stat| stat.file_id != self.storage.file_id()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends to the new file the lines that were appended to the old one after the last copy. If that fails, they are
    /// kept unchanged in a file beside it.
    fn carry_after(&self, new: &File, read: ReadTo, mark: Option<u64>, rewrite: &mut dyn Rewrite) -> Result<()> {
        let mut from = read.torn_line_start.unwrap_or(read.end);
        self.carry_late(new, read.end, &mut from, mark, rewrite).map_err(|error| {
            let state = match keep_rest(&self.target, &self.file, from) {
                Ok(None) => return error,
                Ok(Some(kept)) => format!("only in {} ({error})", kept.display()),
                Err(second) => {
                    format!("lost unless a backup has them ({error}; {})", Error::io("write", &self.path, second))
                }
            };
            let what = format!("lines that other processes wrote during the replacement are {state}");
            Error::changed(&self.path, what)
        })
    }

    /// Appends late lines to the new file. Moves `from` to the end of the lines that were copied.
    fn carry_late(
        &self,
        new: &File,
        end: u64,
        from: &mut u64,
        mark: Option<u64>,
        rewrite: &mut dyn Rewrite,
    ) -> Result<()> {
        let mut seen = end;
        if let Some(mark) = mark {
            if mark > end {
                // The mark ends an unterminated line.
                self.add(new, &self.lines_from(*from, mark, true, rewrite)?)?;
            }
            seen = end_mark::end_of(mark);
            *from = seen;
        }
        let end = seen;
        let mut quiet = 0;
        for check in 0..CHECKS {
            let size = fs::stat(&self.file).with_call("fstat", &self.path)?.size;
            quiet = if size > seen || check == 0 { 0 } else { quiet + 1 };
            let last = quiet >= QUIET_PAUSES || check + 1 == CHECKS;
            if size > seen || last && *from < size && seen > end {
                // At the last check we assume that nobody continues an unterminated line.
                let lines = self.lines_from(*from, size, last, rewrite)?;
                self.add(new, &lines)?;
                *from = lines.last().map_or(*from, |(_, end)| *end);
                seen = size;
            }
            if last {
                break;
            }
            std::thread::sleep(CHECK_PAUSE);
        }
        Ok(())
    }

    fn add(&self, new: &File, lines: &[LateLine]) -> Result<()> {
        let has_text = |line: &[u8]| line.iter().any(|byte| !byte.is_ascii_whitespace());
        let mut text = Vec::new();
        for (line, _) in lines.iter().filter(|(line, _)| has_text(line)) {
            let lead: &[u8] = if text.is_empty() { b"" } else { b"\n" };
            append(&mut text, lead).and_then(|()| append(&mut text, line))?;
        }
        if text.is_empty() {
            return Ok(());
        }
        let mut storage = FileStorage::open(&self.path)?.with_durability(Durability::Fsync);
        if storage.file_id() != fs::stat(new).with_call("fstat", &self.path)?.file_id {
            return Err(Error::elsewhere(&self.path));
        }
        // The new file has been locked since it was created.
        storage.set_locked(true);
        storage.set_unterminated(true);
        storage.append(&mut text).map(drop)
    }

    /// The new forms of the lines in `from..to` of the old file, each with the end of the old line. An unterminated
    /// line is included only with `takes_unterminated`.
    fn lines_from(
        &self,
        from: u64,
        to: u64,
        takes_unterminated: bool,
        rewrite: &mut dyn Rewrite,
    ) -> Result<Vec<LateLine>> {
        let source = At { file: &self.file, offset: from }.take(to.saturating_sub(from));
        let mut reader = LineReader::new(source, from, CHUNK);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().with_call("read", &self.path)? {
            if line.skipped.is_some() {
                // No program writes such a line, and it does not fit into memory.
                return Err(OutOfMemory.into());
            }
            if line.is_terminated || takes_unterminated {
                let new = rewrite.late_line(line.bytes)?;
                let new = new.map_or_else(|| copy_of_bytes(line.bytes), Ok)?;
                push(&mut lines, (new, line.end()))?;
            }
        }
        Ok(lines)
    }
}

/// The first bytes of a file, enough for a usual header.
fn head_of(file: &File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    At { file, offset: 0 }.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The new form of an appended line, and the position after the old line and its newline.
type LateLine = (Vec<u8>, u64);

#[cfg(test)]
mod tests;
