//! How a file is checked, and what it can be found to be.

/// How closely the file is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// Before an append: at length and deletion, and every few milliseconds at what the path leads to.
    Usual,
    /// At what the path leads to, and at what the file begins and ends with.
    Thorough,
    /// At every line, where a line may have changed.
    Whole,
    /// The same, for a read: nothing is written.
    Reading,
}

/// What became of the old file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Old {
    /// Another one has its name; it is still open.
    Open,
    /// Another one has its name, and nothing of it can be read any more, or not where it was.
    Gone,
    /// It has another content.
    Rewritten,
}
