//! Walks along parents: paths through lists of entries that are not in a [`super::tree::Tree`], and cycles. A path here
//! is the entries from the root to an entry.

use super::row::RowNo;
use crate::base::memory::{self, filled, push, OutOfMemory};

/// The path from the root to an entry. It begins with an entry whose parent is missing, or with an entry whose parent
/// is already in the path, because parents may form a cycle. `refused` converts a failed allocation into the caller's
/// error.
pub fn path_to<E, Error>(
    entry: Option<E>,
    refused: impl Fn(OutOfMemory) -> Error,
    mut is_new: impl FnMut(&E) -> Result<bool, Error>,
    mut parent: impl FnMut(&E) -> Result<Option<E>, Error>,
) -> Result<Vec<E>, Error> {
    let (mut path, mut at) = (Vec::new(), entry);
    while let Some(entry) = at {
        if !is_new(&entry)? {
            break;
        }
        at = parent(&entry)?;
        push(&mut path, entry).map_err(&refused)?;
    }
    path.reverse();
    Ok(path)
}

/// One row of each cycle that following `next` from any of `0..len` leads into, in linear time.
pub(crate) fn cycles(len: usize, next: impl Fn(RowNo) -> Option<RowNo>) -> memory::Result<Vec<RowNo>> {
    // For each row, the walk that visited it.
    let mut visited_by = filled(0u32, len)?;
    let mut found = Vec::new();
    for start in 0..len as RowNo {
        let mut at = Some(start);
        while let Some(row) = at {
            match visited_by.get_mut(row as usize) {
                Some(walk) if *walk == 0 => *walk = start + 1,
                Some(walk) if *walk == start + 1 => {
                    push(&mut found, row)?;
                    break;
                }
                _ => break,
            }
            at = next(row);
        }
    }
    Ok(found)
}
