//! The error of the core. Programs decide by its [`code`](Error::code) and, for [`ErrorCode::System`], by the operating
//! system's error ([`as_io`](Error::as_io)). Users read its message. Where pi has a text for an error, the message is
//! pi's.

use std::collections::TryReserveError;
use std::fmt;
use std::io;

use super::memory::{copy_of, OutOfMemory};
use super::named::named;

/// The application's name in messages about session files.
pub(crate) const APP_NAME: &str = "pi";

/// A result. Its error is [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

named! {
    /// The kind of failure of an [`Error`]. Each name is the `code` of the JavaScript error, except
    /// [`ErrorCode::System`]: its JavaScript error has Node's code, such as `ENOENT`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum ErrorCode {
        /// The operating system refused a call. [`Error::as_io`] returns its error.
        System = "ERR_SYSTEM",
        /// An argument, or an object or process state that the call needs from the caller, cannot be used.
        InvalidArgument = "ERR_INVALID_ARGUMENT",
        /// A file is not a session, or cannot be used as a session.
        SessionInvalid = "ERR_SESSION_INVALID",
        /// A session file differs from what was read, and its new content cannot be read into the open session. Or
        /// other processes kept changing it during the call: the caller may repeat the call.
        SessionChanged = "ERR_SESSION_CHANGED",
        /// A session file was deleted or emptied, and its lines can no longer be read.
        SessionDeleted = "ERR_SESSION_DELETED",
        /// Another session or process has locked the session.
        SessionLocked = "ERR_SESSION_LOCKED",
        /// The session was opened read-only, and the call would change it.
        SessionReadOnly = "ERR_SESSION_READ_ONLY",
        /// No entry has the given id.
        EntryNotFound = "ERR_ENTRY_NOT_FOUND",
        /// A context edit cannot be applied to its target.
        EntryNotEditable = "ERR_ENTRY_NOT_EDITABLE",
        /// A line or a value is longer than the limit of a file or of a JavaScript string.
        TooLong = "ERR_TOO_LONG",
        /// A bug: something that this crate relies on is not true.
        Internal = "ERR_INTERNAL",
    }
}

/// An error of the core. `Display` writes the text that users see.
#[derive(Debug)]
pub struct Error {
    cause: Cause,
    /// The file or directory that the error is about.
    path: Option<Box<str>>,
    /// Empty for [`Cause::Io`].
    text: Box<str>,
}

/// The code of an error, and the cases that the core itself distinguishes.
#[derive(Debug)]
enum Cause {
    Io(&'static str, io::Error),
    /// The text contains the application's name.
    NotASession,
    /// The path leads to another file than the open one.
    Elsewhere,
    WrongType,
    Other(ErrorCode),
}

impl Error {
    pub(crate) fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { cause: Cause::Other(code), path: None, text: Into::<String>::into(text).into() }
    }

    /// An error about the file at `path`. The message is `text`, then the path.
    pub(crate) fn of_file(code: ErrorCode, text: impl fmt::Display, path: &str) -> Self {
        Self { path: Some(path.into()), ..Self::new(code, format!("{text}: {path}")) }
    }

    /// Adds the session file's path to an out-of-memory error, because the place that allocates does not know it.
    pub(crate) fn with_path(mut self, path: Option<&str>) -> Self {
        if self.is_out_of_memory() && self.path.is_none() {
            self.path = path.and_then(|path| copy_of(path).ok()).map(String::into_boxed_str);
        }
        self
    }

    /// The file at `path` does not start with a session header.
    pub(crate) fn not_a_session(path: &str) -> Self {
        Self { cause: Cause::NotASession, path: Some(path.into()), text: not_a_session(APP_NAME, path).into() }
    }

    /// The file at `path` is not a session. `words` name its format.
    pub(crate) fn other_format(path: &str, words: &str) -> Self {
        let text = format_args!("Session file is not a valid {APP_NAME} session but {words}");
        Self::of_file(ErrorCode::SessionInvalid, text, path)
    }

    /// The message with the name of another application, for renamed builds of pi.
    pub fn text_for(&self, app: &str) -> String {
        match (&self.cause, &self.path) {
            (Cause::NotASession, Some(path)) => not_a_session(app, path),
            _ => self.to_string(),
        }
    }

    /// The path leads to another file than the open one.
    pub(crate) fn elsewhere(path: &str) -> Self {
        Self { cause: Cause::Elsewhere, ..Self::changed(path, "the path leads to another file") }
    }

    /// The file was deleted or emptied, and its lines can no longer be read.
    pub(crate) fn lost(path: &str) -> Self {
        let text = "Session file was deleted or emptied, and can no longer be read";
        Self::of_file(ErrorCode::SessionDeleted, text, path)
    }

