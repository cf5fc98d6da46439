//! Exclusive sessions: a file beside the session's, named after it and locked as long as its holder lives.
//!
//! The session's own file is never locked, so that whoever knows nothing of locks, pi above all, reads and writes it as
//! ever. The lock is the operating system's and ends with the process that has it, however it ends; a lock file
//! without a holder means nothing and is removed by the next who looks.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{Error, Result};
use super::storage::disk;

/// How often a lock is tried for before it is refused: a look by another process holds it for a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);

/// The lock of one session. It ends when this value goes.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    file: Option<File>,
}

/// The lock file of a session file: one, whatever links lead to it.
fn path_of(session: &str) -> PathBuf {
    let path = Path::new(session);
    let real = std::fs::canonicalize(path).ok().or_else(|| {
        let dir = std::fs::canonicalize(path.parent()?).ok()?;
        Some(dir.join(path.file_name()?))
    });
    let mut name = real.unwrap_or_else(|| path.to_owned()).into_os_string();
    name.push(".lock");
    PathBuf::from(name)
}

impl FileLock {
    /// Takes the lock of the session file at `session`; an error naming the holder's process if there is one.
    pub fn take(session: &str) -> Result<Self> {
        let path = path_of(session);
        let fail = |syscall| move |error| Error::io(syscall, session, error);
        let mut tries = 0;
        loop {
            let mut file = open(&path).map_err(fail("lock"))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    tries += 1;
                    if tries < TRIES {
                        std::thread::sleep(PAUSE);
                        continue;
                    }
                    return Err(Error::locked(session, holder(&mut file)));
                }
                Err(TryLockError::Error(error)) => return Err(fail("lock")(error)),
            }
            // Its last holder may have removed it between the two calls: then it is nobody's lock.
            if leads_to(&path, &file).map_err(fail("lock"))? {
                let written = file
                    .set_len(0)
                    .and_then(|()| file.rewind())
                    .and_then(|()| file.write_all(std::process::id().to_string().as_bytes()));
                written.map_err(fail("lock"))?;
                return Ok(Self { path, file: Some(file) });
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Removed while it is still held, so that nobody else's is. Elsewhere than on Unix it must be closed first.
        if cfg!(not(unix)) {
            self.file = None;
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The process that has the lock of the session file at `session`; None if nobody has. A process that has only just
/// taken it may have no number yet.
pub fn held(session: &str) -> Result<Option<Option<u32>>> {
    let path = path_of(session);
    let fail = |error| Error::io("lock", session, error);
    let mut file = match File::options().read(true).write(true).open(&path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        result => result.map_err(fail)?,
    };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Ok(Some(holder(&mut file))),
        Err(TryLockError::Error(error)) => Err(fail(error)),
        Ok(()) => {
            drop(file);
            remove_stale(&path);
            Ok(None)
        }
    }
}

/// Removes a lock file that nobody holds.
pub fn remove_stale(path: &Path) {
    let Ok(file) = File::options().read(true).write(true).open(path) else {
        return;
    };
    if file.try_lock().is_ok() && leads_to(path, &file).unwrap_or(false) {
        let _ = std::fs::remove_file(path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn leads_to(path: &Path, file: &File) -> io::Result<bool> {
    let now = disk::stat_path(path)?;
    Ok(now.is_some_and(|now| disk::stat(file).is_ok_and(|stat| stat.identity == now.identity)))
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    for _ in 0..TRIES {
        text.clear();
        let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
        if let (Ok(_), Ok(pid)) = (read, text.trim().parse()) {
            return Some(pid);
        }
        std::thread::sleep(PAUSE);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_the_next_hears_who() {
        let dir = tempfile::tempdir().expect("a directory");
        let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
        assert_eq!(held(&session).expect("asked"), None);
        let lock = FileLock::take(&session).expect("taken");
        assert_eq!(held(&session).expect("asked"), Some(Some(std::process::id())));
        let error = FileLock::take(&session).expect_err("it is held");
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        assert!(error.to_string().contains(&session), "{error}");
        drop(lock);
        assert_eq!(held(&session).expect("asked"), None);
        assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 0);
        FileLock::take(&session).expect("taken again");
    }

    #[test]
    fn a_lock_file_without_a_holder_means_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
        std::fs::write(path_of(&session), "1").expect("written");
        drop(FileLock::take(&session).expect("taken"));
        std::fs::write(path_of(&session), "1").expect("written");
        assert_eq!(held(&session).expect("asked"), None);
        assert!(!path_of(&session).exists());
    }

    #[test]
    fn many_threads_never_hold_it_together() {
        let dir = tempfile::tempdir().expect("a directory");
        let session = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
        let holders = std::sync::atomic::AtomicUsize::new(0);
        let taken = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(lock) = FileLock::take(&session) {
                            assert_eq!(holders.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                            taken.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            holders.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                            drop(lock);
                        }
                        let _ = held(&session);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 200);
    }
}
