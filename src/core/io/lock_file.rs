//! Exclusive sessions: a file beside the session's, named after it and locked as long as its holder lives.
//!
//! The session's own file is never locked, so that programs that know nothing of locks, pi above all, read and write it
//! as ever. The lock is the operating system's and ends with the process that has it, however it ends; a lock file
//! without a holder means nothing and is removed by the next process that finds it.
//!
//! A lock on the session's file itself would end with any `close` of that file in the process (POSIX), name no process
//! (`flock`), or keep pi out (Windows).
//!
//! A lock file is a regular file that holds [`MARK`] and its holder's process. It is written and locked before it gets
//! its name, and never changed. Anything else with that name belongs to another tool (some lock by the presence of a
//! file, empty or with a number in it): it is neither written to nor removed, it locks nothing, and taking the lock is
//! an error.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::at_exit;
use super::fs;
use super::held_lock::{remove, HeldLock};
use super::open;
use super::sidecar_names::beside;
use super::temporary::Temporary;
use crate::core::base::error::{Error, Result};

/// How often a lock is tried for before it is refused: a probe by another process holds it for a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);
/// The same for a lock that is held for the time of a repair.
const REPAIR_TRIES: u32 = 1000;
/// What a lock file begins with; the process follows.
const MARK: &str = "pi-session-native ";
/// What follows the process in a lock that is held for the time of a repair.
const REPAIR: &str = " repair";
/// More bytes than a lock file ever holds.
const LONGEST: usize = 64;

/// The lock of one session. It ends when this value goes, or the last that shares it.
#[derive(Debug)]
pub struct FileLock(Arc<HeldLock>);

/// The locks that this process shares, by their files.
static SHARED: Mutex<Vec<(PathBuf, Weak<HeldLock>)>> = Mutex::new(Vec::new());

/// Who has a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The process. Elsewhere than on Unix a locked file cannot be read.
    pub pid: Option<u32>,
    /// Whether it is a repair, which soon ends.
    pub repairs: bool,
}

/// What a probe of a lock finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockStatus {
    Free,
    /// A repair had it and is done: the session's file may be another one now.
    Waited,
    Held(Holder),
}