    /// Another process, or another session in this process, has locked the file at `path`.
    pub(crate) fn locked(path: &str, holder: Option<u32>) -> Self {
        let holder = holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
        Self::of_file(ErrorCode::SessionLocked, format_args!("Session file is locked by {holder}"), path)
    }

    /// An [`ErrorCode::InvalidArgument`] with this text, for callbacks and implementations of
    /// [`Process`](super::paths::Process). In JavaScript it is an `Error`, because pi throws an `Error`.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, text)
    }

    /// The kind of failure.
    pub fn code(&self) -> ErrorCode {
        match &self.cause {
            Cause::Io(..) => ErrorCode::System,
            Cause::NotASession => ErrorCode::SessionInvalid,
            Cause::Elsewhere => ErrorCode::SessionChanged,
            Cause::WrongType => ErrorCode::InvalidArgument,
            Cause::Other(code) => *code,
        }
    }

    /// The file or directory that the error is about; None if it is about none.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Whether the file was deleted or emptied, and its lines can no longer be read.
    pub(crate) fn is_lost(&self) -> bool {
        self.code() == ErrorCode::SessionDeleted
    }

    /// Whether the file differs from the index.
    pub(crate) fn is_changed(&self) -> bool {
        self.code() == ErrorCode::SessionChanged
    }

    /// Whether the path has led to another file, or to none, since the last check. Then the call has changed nothing,
    /// and the session must refresh.
    pub(crate) fn needs_file_check(&self) -> bool {
        matches!(self.cause, Cause::Elsewhere) || self.is_missing()
    }

    /// Whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        self.as_io().is_some_and(|(_, source)| source.kind() == io::ErrorKind::NotFound)
    }

    /// The system call that failed, and the operating system's error; None for other errors.
    pub fn as_io(&self) -> Option<(&'static str, &io::Error)> {
        match &self.cause {
            Cause::Io(syscall, source) => Some((syscall, source)),
            _ => None,
        }
    }
}

#[doc(hidden)]
impl Error {
    /// An operating-system error of `syscall` on `path`. Only the path is allocated; if that allocation fails, the
    /// error has no path, because the memory may be released only after the error is created.
    pub fn io(syscall: &'static str, path: &str, source: io::Error) -> Self {
        // An error of the core inside an `io::Error` is returned unchanged.
        let source = match source.downcast::<Self>() {
            Ok(own) => return own,
            Err(source) => source,
        };
        let path = copy_of(path).ok().map(String::into_boxed_str);
        Self { cause: Cause::Io(syscall, source), path, text: Box::default() }
    }

    /// No entry has this id. `shown` is the id as JavaScript prints it.
    pub fn entry_not_found(shown: impl fmt::Display) -> Self {
        Self::new(ErrorCode::EntryNotFound, format!("Entry {shown} not found"))
    }

    /// The replacement of a context edit is neither null nor content.
    pub fn replacement() -> Self {
        Self::invalid("Context edit replacement must be null or contain string/array content")
    }

    /// The file differs from the index. `what` names the difference.
    pub fn changed(path: &str, what: impl fmt::Display) -> Self {
        Self::of_file(ErrorCode::SessionChanged, format_args!("Session file changed underneath: {what}"), path)
    }

    /// `what` of the entry `id` has `size` bytes of JSON, which is more than a JavaScript string can contain.
    pub fn value_too_long(path: &str, id: &str, what: &str, size: usize) -> Self {
        let value = format_args!("{what} of entry {id} has {size} bytes of JSON");
        let text = format_args!("{value}, which is more than a JavaScript string can hold");
        Self::of_file(ErrorCode::TooLong, text, path)
    }

    /// A bug: a condition of this crate is not true. `what` names it.
    pub fn internal(what: impl fmt::Display) -> Self {
        Self::new(ErrorCode::Internal, format!("Internal error of pi-session-native: {what}"))
    }

    /// A `TypeError` in JavaScript: an argument cannot be used, or an object or process state that the call needs from
    /// the caller is wrong.
    pub fn argument(text: impl Into<String>) -> Self {
        Self { cause: Cause::WrongType, ..Self::invalid(text) }
    }

    /// Whether the JavaScript error is a `TypeError`.
    pub fn is_type_error(&self) -> bool {
        matches!(self.cause, Cause::WrongType)
    }

