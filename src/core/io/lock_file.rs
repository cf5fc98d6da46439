//! Exclusive sessions: a file beside the session's, named after it and locked as long as its holder lives.
//!
//! The session's own file is never locked, so that whoever knows nothing of locks, pi above all, reads and writes it as
//! ever. The lock is the operating system's and ends with the process that has it, however it ends; a lock file
//! without a holder means nothing and is removed by the next who looks.
//!
//! A lock file is a regular file that says so ([`MARK`]) and names its holder's process. It is written and locked before it
//! gets its name, and never changed: so it says so from its first moment, and an empty one is not ours. Whatever else has
//! its name is somebody else's (other tools lock by a file's being there, with nothing in it, or a number): it is neither
//! written to nor removed, locks nothing, and makes taking the lock an error.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::at_exit;
use super::fs;
use super::held_lock::{is_at, remove, HeldLock};
use super::open;
use super::sidecar_names::beside;
use super::temporary::Temporary;
use crate::core::base::error::{Error, Result};

/// How often a lock is tried for before it is refused: a look by another process holds it for a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);
/// How often one is tried for that is held for the time of a repair.
const REPAIR_TRIES: u32 = 1000;
/// What a lock file begins with. Behind it stands the process.
const MARK: &[u8] = b"pi-session-native ";
/// What stands behind the process in a lock that is held for the time of a repair alone.
const REPAIR: &[u8] = b" repair";
/// More than a lock file ever holds.
const LONGEST: usize = 64;

/// The lock of one session. It ends when this value goes, or the last that shares it.
#[derive(Debug)]
pub struct FileLock(Arc<HeldLock>);

/// The locks that this process shares, by their files.
static SHARED: Mutex<Vec<(PathBuf, Weak<HeldLock>)>> = Mutex::new(Vec::new());

/// Who has a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The process. Elsewhere than on Unix what a locked file says cannot be read.
    pub pid: Option<u32>,
    /// Whether it will let go soon by itself.
    pub repairs: bool,
}

/// How somebody who has no lock finds that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockStatus {
    Free,
    /// A repair had it and is done: the session's file may be another one now.
    Waited,
    Held(Holder),
}

/// The lock file of a session file: one, whatever symbolic links lead to it.
pub fn path_of(session: &str) -> PathBuf {
    let path = Path::new(session);
    let real = fs::real_path(path).ok().or_else(|| {
        let dir = fs::real_path(path.parent()?).ok()?;
        Some(dir.join(path.file_name()?))
    });
    beside(&real.unwrap_or_else(|| path.to_owned()), ".lock")
}

impl FileLock {
    /// Takes the lock of the session file at `session`; an error naming the holder's process if there is one.
    pub fn take(session: &str) -> Result<Self> {
        Self::take_saying(session, b"")
    }

    /// The lock, shared with all in this process who take it so. Tells whether it was not held before.
    pub fn share(session: &str) -> Result<(Self, bool)> {
        let path = path_of(session);
        // HeldLock meanwhile: of two threads the second finds what the first took.
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|(_, held)| held.strong_count() > 0);
        let known = shared.iter().find(|(other, _)| *other == path).and_then(|(_, held)| held.upgrade());
        if let Some(lock) = known.map(Self) {
            if lock.is_in_place()? {
                at_exit::remember(&lock.0);
                return Ok((lock, false));
            }
        }
        let lock = Self::take(session)?;
        shared.retain(|(other, _)| *other != path);
        shared.push((path, Arc::downgrade(&lock.0)));
        Ok((lock, true))
    }

    /// The lock for the time of a repair: others wait for its end.
    pub fn take_for_repair(session: &str) -> Result<Self> {
        Self::take_saying(session, REPAIR)
    }

    fn take_saying(session: &str, purpose: &[u8]) -> Result<Self> {
        let path = path_of(session);
        let mut tries = 0;
        loop {
            if let Some(file) = make(&path, session, purpose)? {
                let held = Arc::new(HeldLock::new(path.clone(), file));
                at_exit::remember(&held);
                let lock = Self(held);
                // Without hard links another may have come in the same moment, and have taken the name over.
                match lock.is_in_place()? {
                    true => return Ok(lock),
                    false => continue,
                }
            }
            let Some(file) = reach(&path)? else {
                continue;
            };
            if fs::try_lock(&file).map_err(|error| failed(&path, error))? {
                // Its holder is dead, or has just removed it.
                if is_at(&path, &file).map_err(|error| failed(&path, error))? {
                    remove(&path, file).map_err(|error| failed(&path, error))?;
                }
                continue;
            }
            tries += 1;
            let repairs = || matches!(content(&file), Ok(Some(Holder { repairs: true, .. })));
            if tries < TRIES || tries < REPAIR_TRIES && repairs() {
                std::thread::sleep(PAUSE);
                continue;
            }
            return Err(Error::locked(session, pid_in(&file)));
        }
    }

    /// Whether the lock still is what others find: nobody has removed its file.
    pub fn is_in_place(&self) -> Result<bool> {
        self.0.is_in_place().map_err(|error| failed(self.0.path(), error))
    }
}

/// The process that has the lock of the session file at `session`; None if nobody has. Elsewhere than on Unix its number
/// cannot be read.
pub fn held(session: &str) -> Result<Option<Option<u32>>> {
    let path = path_of(session);
    let found = holder_at(&path).map_err(|error| failed(&path, error))?;
    Ok(found.map(|holder| holder.pid))
}

