//! The end mark, and the rule by which appends to a file and its replacement do not lose lines, without a lock.
//!
//! A process that replaces a session file ([`crate::rewrite::replace`]) renames the new file to the session's name.
//! Then it appends a blank line to the old file: the end mark. It copies all lines before the mark to the new file. A
//! process that appends knows the position at which its line should be:
//!
//! - **The line is at the expected position.** Then it precedes any mark, so the replacing process copies it. The
//!   appending process makes no further call. It knows the position by the `lseek` after each write, so the rule costs
//!   an append nothing.
//! - **The line is at another position**, because another writer's line or the mark came first. Then the writer checks
//!   whether the path still leads to the file. If not, it reads the file that has the name now, and appends again. It
//!   uses the same id, because its line may have been copied: lines of writers that do not know the rule are copied
//!   too.
//!
//! The rule needs an expected position that precedes any mark. So a process that reads lines of others checks the path
//! *after* that, and reads only up to the size that the file has at that check. A process that has read another file
//! checks again, until a check finds nothing new (`session::reconcile`).
//!
//! A process that replaces a file has the write lock of the old and the new file until it has copied all lines. So
//! replacements happen one after another. A process that reads the new file first waits for its write lock; any line
//! that is missing after that was not copied.
//!
//! Both sides may stop at any moment. Three gaps remain. First, writers that ignore the rule, above all pi: their lines
//! are copied only if they come soon (`replace`). Second, a process that is killed between the rename and the mark: a
//! writer may have appended in between, found its line at the expected position, and made no further call. Third, a
//! mark that cannot be written because the disk is full. In the last two cases the writer notices it by the old file's
//! link count, or at the next path check ([`super::path_check`]), and then adds its lines.
//!
//! The old file of a migration gets no mark, because it becomes the backup, and no session of ours appends to an older
//! version.

use std::fs::File;
use std::io;

use crate::io::fs;

/// A blank line, because readers of the old file skip it.
const MARK: &[u8] = b"\n";

/// Appends the mark to an old file that is open for appending. Returns the mark's position.
pub(crate) fn write(old: &File) -> io::Result<u64> {
    fs::write(old, MARK)?;
    let end = fs::position(old).or_else(|_| fs::stat(old).map(|stat| stat.size))?;
    Ok(end.saturating_sub(MARK.len() as u64))
}

/// The position after the mark.
pub(crate) fn end_of(mark: u64) -> u64 {
    mark + MARK.len() as u64
}
