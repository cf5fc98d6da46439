//! The error of the core: one public type whose kinds stay private. Callers use predicates, users read the message. The
//! texts are pi's wherever pi has one.

use std::fmt;
use std::io;

/// The application's name in messages about session files.
pub const APP_NAME: &str = "pi";

pub type Result<T, E = Error> = std::result::Result<T, E>;

const ELSEWHERE: &str = "the path leads to another file";

/// An error of the core. `Display` gives the text that users see.
#[derive(Debug)]
pub struct Error(ErrorKind);

#[derive(Debug)]
enum ErrorKind {
    Io { syscall: &'static str, path: String, source: io::Error },
    NotASession { path: String },
    Changed { path: String, what: String },
    Lost { path: String },
    NeedsLines { path: String },
    Locked { path: String, holder: Option<u32> },
    Argument { text: String },
    Failed { text: String },
}

impl Error {
    /// An operating-system error of `syscall` on `path`.
    pub fn io(syscall: &'static str, path: &str, source: io::Error) -> Self {
        Self(ErrorKind::Io { syscall, path: path.to_owned(), source })
    }

    /// The file at `path` does not start with a session header.
    pub fn not_a_session(path: &str) -> Self {
        Self(ErrorKind::NotASession { path: path.to_owned() })
    }

    /// The message with another application's name, which renamed builds of pi use.
    pub fn text_for(&self, app: &str) -> String {
        match &self.0 {
            ErrorKind::NotASession { path } => format!("Session file is not a valid {app} session: {path}"),
            _ => self.to_string(),
        }
    }

    /// The source of a fork is missing, empty or no session.
    pub fn fork_source(path: &str) -> Self {
        Self::failed(format!("Cannot fork: source session file is empty or invalid: {path}"))
    }

    /// No entry has this id; `shown` is the id as JavaScript prints it.
    pub fn entry_not_found(shown: impl fmt::Display) -> Self {
        Self::failed(format!("Entry {shown} not found"))
    }

    /// The target of a context edit is not on the path to the leaf.
    pub fn not_on_branch(shown: impl fmt::Display) -> Self {
        Self::failed(format!("Entry {shown} is not on the active branch"))
    }

    /// The target of a context edit contributes no editable content.
    pub fn not_editable(shown: impl fmt::Display) -> Self {
        Self::failed(format!("Entry {shown} does not contribute editable model content"))
    }

    /// The replacement of a context edit is neither null nor content.
    pub fn replacement() -> Self {
        Self::failed("Context edit replacement must be null or contain string/array content")
    }

    /// A session id that cannot be part of a file name.
    pub fn session_id() -> Self {
        Self::failed(
            "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', \
             and start and end with an alphanumeric character",
        )
    }

    /// The file differs from the index; `what` says how.
    pub fn changed(path: &str, what: impl Into<String>) -> Self {
        Self(ErrorKind::Changed { path: path.to_owned(), what: what.into() })
    }

    /// The path leads to another file than the one that is open.
    pub fn elsewhere(path: &str) -> Self {
        Self::changed(path, ELSEWHERE)
    }

    /// The file was deleted, and what it held cannot be read any more.
    pub fn lost(path: &str) -> Self {
        Self(ErrorKind::Lost { path: path.to_owned() })
    }

    /// Another file replaced the session's and lacks lines that were appended here. They are needed from the caller.
    pub fn lines_needed(path: &str) -> Self {
        Self(ErrorKind::NeedsLines { path: path.to_owned() })
    }

    /// Another process, or another session in this one, has the lock of the file at `path`.
    pub fn locked(path: &str, holder: Option<u32>) -> Self {
        Self(ErrorKind::Locked { path: path.to_owned(), holder })
    }

    /// Something is longer than a JavaScript string may be: `size` bytes of JSON in `what` of the entry `id`.
    pub fn too_long(path: &str, id: &str, what: &str, size: usize) -> Self {
        let what = format!("{what} of entry {id} has {size} bytes of JSON");
        Self::failed(format!("{what}, which is more than a JavaScript string can hold: {path}"))
    }

    /// Any other failure.
    pub fn failed(text: impl Into<String>) -> Self {
        Self(ErrorKind::Failed { text: text.into() })
    }

    /// A `TypeError` in JavaScript: an argument cannot be used, or what a call needs of the caller's objects or process is wrong.
    pub fn argument(text: impl Into<String>) -> Self {
        Self(ErrorKind::Argument { text: text.into() })
    }

    /// Whether the caller gave a value of a wrong type.
    pub fn is_argument(&self) -> bool {
        matches!(self.0, ErrorKind::Argument { .. })
    }

    /// Whether the file was deleted and nothing of it can be read.
    pub fn is_lost(&self) -> bool {
        matches!(self.0, ErrorKind::Lost { .. })
    }

    /// Whether lines that were appended here are needed from the caller.
    pub fn needs_lines(&self) -> bool {
        matches!(self.0, ErrorKind::NeedsLines { .. })
    }

