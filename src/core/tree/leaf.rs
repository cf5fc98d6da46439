//! The leaf, whose id may be empty: JavaScript takes an empty text for no id.

use super::row::RowNo;
use super::tree::Tree;

/// The leaf, unless its id is empty.
pub fn named_leaf(tree: &Tree) -> Option<RowNo> {
    tree.leaf().filter(|&leaf| !tree.id_of(leaf).is_empty())
}

/// Where the context ends: at the leaf. A leaf with an empty id means the last entry, as in pi.
pub fn context_end(tree: &Tree) -> Option<RowNo> {
    let leaf = tree.leaf()?;
    if tree.id_of(leaf).is_empty() {
        (tree.len() as RowNo).checked_sub(1)
    } else {
        Some(leaf)
    }
}
