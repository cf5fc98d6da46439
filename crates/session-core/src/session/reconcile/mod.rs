//! What happens when others change the file of an open session.
//!
//! Bytes that others wrote stay, and their entries join the session at the next reload or append. A deleted file is written
//! again, whole. If the file was replaced by the same session, the session continues in the new file, and entries that were
//! appended here and are missing there are added from the old one. If it was replaced by something else, that is an error. What
//! others took out of the file in place is gone.
//!
//! | situation | function | writes |
//! | --- | --- | --- |
//! | before an append | `refresh` | yes |
//! | the caller asks for what others wrote | `reload` | yes |
//! | a read found another line than it expected | `refresh_for_read` | no |
//! | before waiting for the disk, before closing | `flush`, `check_and_close` | yes |
//!
//! Each of them checks the file, to another depth, and calls for what it finds:
//!
//! | found | function | writes |
//! | --- | --- | --- |
//! | the file has grown | `read_appended` | no |
//! | an unterminated line of another process was rolled back | `forget_unterminated_line` | no |
//! | the file was deleted or renamed | `copy_back_deleted_file`: its bytes, from the open handle | the whole file |
//! | it was replaced, rewritten or truncated | `rebase`: the rows of the new content | entries of ours that a new file lacks |
//! | it is gone or empty, and no handle has it | an error | no |
//!
//! `compare_known` tells whether the file still is what the index says. `reserialize` checks lines that the caller makes of its
//! objects for a new file.

pub(crate) mod compare_known;
pub(crate) mod rebase;
pub(crate) mod refresh;
pub(crate) mod reserialize;

/// How closely the file is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckDepth {
    /// Before an append: its length and whether it was deleted; every few milliseconds also what the path leads to.
    Quick,
    /// What the path leads to, the header and the last lines.
    Ends,
    /// Every line, where a line may have changed.
    Full,
    /// Every line, as in `Full`, for a read, which writes nothing.
    ForRead,
}

/// What became of the file that the session was in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreviousFile {
    /// Another file has its name; it is still open.
    Open,
    /// Another file has its name, and what it held cannot be read any more.
    Gone,
    /// It is still the session's file, with other content.
    SameFile,
}
