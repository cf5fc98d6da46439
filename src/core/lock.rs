//! Exclusive sessions: a file beside the session's, named after it and locked as long as its holder lives.
//!
//! The session's own file is never locked, so that whoever knows nothing of locks, pi above all, reads and writes it as
//! ever. The lock is the operating system's and ends with the process that has it, however it ends; a lock file
//! without a holder means nothing and is removed by the next who looks.
//!
//! A lock file is a regular file with nothing in it or with its holder's process, as written here. Whatever else has its
//! name is somebody else's: it is neither written to nor removed, locks nothing, and makes taking the lock an error.

mod exit;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::error::{Error, Result};
use super::storage::disk;
pub use exit::release_all;

/// How often a lock is tried for before it is refused: a look by another process holds it for a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);
/// How often one is tried for that is held for the time of a repair.
const REPAIR_TRIES: u32 = 1000;
/// What stands behind the process in a lock that is held for the time of a repair alone.
const REPAIR: &[u8] = b" repair";
/// More than a lock file ever holds.
const LONGEST: usize = 32;

/// The lock of one session. It ends when this value goes, or the last that shares it.
#[derive(Debug)]
pub struct FileLock(Arc<Held>);

/// The locks that this process shares, by their files.
static SHARED: Mutex<Vec<(PathBuf, Weak<Held>)>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Held {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

/// Who has a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The process. One that has only just taken it may have no number yet.
    pub pid: Option<u32>,
    /// Whether it will let go soon by itself.
    pub repairs: bool,
}

/// How somebody who has no lock finds that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Free,
    /// A repair had it and is done: the session's file may be another one now.
    Waited,
    Held(Holder),
}

/// The lock file of a session file: one, whatever symbolic links lead to it.
pub fn path_of(session: &str) -> PathBuf {
    let path = Path::new(session);
    let real = disk::real_path(path).ok().or_else(|| {
        let dir = disk::real_path(path.parent()?).ok()?;
        Some(dir.join(path.file_name()?))
    });
    let mut name = real.unwrap_or_else(|| path.to_owned()).into_os_string();
    name.push(".lock");
    PathBuf::from(name)
}

impl FileLock {
    /// Takes the lock of the session file at `session`; an error naming the holder's process if there is one.
    pub fn take(session: &str) -> Result<Self> {
        Self::take_saying(session, b"")
    }

