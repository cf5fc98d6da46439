//! The session lock: a file beside the session's, named after it and locked as long as its holder lives. An exclusive session
//! holds it while it is open; a repair, a merge and a redaction hold it while they run.
//!
//! The lock is not on the session's own file, so that programs that know nothing of locks, pi above all, read and write it
//! as ever. The lock is the operating system's and ends with the process that has it, however it ends; a lock file
//! without a holder means nothing and is removed by the next process that finds it.
//!
//! A lock on the session's file itself would end with any `close` of that file in the process (POSIX), name no process
//! (`flock`), or keep pi out (Windows).
//!
//! A lock file is a regular file that holds a mark (`LOCK_PREFIX`) and its holder's process. It is written and locked before it gets its
//! name, and never changed. Anything else with that name belongs to another tool (some lock by the presence of a file, empty or with a
//! number in it): it is neither written to nor removed, it locks nothing, and taking the lock is an error.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use super::held_lock_files::SessionLockGuard;
use crate::base::error::{Error, ErrorCode, Result, WithCall};
use crate::io::fs::{self, At};
use crate::io::open;
use crate::io::sidecar_names::beside;
use crate::io::temporary::Temporary;

/// How often, and at what interval, a lock is tried for before it is refused, a quarter of a second in all. Most repairs
/// hold it for less, and so does a process that only checks it.
const TRIES: u32 = 125;
const PAUSE: Duration = Duration::from_millis(2);
/// What a lock file begins with; the process follows.
const LOCK_PREFIX: &str = "pi-session-native ";
/// More bytes than a lock file ever holds.
const MAX_LOCK_BYTES: u64 = 64;

/// The process that has a lock; None where it is not known, because a locked file cannot be read (Windows).
pub(crate) type Holder = Option<u32>;

/// What has the name of a lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Nothing,
    /// A lock file that nobody holds.
    Stale,
    Held(Holder),
    /// A file of another tool, a directory or a link.
    Foreign,
}

/// The lock file of a session file: one, whatever symbolic links lead to it.
pub(crate) fn path_of(session: &str) -> PathBuf {
    let path = Path::new(session);
    let real = fs::real_path(path).ok().or_else(|| {
        let dir = fs::real_path(path.parent()?).ok()?;
        Some(dir.join(path.file_name()?))
    });
    beside(&real.unwrap_or_else(|| path.to_owned()), ".lock")
}

impl SessionLockGuard {
    /// Takes the lock of the session file at `session`; an error naming the holder's process if there is one.
    pub(crate) fn take(session: &str) -> Result<Self> {
        Self::take_for(session, false)
    }

    /// The lock, shared with all in this process who take it so. Tells whether it was not held before.
    pub(crate) fn share(session: &str) -> Result<(Self, bool)> {
        let path = path_of(session);
        let shared = || Self::shared(&path).map(|lock| (lock, false));
        match shared() {
            Some(known) => Ok(known),
            // Another thread may have taken it meanwhile.
            None => Self::take_for(session, true).map(|lock| (lock, true)).or_else(|error| shared().ok_or(error)),
        }
    }

    /// The lock, alone, or with those in this process who share it: their sessions take in what is done to the file.
    pub(crate) fn join(session: &str) -> Result<Self> {
        Self::shared(&path_of(session)).map_or_else(|| Self::take(session), Ok)
    }

    fn take_for(session: &str, is_shared: bool) -> Result<Self> {
        let path = path_of(session);
        let name = path.to_string_lossy().into_owned();
        let mut holder = None;
        for _ in 0..TRIES {
            match status(&path).with_call("lock", &name)? {
                Status::Nothing => {
                    if let Some(file) = make(&path, session).with_call("lock", &name)? {
                        return Ok(Self::new(path, file, is_shared));
                    }
                }
                Status::Stale => remove_stale(&path).with_call("lock", &name)?,
                Status::Held(now) => {
                    holder = now;
                    std::thread::sleep(PAUSE);
                }
                Status::Foreign => {
                    let what = "Session cannot be locked: the file at its lock file's path is not a lock file";
                    return Err(Error::of_file(ErrorCode::SessionLocked, what, &name));
                }
            }
        }
        Err(Error::locked(session, holder))
    }
}

