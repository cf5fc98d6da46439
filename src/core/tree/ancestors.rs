//! Paths through entries that no [`super::tree::Tree`] holds: the caller's own lists.

use std::collections::HashSet;
use std::hash::Hash;

/// The path from the root to an entry, by each entry's key and its parent. It begins where an entry has no parent that
/// is there, or behind one that the walk has visited: parents may go round in a circle.
pub fn path_to<E, K: Eq + Hash, Error>(
    entry: Option<E>,
    mut key: impl FnMut(&E) -> Result<K, Error>,
    mut parent: impl FnMut(&E) -> Result<Option<E>, Error>,
) -> Result<Vec<E>, Error> {
    let (mut path, mut visited, mut at) = (Vec::new(), HashSet::new(), entry);
    while let Some(entry) = at {
        if !visited.insert(key(&entry)?) {
            break;
        }
        at = parent(&entry)?;
        path.push(entry);
    }
    path.reverse();
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(parents: &[Option<usize>], from: usize) -> Vec<usize> {
        let parent = |at: &usize| Ok::<_, ()>(parents[*at]);
        path_to(Some(from), |at| Ok(*at), parent).unwrap()
    }

    #[test]
    fn a_path_leads_from_the_root_and_ends_where_parents_go_round() {
        assert_eq!(path(&[None, Some(0), Some(1), Some(0)], 2), [0, 1, 2]);
        assert_eq!(path(&[Some(2), Some(0), Some(1)], 1), [2, 0, 1]);
        assert_eq!(path(&[Some(0)], 0), [0]);
    }
}
