//! How closely a file is checked, and what can have become of it.

/// How closely the file is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckDepth {
    /// Before an append: its length and whether it was deleted; every few milliseconds also what the path leads to.
    Quick,
    /// What the path leads to, the header and the last lines.
    Ends,
    /// Every line, where a line may have changed.
    Full,
    /// The same for a read: nothing is written.
    ForRead,
}

/// What became of the file that the session was in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreviousFile {
    /// Another file has its name; it is still open.
    Open,
    /// Another file has its name, and what it held cannot be read any more, or not where it was.
    Gone,
    /// It has other content.
    Rewritten,
}