/// Who has the lock of the session file at `session`; None if nobody has.
pub fn held(session: &str) -> Result<Option<Holder>> {
    let path = path_of(session);
    holder_at(&path).with_call("lock", &path.to_string_lossy())
}

/// Waits until nobody has the lock of the session file at `session`. Returns whether somebody had it; an error that names
/// the holder's process if it keeps the lock. A lock file that cannot be read or locked counts as held by nobody.
pub(crate) fn wait_until_free(session: &str) -> Result<bool> {
    use io::ErrorKind::{InvalidFilename, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    let path = path_of(session);
    let mut holder = None;
    for tries in 0..TRIES {
        holder = match holder_at(&path) {
            Ok(None) => return Ok(tries > 0),
            Ok(Some(holder)) => holder,
            Err(error) => match error.kind() {
                InvalidFilename | PermissionDenied | ReadOnlyFilesystem | Unsupported => return Ok(tries > 0),
                _ => return Err(Error::io("lock", &path.to_string_lossy(), error)),
            },
        };
        std::thread::sleep(PAUSE);
    }
    Err(Error::locked(session, holder))
}

fn holder_at(path: &Path) -> io::Result<Option<Holder>> {
    match status(path)? {
        Status::Held(holder) => return Ok(Some(holder)),
        // One that cannot be removed locks nothing, and is tried again by the next who finds it.
        Status::Stale => drop(remove_stale(path)),
        Status::Nothing | Status::Foreign => {}
    }
    Ok(None)
}

fn status(path: &Path) -> io::Result<Status> {
    // Reading is enough: the file may be another user's, or on a read-only disk.
    let file = match open::lock_file(path, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Status::Nothing),
        #[cfg(unix)]
        Err(error) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO | libc::EOPNOTSUPP)) => {
            return Ok(Status::Foreign)
        }
        file => file?,
    };
    Ok(match read_holder(&file)? {
        None => Status::Foreign,
        Some(_) if fs::try_lock_shared(&file)? => Status::Stale,
        Some(holder) => Status::Held(holder),
    })
}

/// Removes a lock file that nobody holds.
pub(crate) fn remove_stale(path: &Path) -> io::Result<()> {
    let file = match open::lock_file(path, true) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    if read_holder(&file)?.is_some() && fs::try_lock(&file)? && fs::is_at(path, &file)? {
        fs::remove(path)
    } else {
        Ok(())
    }
}

/// Makes the lock file at `path`, locked and whole; None if something has its name.
fn make(path: &Path, session: &str) -> io::Result<Option<File>> {
    let mut temporary = Temporary::beside(path)?;
    // It is locked already, or files have no locks here.
    fs::try_lock(&temporary.file)?;
    write!(temporary, "{LOCK_PREFIX}{}", std::process::id())?;
    match fs::metadata(Path::new(session)) {
        // Who may read the session may see that it is locked, where the file system knows modes.
        Ok(meta) => drop(fs::set_like(&temporary.file, &meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = fs::duplicate(&temporary.file)?;
    match temporary.name(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        named => named.map(|()| Some(file)),
    }
}

/// What a lock file says; None if it is not one of ours.
fn read_holder(file: &File) -> io::Result<Option<Holder>> {
    if !fs::metadata_of(file)?.is_file() {
        return Ok(None);
    }
    let mut text = String::new();
    match (At { file, offset: 0 }).take(MAX_LOCK_BYTES).read_to_string(&mut text) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
        // Elsewhere than on Unix a file that is locked cannot be read.
        Err(_) if cfg!(not(unix)) => return Ok(Some(None)),
        read => read?,
    };
    let pid = text.strip_prefix(LOCK_PREFIX).filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
    Ok(pid.and_then(|pid| pid.parse().ok()).map(Some))
}

#[cfg(test)]
mod tests;
