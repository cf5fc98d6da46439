//! Reacts to changes of others to the file of an open session.
//!
//! Bytes that others wrote stay, and their entries are added to the session at the next reload or append. A deleted
//! file is written again, whole. If another file with the same session replaced the file, the session continues in the
//! new file, and adds the entries that were appended here and are missing there from the old one. If anything else
//! replaced the file, that is an error. Entries that others removed from the file in place are lost.
//!
//! | situation | function | writes |
//! | --- | --- | --- |
//! | before an append | `refresh` | yes |
//! | the caller asks for the changes of others | `reload` | yes |
//! | a read found a line that differs from the index | `refresh_for_read` | no |
//! | before waiting for the disk, before closing | `flush`, `check_and_close` | yes |
//!
//! Each of them checks the file, to a different depth. Then:
//!
//! | found | function | writes |
//! | --- | --- | --- |
//! | the file has grown | `read_appended` | no |
//! | an unterminated line of another process was rolled back | `forget_unterminated_line` | no |
//! | the file was deleted or renamed | `copy_back_deleted_file`: its bytes, from the open handle | the whole file |
//! | it was replaced, rewritten or truncated | `rebase`: the rows of the new content | entries of ours that are missing in a new file |
//! | it is gone or empty, and no handle has it | an error | no |
//!
//! `compare_known` shows whether the file still agrees with the index. `reserialize` checks lines that the caller makes
//! from its objects for a new file.

pub(crate) mod compare_known;
pub(crate) mod rebase;
pub(crate) mod refresh;
pub(crate) mod reserialize;

/// How thoroughly the file is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckDepth {
    /// Before an append: the file's length, and whether it was deleted; every few milliseconds also the path.
    Quick,
    /// The path, the header and the last lines.
    Ends,
    /// Every line, if a line may have changed.
    Full,
    /// As `Full`, for a read, which writes nothing.
    ForRead,
}

/// The state of the file that the session was in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreviousFile {
    /// Another file has its name. It is still open.
    Open,
    /// Another file has its name. Its content cannot be read any more.
    Gone,
    /// It is still the session's file, with other content.
    SameFile,
}
