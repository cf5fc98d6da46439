//! The end mark, and the rule by which appends and replacements of one file meet without a lock.
//!
//! Whoever replaces a session file ([`crate::rewrite::replace`]) gives the new file the name, and then ends the old one with a blank line,
//! the end mark. What is before the mark it carries over to the new file. Whoever appends knows where its line must land:
//!
//! - **The line is where it was expected.** Then it is before any mark, and whoever replaces the file carries it over. Nothing more is
//!   asked: the `lseek` after each write tells where the line is, so an append costs what it did without the rule.
//! - **The line is somewhere else**, because another writer, or the mark, came first. Then the writer looks whether the path still leads to
//!   the file. If not, it takes in the file that has the name now, and begins again: with the same id, because its line may have been
//!   carried over, as the lines of writers that do not know the rule are.
//!
//! For this the expected place must be from before a mark. So whoever reads what others have added looks at the path *after* that, and
//! reads no further than the file was long at that look; and whoever took in another file looks again, until a look finds nothing new
//! (`session::reconcile`).
//!
//! Who replaces a file has the write lock of the old file and of the new one until nothing is carried over any more. So two replacements
//! follow each other, and who takes in the new file waits for its lock first: what is missing in it by then was not carried over.
//!
//! Stopping either side at any moment changes nothing. Three things are left: a writer that ignores the rule, pi above all, whose lines are
//! carried over as long as they come soon (`replace`); a process that is killed between the rename and the mark, while a writer that
//! has just been told where its line landed ends without another call; and a mark that cannot be written, because the disk is full. In these
//! two cases a writer notices by the old file's link count or at the next path check ([`super::path_check`]), and adds its lines then.
//!
//! The old file of a migration gets no mark: it is the backup by another name, and no session of ours appends to an older version.

use std::fs::File;
use std::io;

use crate::io::fs;

/// A blank line: readers of the old file skip it.
const MARK: &[u8] = b"\n";

/// Writes the mark to an old file, opened for appending. Returns where it is.
pub(crate) fn write(old: &File) -> io::Result<u64> {
    fs::write(old, MARK)?;
    let end = fs::position(old).or_else(|_| fs::stat(old).map(|stat| stat.size))?;
    Ok(end.saturating_sub(MARK.len() as u64))
}

/// Where lines go on after a mark.
pub(crate) fn end_of(mark: u64) -> u64 {
    mark + MARK.len() as u64
}