/// What has the name of a lock file.
enum Named {
    Nothing,
    /// A file of another tool, a directory or a link.
    Foreign,
    Ours(File, Holder),
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
        Self::take_for(session, "")
    }

    /// The lock for the time of a repair: others wait for its end.
    pub fn take_for_repair(session: &str) -> Result<Self> {
        Self::take_for(session, REPAIR)
    }

    /// The lock, shared with all in this process who take it so. Tells whether it was not held before.
    pub fn share(session: &str) -> Result<(Self, bool)> {
        let path = path_of(session);
        // Locked until the end: of two threads the second finds what the first took.
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

    fn take_for(session: &str, purpose: &str) -> Result<Self> {
        let path = path_of(session);
        let fail = |error| failed(&path, error);
        for tries in 0..REPAIR_TRIES {
            if let Some(file) = make(&path, session, purpose).map_err(fail)? {
                let lock = Self(Arc::new(HeldLock::new(path.clone(), file)));
                at_exit::remember(&lock.0);
                // Without hard links another process may have taken the name over in the same moment.
                match lock.is_in_place()? {
                    true => return Ok(lock),
                    false => continue,
                }
            }
            match look_up(&path, true).map_err(fail)? {
                Named::Nothing => {}
                Named::Foreign => {
                    let path = path.to_string_lossy();
                    let what = "Session cannot be locked: what has the name of its lock file is no lock file";
                    return Err(Error::failed(format!("{what}: {path}")));
                }
                Named::Ours(file, _) if fs::try_lock(&file).map_err(fail)? => {
                    // Its holder is dead, or has just removed it.
                    if fs::is_at(&path, &file).map_err(fail)? {
                        remove(&path, file).map_err(fail)?;
                    }
                }
                Named::Ours(_, holder) if tries >= TRIES && !holder.repairs => {
                    return Err(Error::locked(session, holder.pid));
                }
                Named::Ours(..) => std::thread::sleep(PAUSE),
            }
        }
        Err(Error::locked(session, None))
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
    let holder = holder_at(&path).map_err(|error| failed(&path, error))?;
    Ok(holder.map(|holder| holder.pid))
}

/// Who has the lock file at `path`. The end of a repair is waited for, a while. A lock file that may not be read, or cannot
/// be locked or be there at all, has nobody.
pub fn probe(path: &Path) -> Result<LockStatus> {
    use io::ErrorKind::{InvalidFilename, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    let mut tries = 0;
    loop {
        let holder = match holder_at(path) {
            Err(error)
                if matches!(error.kind(), InvalidFilename | PermissionDenied | ReadOnlyFilesystem | Unsupported) =>
            {
                None
            }
            holder => holder.map_err(|error| failed(path, error))?,
        };
        match holder {
            None if tries == 0 => return Ok(LockStatus::Free),
            None => return Ok(LockStatus::Waited),
            Some(holder) if !holder.repairs || tries >= REPAIR_TRIES => return Ok(LockStatus::Held(holder)),
            Some(_) => std::thread::sleep(PAUSE),
        }
        tries += 1;
    }
}

fn holder_at(path: &Path) -> io::Result<Option<Holder>> {
    // To look it is enough to read: it may be another user's, or on a disk that nobody may write to.
    let Named::Ours(file, holder) = look_up(path, false)? else {
        return Ok(None);
    };
    if fs::try_lock_shared(&file)? {
        drop(file);
        remove_stale(path);
        return Ok(None);
    }
    Ok(Some(holder))
}

/// Removes a lock file that nobody holds.
pub fn remove_stale(path: &Path) {
    let Ok(Named::Ours(file, _)) = look_up(path, true) else {
        return;
    };
    if fs::try_lock(&file).is_ok_and(|free| free) && fs::is_at(path, &file).unwrap_or(false) {
        // One that cannot be removed locks nothing, and is tried again by the next who finds it.
        let _ = remove(path, file);
    }
}

/// Makes the lock file at `path`, locked and whole; None if something has its name.
fn make(path: &Path, session: &str, purpose: &str) -> io::Result<Option<File>> {
    if fs::entry_at(path)?.is_some() {
        return Ok(None);
    }
    let mut temporary = Temporary::beside(path)?;
    if let Some(error) = temporary.lock_error.take() {
        return Err(error);
    }
    fs::write_all(&temporary.file, format!("{MARK}{}{purpose}", std::process::id()).as_bytes())?;
    match fs::metadata(Path::new(session)) {
        // Who may read the session may see that it is locked, where the file system knows modes.
        Ok(meta) => drop(fs::set_readable_like(&temporary.file, &meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = open::duplicate(&temporary.file)?;
    match temporary.appear_as(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        named => named.map(|()| Some(file)),
    }
}

/// What is at the path of a lock file.
fn look_up(path: &Path, writes: bool) -> io::Result<Named> {
    match fs::entry_at(path)? {
        None => return Ok(Named::Nothing),
        Some(meta) if !meta.is_file() || meta.len() >= LONGEST as u64 => return Ok(Named::Foreign),
        Some(_) => {}
    }
    let file = match open::lock_file(path, writes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Named::Nothing),
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Ok(Named::Foreign),
        file => file?,
    };
    // Another may have its name since it was looked at.
    let holder = if fs::metadata_of(&file)?.is_file() { read_holder(&file)? } else { None };
    Ok(holder.map_or(Named::Foreign, |holder| Named::Ours(file, holder)))
}

/// What a lock file says; None if it is none of ours.
fn read_holder(file: &File) -> io::Result<Option<Holder>> {
    let mut buffer = [0; LONGEST];
    let size = match fs::read_all_at(file, 0, &mut buffer) {
        // Elsewhere than on Unix a file that is locked cannot be read.
        Err(_) if cfg!(not(unix)) => return Ok(Some(Holder { pid: None, repairs: false })),
        size => size?,
    };
    let text = buffer.get(..size).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let Some(text) = text.and_then(|text| text.strip_prefix(MARK)) else {
        return Ok(None);
    };
    let (pid, repairs) = text.strip_suffix(REPAIR).map_or((text, false), |pid| (pid, true));
    let digits = pid.bytes().all(|byte| byte.is_ascii_digit());
    Ok(pid.parse().ok().filter(|_| digits).map(|pid| Holder { pid: Some(pid), repairs }))
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::io("lock", &path.to_string_lossy(), error)
}

#[cfg(test)]
mod tests;
