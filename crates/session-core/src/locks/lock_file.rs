//! The session lock: a locked file beside the session's file, named after it. An exclusive session has the lock while
//! it is open; a repair, a merge and a redaction have it while they run.
//!
//! The session's own file is not locked, so that programs without this lock, above all pi, can read and write it. The
//! lock is an operating-system lock, which ends with its process in any way. An unlocked lock file means nothing; the
//! next process that finds it removes it.
//!
//! We do not use a lock on the session's own file, because `close` of any handle of the file in the process would end
//! it (POSIX), or because it would not name a process (`flock`), or because it would keep pi out (Windows).
//!
//! A lock file is a regular file that contains a mark (`LOCK_PREFIX`) and the process of its owner. It is written and
//! locked before it gets its name, and never changed. Any other file with that name belongs to another tool. (Some
//! tools lock by the mere presence of a file, empty or with a number in it.) Such a file is neither written nor removed
//! and locks nothing, and taking the lock fails.

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

/// How often, and at which interval, we try to lock before we fail: a quarter of a second in all. Most repairs, and
/// processes that only check the lock, release it earlier.
const TRIES: u32 = 125;
const PAUSE: Duration = Duration::from_millis(2);
/// The start of a lock file. The process id follows.
const LOCK_PREFIX: &str = "pi-session-native ";
/// More bytes than any lock file contains.
const MAX_LOCK_BYTES: u64 = 64;

/// The process that has a lock; None if it is not known, because a locked file cannot be read on Windows.
pub(crate) type Holder = Option<u32>;

/// The state of a lock file's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Nothing,
    /// A lock file that nobody has locked.
    Stale,
    Held(Holder),
    /// A file of another tool, a directory or a link.
    Foreign,
}

/// The path of a session file's lock file. It is the same for all symbolic links to the session file.
pub(crate) fn path_of(session: &str) -> PathBuf {
    let path = Path::new(session);
    let real = fs::real_path(path).ok().or_else(|| {
        let dir = fs::real_path(path.parent()?).ok()?;
        Some(dir.join(path.file_name()?))
    });
    beside(&real.unwrap_or_else(|| path.to_owned()), ".lock")
}

impl SessionLockGuard {
    /// Takes the lock of the session file at `session`. Fails with an error that names the process that has the lock.
    pub(crate) fn take(session: &str) -> Result<Self> {
        Self::take_for(session, false)
    }

    /// Takes the lock and shares it with all sessions in this process that take it so. Returns whether the lock is new.
    pub(crate) fn share(session: &str) -> Result<(Self, bool)> {
        let path = path_of(session);
        let shared = || Self::shared(&path).map(|lock| (lock, false));
        match shared() {
            Some(known) => Ok(known),
            // Another thread may have taken the lock since.
            None => Self::take_for(session, true).map(|lock| (lock, true)).or_else(|error| shared().ok_or(error)),
        }
    }

    /// Takes the lock, or a share of it if sessions in this process share it: they read the changes of others to the
    /// file.
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
                    let what = "Session cannot be locked: the file at its lock file's path is not a lock file; \
                                remove it unless another tool needs it";
                    return Err(Error::of_file(ErrorCode::SessionLocked, what, &name));
                }
            }
        }
        Err(Error::locked(session, holder))
    }
}

/// Which process has the lock of the session file at `session`; None if nobody has it.
pub fn held(session: &str) -> Result<Option<Holder>> {
    let path = path_of(session);
    holder_at(&path).with_call("lock", &path.to_string_lossy())
}

/// Waits until nobody has the lock of the session file at `session`. Returns whether somebody had it. Fails with an
/// error that names the process if it keeps the lock. A lock file that cannot be read or locked counts as unlocked.
pub(crate) fn wait_until_free(session: &str) -> Result<bool> {
    use io::ErrorKind::{InvalidFilename, NotADirectory, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    let path = path_of(session);
    let mut holder = None;
    for tries in 0..TRIES {
        holder = match holder_at(&path) {
            Ok(None) => return Ok(tries > 0),
            Ok(Some(holder)) => holder,
            Err(error) => match error.kind() {
                // Whoever opens the session file reports it, if it is a problem there, too.
                InvalidFilename | NotADirectory | PermissionDenied | ReadOnlyFilesystem | Unsupported => {
                    return Ok(tries > 0)
                }
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
        // If it cannot be removed, it locks nothing, and the next process that finds it tries again.
        Status::Stale => drop(remove_stale(path)),
        Status::Nothing | Status::Foreign => {}
    }
    Ok(None)
}

fn status(path: &Path) -> io::Result<Status> {
    // Opened for reading only, because the file may belong to another user or be on a read-only disk.
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

/// Removes a lock file that nobody has locked.
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

/// Creates the lock file at `path`, complete and locked; None if that name exists.
fn make(path: &Path, session: &str) -> io::Result<Option<File>> {
    let mut temporary = Temporary::beside(path)?;
    // The temporary file is locked already. This call fails where files cannot be locked.
    fs::try_lock(&temporary.file)?;
    write!(temporary, "{LOCK_PREFIX}{}", std::process::id())?;
    match fs::metadata(Path::new(session)) {
        // Whoever may read the session may see that it is locked, on file systems with modes.
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

/// The process id in a lock file; None if the file is not one of ours.
fn read_holder(file: &File) -> io::Result<Option<Holder>> {
    if !fs::metadata_of(file)?.is_file() {
        return Ok(None);
    }
    let mut text = String::new();
    match (At { file, offset: 0 }).take(MAX_LOCK_BYTES).read_to_string(&mut text) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
        // On systems other than Unix a locked file cannot be read.
        Err(_) if cfg!(not(unix)) => return Ok(Some(None)),
        read => read?,
    };
    let pid = text.strip_prefix(LOCK_PREFIX).filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
    Ok(pid.and_then(|pid| pid.parse().ok()).map(Some))
}

#[cfg(test)]
mod tests;