/// Who has the lock file at `path`. The end of a repair is waited for, a while. A lock file that may not be read, or cannot
/// be locked or be there at all, has nobody.
pub fn probe(path: &Path) -> Result<LockStatus> {
    for tries in 0.. {
        let found = match holder_at(path) {
            Err(error) if is_refused(&error) => None,
            found => found.map_err(|error| failed(path, error))?,
        };
        match found {
            None if tries == 0 => return Ok(LockStatus::Free),
            None => return Ok(LockStatus::Waited),
            Some(holder) if !holder.repairs || tries >= REPAIR_TRIES => return Ok(LockStatus::Held(holder)),
            Some(_) => std::thread::sleep(PAUSE),
        }
    }
    Ok(LockStatus::Free)
}

/// Whether the system will never let this user, or anybody, look at that lock file.
fn is_refused(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    matches!(error.kind(), InvalidFilename | PermissionDenied | ReadOnlyFilesystem | Unsupported)
}

fn holder_at(path: &Path) -> io::Result<Option<Holder>> {
    // To look it is enough to read: it may be another user's, or on a disk that nobody may write to.
    let Some(file) = open_ours(path, false)? else {
        return Ok(None);
    };
    if fs::try_lock_shared(&file)? {
        drop(file);
        remove_stale(path);
        return Ok(None);
    }
    content(&file)
}

/// Removes a lock file that nobody holds.
pub fn remove_stale(path: &Path) {
    let Ok(Some(file)) = open_ours(path, true) else {
        return;
    };
    if fs::try_lock(&file).is_ok_and(|free| free) && is_at(path, &file).unwrap_or(false) {
        // One that cannot be removed locks nothing, and is tried again by the next who looks.
        let _ = remove(path, file);
    }
}

/// Makes the lock file at `path`, locked and whole; None if something has its name.
fn make(path: &Path, session: &str, purpose: &[u8]) -> Result<Option<File>> {
    let fail = |error| failed(path, error);
    if fs::entry_at(path).map_err(fail)?.is_some() {
        return Ok(None);
    }
    let mut temporary = Temporary::beside(path).map_err(fail)?;
    if let Some(error) = temporary.unlockable.take() {
        return Err(fail(error));
    }
    let says = [MARK, std::process::id().to_string().as_bytes(), purpose].concat();
    fs::write_all(&temporary.file, &says).map_err(fail)?;
    match fs::metadata(Path::new(session)) {
        // Whoever may read the session may see that it is locked.
        // That others may read it is a courtesy; some file systems know no modes.
        Ok(meta) => drop(fs::set_readable_like(&temporary.file, &meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(fail(error)),
    }
    let file = open::duplicate(&temporary.file).map_err(fail)?;
    match temporary.appear_as(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        named => named.map(|()| Some(file)).map_err(fail),
    }
}

/// The lock file at `path`; None if it went meanwhile.
fn reach(path: &Path) -> Result<Option<File>> {
    let fail = |error| failed(path, error);
    if let Some(file) = open_ours(path, true).map_err(fail)? {
        return Ok(Some(file));
    }
    // Looked at again: one of ours may have come and gone meanwhile.
    match fs::entry_at(path).map_err(fail)? {
        None => Ok(None),
        Some(_) if open_ours(path, true).map_err(fail)?.is_some() => Ok(None),
        Some(_) => Err(Error::failed(format!(
            "Session cannot be locked: what has the name of its lock file is no lock file: {}",
            path.to_string_lossy()
        ))),
    }
}

/// The file at `path` if it is a lock file as they are written here.
fn open_ours(path: &Path, writes: bool) -> io::Result<Option<File>> {
    if !fs::entry_at(path)?.is_some_and(|meta| meta.is_file() && meta.len() < LONGEST as u64) {
        return Ok(None);
    }
    let file = match open::lock_file(path, writes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_link(&error) => return Ok(None),
        result => result?,
    };
    let ours = fs::metadata_of(&file)?.is_file() && content(&file)?.is_some();
    Ok(ours.then_some(file))
}

fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(libc::ELOOP);
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// What a lock file says; None if it is none of ours.
fn content(file: &File) -> io::Result<Option<Holder>> {
    let mut buffer = [0; LONGEST];
    let mut size = 0;
    while let Some(rest) = buffer.get_mut(size..).filter(|rest| !rest.is_empty()) {
        match fs::read_at(file, size as u64, rest) {
            Ok(0) => break,
            Ok(read) => size += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Elsewhere than on Unix a file that is locked cannot be read.
            Err(_) if cfg!(not(unix)) => return Ok(Some(Holder { pid: None, repairs: false })),
            Err(error) => return Err(error),
        }
    }
    let text = buffer.get(..size).unwrap_or_default();
    let Some(text) = text.strip_prefix(MARK) else {
        return Ok(None);
    };
    let (pid, repairs) = match text.strip_suffix(REPAIR) {
        Some(pid) => (pid, true),
        None => (text, false),
    };
    let digits = !pid.is_empty() && pid.iter().all(u8::is_ascii_digit);
    let pid = std::str::from_utf8(pid).ok().filter(|_| digits).and_then(|pid| pid.parse().ok());
    Ok(pid.map(|pid| Holder { pid: Some(pid), repairs }))
}

/// The process in a lock file that is held.
fn pid_in(file: &File) -> Option<u32> {
    content(file).ok().flatten().and_then(|holder| holder.pid)
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::io("lock", &path.to_string_lossy(), error)
}

#[cfg(test)]
mod tests;