    /// Whether the operating system refused memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.as_io().is_some_and(|(_, source)| source.kind() == io::ErrorKind::OutOfMemory)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cause::Io(syscall, source) = &self.cause else { return f.write_str(&self.text) };
        match code_of(source) {
            Some((code, words)) => write!(f, "{code}: {words}, {syscall}"),
            None => write!(f, "{source}, {syscall}"),
        }?;
        self.path.as_ref().map_or(Ok(()), |path| write!(f, " '{path}'"))
    }
}

fn not_a_session(app: &str, path: &str) -> String {
    format!("Session file is not a valid {app} session: {path}")
}

/// The result of a system call.
pub(crate) trait WithCall<T> {
    /// The value, or an [`Error`] with the name of the call and the path.
    fn with_call(self, syscall: &'static str, path: &str) -> Result<T>;
}

impl<T> WithCall<T> for io::Result<T> {
    fn with_call(self, syscall: &'static str, path: &str) -> Result<T> {
        self.map_err(|error| Error::io(syscall, path, error))
    }
}

impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Self {
        Self { cause: Cause::Io("malloc", error.into()), path: None, text: Box::default() }
    }
}

impl From<TryReserveError> for Error {
    fn from(error: TryReserveError) -> Self {
        OutOfMemory::from(error).into()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.as_io().map(|(_, source)| source as _)
    }
}

/// The bytes of `range`. Fails with an internal error, which names `what` the bytes are, if the range is not inside:
/// all ranges come from this crate.
#[doc(hidden)]
pub(crate) fn part<'a>(bytes: &'a [u8], range: std::ops::Range<usize>, what: &'static str) -> Result<&'a [u8]> {
    let (start, end) = (range.start, range.end);
    let len = bytes.len();
    bytes.get(range).ok_or_else(|| Error::internal(format_args!("bytes {start} to {end} of {what}, which has {len}")))
}

/// Windows' error numbers, as Node translates them.
#[cfg(any(windows, test))]
const WINDOWS: &[(i32, &str, &str)] = &[
    (1, "EISDIR", "illegal operation on a directory"),
    (4, "EMFILE", "too many open files"),
    (5, "EPERM", "operation not permitted"),
    (6, "EBADF", "bad file descriptor"),
    (17, "EXDEV", "cross-device link not permitted"),
    (19, "EROFS", "read-only file system"),
    (23, "EIO", "i/o error"),
    (32, "EBUSY", "resource busy or locked"),
    (33, "EBUSY", "resource busy or locked"),
    (50, "ENOTSUP", "operation not supported on socket"),
    (123, "ENOENT", "no such file or directory"),
    (145, "ENOTEMPTY", "directory not empty"),
    (161, "ENOENT", "no such file or directory"),
    (206, "ENAMETOOLONG", "name too long"),
    (267, "ENOENT", "no such file or directory"),
    (1117, "EIO", "i/o error"),
    (1921, "ELOOP", "too many symbolic links encountered"),
];

/// Whether an error number of Windows means that the path leads to nothing: no file can have this name, or a file is in
/// the place of a directory.
#[cfg(any(windows, test))]
pub(crate) fn is_name_of_nothing(code: i32) -> bool {
    WINDOWS.iter().any(|(number, name, _)| (*number, *name) == (code, "ENOENT"))
}

/// The symbolic name of an operating-system error and Node's words for it, for the codes that file calls return.
#[doc(hidden)]
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
        (libc::ENOTSUP, "ENOTSUP", "operation not supported on socket"),
        (libc::EOPNOTSUPP, "ENOTSUP", "operation not supported on socket"),
        (libc::ENXIO, "ENXIO", "no such device or address"),
        (libc::ESTALE, "ESTALE", "stale file handle"),
    ];
    #[cfg(windows)]
    const TABLE: &[(i32, &str, &str)] = WINDOWS;
    let found = error.raw_os_error().and_then(|raw| TABLE.iter().find(|(code, ..)| *code == raw));
    match found {
        Some((_, name, words)) => Some((name, words)),
        None => match error.kind() {
            io::ErrorKind::NotFound => Some(("ENOENT", "no such file or directory")),
            io::ErrorKind::PermissionDenied => Some(("EACCES", "permission denied")),
            io::ErrorKind::AlreadyExists => Some(("EEXIST", "file already exists")),
            io::ErrorKind::InvalidInput => Some(("EINVAL", "invalid argument")),
            io::ErrorKind::IsADirectory => Some(("EISDIR", "illegal operation on a directory")),
            io::ErrorKind::NotADirectory => Some(("ENOTDIR", "not a directory")),
            io::ErrorKind::StorageFull => Some(("ENOSPC", "no space left on device")),
            io::ErrorKind::OutOfMemory => Some(("ENOMEM", "not enough memory")),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests;
