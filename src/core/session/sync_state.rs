//! Whether a session's file agrees with its index, how closely that is checked, and what can have become of the file.

use std::collections::HashMap;

use crate::tree::tree::RowNo;

/// Whether the file agrees with the index.
#[derive(Debug, Default)]
pub(super) enum SyncState {
    /// As far as is known, it does.
    #[default]
    Current,
    /// A line was not what the index says, or what a check found was not taken in. The next check reads every line.
    Suspect,
    /// Entries that were appended here are missing in the file that replaced ours. They are lost unless the caller supplies
    /// their lines.
    MissingLines(Vec<RowNo>),
    /// The caller supplied the lines that it has, for the next check.
    Supplied(HashMap<RowNo, Vec<u8>>),
}

impl SyncState {
    /// Whether the file is known or feared not to agree with the index.
    pub fn is_suspect(&self) -> bool {
        !matches!(self, Self::Current)
    }
}

/// How closely the file is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckDepth {
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
pub(super) enum PreviousFile {
    /// Another file has its name; it is still open.
    Open,
    /// Another file has its name, and what it held cannot be read any more, or not where it was.
    Gone,
    /// It is still the session's file, with other content.
    Rewritten,
}