    /// The lock, shared with all in this process who take it so. Tells whether it was not held before.
    pub fn share(session: &str) -> Result<(Self, bool)> {
        let path = path_of(session);
        // Held meanwhile: of two threads the second finds what the first took.
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|(_, held)| held.strong_count() > 0);
        let known = shared.iter().find(|(other, _)| *other == path).and_then(|(_, held)| held.upgrade());
        if let Some(lock) = known.map(Self) {
            if lock.is_found()? {
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
        let fail = |error| failed(&path, error);
        let says = [std::process::id().to_string().as_bytes(), purpose].concat();
        let mut tries = 0;
        loop {
            let Some((file, made)) = reach(&path)? else {
                continue;
            };
            match disk::try_lock(&file) {
                Ok(true) => {}
                Ok(false) => {
                    tries += 1;
                    let repairs = || matches!(content(&file), Ok(Some(Holder { repairs: true, .. })));
                    if tries < TRIES || tries < REPAIR_TRIES && repairs() {
                        std::thread::sleep(PAUSE);
                        continue;
                    }
                    return Err(Error::locked(session, holder(&file).pid));
                }
                Err(error) => {
                    // Nothing can be locked here, so nobody has it.
                    if made {
                        let _ = disk::remove(&path);
                    }
                    return Err(fail(error));
                }
            }
            let lock = Self::held(path.clone(), file);
            // Its last holder may have removed it between the two calls: then it is nobody's lock.
            if !lock.is_found()? {
                continue;
            }
            // A lock that cannot say its process is given up, and its file removed.
            lock.0.say(&says).map_err(fail)?;
            return Ok(lock);
        }
    }

    fn held(path: PathBuf, file: File) -> Self {
        let held = Arc::new(Held { path, file: Mutex::new(Some(file)) });
        exit::remember(&held);
        Self(held)
    }

    /// Whether the lock still is what others find: nobody has removed its file.
    pub fn is_found(&self) -> Result<bool> {
        match &*self.0.file.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(file) => leads_to(&self.0.path, file).map_err(|error| failed(&self.0.path, error)),
            None => Ok(false),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

impl Held {
    fn say(&self, text: &[u8]) -> io::Result<()> {
        match &*self.file.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(file) => disk::truncate(file, 0).and_then(|()| disk::write_all_at(file, 0, text)),
            None => Ok(()),
        }
    }

    fn release(&self) {
        let Some(file) = self.file.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        // Removed while it is still held, so that nobody else's is. Elsewhere than on Unix it must be closed first.
        if leads_to(&self.path, &file).unwrap_or(false) {
            let held = cfg!(unix).then_some(file);
            let _ = disk::remove(&self.path);
            drop(held);
        }
    }
}

/// The process that has the lock of the session file at `session`; None if nobody has. A process that has only just
/// taken it may have no number yet.
pub fn held(session: &str) -> Result<Option<Option<u32>>> {
    Ok(holder_at(&path_of(session))?.map(|holder| holder.pid))
}

/// Who has the lock file at `path`. The end of a repair is waited for, a while.
pub fn ask(path: &Path) -> Result<Asked> {
    for tries in 0.. {
        match holder_at(path)? {
            None if tries == 0 => return Ok(Asked::Free),
            None => return Ok(Asked::Waited),
            Some(holder) if !holder.repairs || tries >= REPAIR_TRIES => return Ok(Asked::Held(holder)),
            Some(_) => std::thread::sleep(PAUSE),
        }
    }
    Ok(Asked::Free)
}

fn holder_at(path: &Path) -> Result<Option<Holder>> {
    let fail = |error| failed(path, error);
    let Some(file) = open_ours(path).map_err(fail)? else {
        return Ok(None);
    };
    match disk::try_lock_shared(&file) {
        Ok(false) => Ok(Some(holder(&file))),
        Err(error) => Err(fail(error)),
        Ok(true) => {
            drop(file);
            remove_stale(path);
            Ok(None)
        }
    }
}

/// Removes a lock file that nobody holds.
pub fn remove_stale(path: &Path) {
    let Ok(Some(file)) = open_ours(path) else {
        return;
    };
    let free = disk::try_lock(&file).is_ok_and(|free| free);
    if free && leads_to(path, &file).unwrap_or(false) && content(&file).is_ok_and(|found| found.is_some()) {
        let _ = disk::remove(path);
    }
}

/// The lock file at `path`, and whether it was made here because there was none; None if it came or went meanwhile.
fn reach(path: &Path) -> Result<Option<(File, bool)>> {
    let fail = |error| failed(path, error);
    if disk::entry_at(path).map_err(fail)?.is_none() {
        return match disk::create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            result => result.map(|file| Some((file, true))).map_err(fail),
        };
    }
    if let Some(file) = open_ours(path).map_err(fail)? {
        return Ok(Some((file, false)));
    }
    match disk::entry_at(path).map_err(fail)? {
        None => Ok(None),
        Some(_) => Err(Error::failed(format!(
            "Session cannot be locked: what has the name of its lock file is no lock file: {}",
            path.to_string_lossy()
        ))),
    }
}

/// The file at `path` if it is a lock file as they are written here.
fn open_ours(path: &Path) -> io::Result<Option<File>> {
    if !disk::entry_at(path)?.is_some_and(|meta| meta.is_file() && meta.len() < LONGEST as u64) {
        return Ok(None);
    }
    let file = match disk::open_lock(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_link(&error) => return Ok(None),
        result => result?,
    };
    let meta = disk::metadata_of(&file)?;
    let ours = meta.is_file() && has_one_name(&meta) && content(&file)?.is_some();
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

fn has_one_name(meta: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(meta) <= 1;
    #[cfg(not(unix))]
    {
        let _ = meta;
        true
    }
}

fn leads_to(path: &Path, file: &File) -> io::Result<bool> {
    let now = disk::stat_path(path)?;
    Ok(now.is_some_and(|now| disk::stat(file).is_ok_and(|stat| stat.identity == now.identity)))
}

/// What a lock file says; None if it is none of ours.
fn content(file: &File) -> io::Result<Option<Holder>> {
    let mut buffer = [0; LONGEST];
    let mut size = 0;
    while let Some(rest) = buffer.get_mut(size..).filter(|rest| !rest.is_empty()) {
        match disk::read_at(file, size as u64, rest) {
            Ok(0) => break,
            Ok(read) => size += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Elsewhere than on Unix a file that is locked cannot be read.
            Err(_) if cfg!(not(unix)) => break,
            Err(error) => return Err(error),
        }
    }
    let text = buffer.get(..size).unwrap_or_default();
    let (pid, repairs) = match text.strip_suffix(REPAIR) {
        Some(pid) => (pid, true),
        None => (text, false),
    };
    if text.is_empty() {
        return Ok(Some(Holder { pid: None, repairs: false }));
    }
    let digits = !pid.is_empty() && pid.iter().all(u8::is_ascii_digit);
    let pid = std::str::from_utf8(pid).ok().filter(|_| digits).and_then(|pid| pid.parse().ok());
    Ok(pid.map(|pid| Holder { pid: Some(pid), repairs }))
}

/// The holder of a lock file that is held.
fn holder(file: &File) -> Holder {
    for _ in 0..TRIES {
        if let Ok(Some(holder @ Holder { pid: Some(_), .. })) = content(file) {
            return holder;
        }
        std::thread::sleep(PAUSE);
    }
    Holder { pid: None, repairs: false }
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::io("lock", &path.to_string_lossy(), error)
}

#[cfg(test)]
mod tests;