    /// Whether the file is not what the index says.
    pub fn is_changed(&self) -> bool {
        matches!(self.0, ErrorKind::Changed { .. })
    }

    /// Whether the path has led to another file, or to none, since the last check. Nothing was done, and a refresh is due.
    pub fn needs_file_check(&self) -> bool {
        matches!(&self.0, ErrorKind::Changed { what, .. } if what == ELSEWHERE) || self.is_missing()
    }

    /// Whether a file was not there.
    pub fn is_missing(&self) -> bool {
        self.as_io().is_some_and(|(.., source)| source.kind() == io::ErrorKind::NotFound)
    }

    /// The parts of an operating-system error: call, path, cause.
    pub fn as_io(&self) -> Option<(&'static str, &str, &io::Error)> {
        match &self.0 {
            ErrorKind::Io { syscall, path, source } => Some((syscall, path, source)),
            _ => None,
        }
    }
}

/// The symbolic name of an operating-system error and the words Node uses for it, for the codes that calls on files return.
pub fn code_of(error: &io::Error) -> Option<(&'static str, &'static str)> {
    #[cfg(unix)]
    const TABLE: &[(i32, &str, &str)] = &[
        (libc::EPERM, "EPERM", "operation not permitted"),
        (libc::ENOENT, "ENOENT", "no such file or directory"),
        (libc::EINTR, "EINTR", "interrupted system call"),
        (libc::EIO, "EIO", "i/o error"),
        (libc::EBADF, "EBADF", "bad file descriptor"),
        (libc::EAGAIN, "EAGAIN", "resource temporarily unavailable"),
        (libc::ENOMEM, "ENOMEM", "not enough memory"),
        (libc::EACCES, "EACCES", "permission denied"),
        (libc::EBUSY, "EBUSY", "resource busy or locked"),
        (libc::EEXIST, "EEXIST", "file already exists"),
        (libc::EXDEV, "EXDEV", "cross-device link not permitted"),
        (libc::ENOTDIR, "ENOTDIR", "not a directory"),
        (libc::EISDIR, "EISDIR", "illegal operation on a directory"),
        (libc::EINVAL, "EINVAL", "invalid argument"),
        (libc::ENFILE, "ENFILE", "file table overflow"),
        (libc::EMFILE, "EMFILE", "too many open files"),
        (libc::ETXTBSY, "ETXTBSY", "text file is busy"),
        (libc::EFBIG, "EFBIG", "file too large"),
        (libc::ENOSPC, "ENOSPC", "no space left on device"),
        (libc::EROFS, "EROFS", "read-only file system"),
        (libc::EMLINK, "EMLINK", "too many links"),
        (libc::ENAMETOOLONG, "ENAMETOOLONG", "name too long"),
        (libc::ELOOP, "ELOOP", "too many symbolic links encountered"),
        (libc::EDQUOT, "EDQUOT", "disk quota exceeded"),
    ];
    #[cfg(not(unix))]
    const TABLE: &[(i32, &str, &str)] = &[];
    let found = error.raw_os_error().and_then(|raw| TABLE.iter().find(|(code, ..)| *code == raw));
    match found {
        Some((_, name, words)) => Some((name, words)),
        None => match error.kind() {
            io::ErrorKind::NotFound => Some(("ENOENT", "no such file or directory")),
            io::ErrorKind::PermissionDenied => Some(("EACCES", "permission denied")),
            io::ErrorKind::AlreadyExists => Some(("EEXIST", "file already exists")),
            io::ErrorKind::InvalidInput => Some(("EINVAL", "invalid argument")),
            io::ErrorKind::StorageFull => Some(("ENOSPC", "no space left on device")),
            io::ErrorKind::OutOfMemory => Some(("ENOMEM", "not enough memory")),
            _ => None,
        },
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ErrorKind::Io { syscall, path, source } => match code_of(source) {
                Some((code, words)) => write!(f, "{code}: {words}, {syscall} '{path}'"),
                None => write!(f, "{source}, {syscall} '{path}'"),
            },
            ErrorKind::NotASession { .. } => f.write_str(&self.text_for(APP_NAME)),
            ErrorKind::Changed { path, what } => {
                write!(f, "Session file changed underneath: {what}: {path}")
            }
            ErrorKind::Lost { path } => {
                write!(f, "Session file was deleted, and not all of it is in memory: {path}")
            }
            ErrorKind::NeedsLines { path } => {
                write!(f, "Session file was replaced; entries that this process appended are missing from it and can no longer be read: {path}")
            }
            ErrorKind::Locked { path, holder: Some(pid) } => {
                write!(f, "Session file is locked by process {pid}: {path}")
            }
            ErrorKind::Locked { path, holder: None } => write!(f, "Session file is locked by another process: {path}"),
            ErrorKind::Argument { text } | ErrorKind::Failed { text } => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            ErrorKind::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
