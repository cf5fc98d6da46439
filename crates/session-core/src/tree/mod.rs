//! The tree of entries: index rows, ids, children, labels, and the integrity of the tree.

pub(crate) mod ancestors;
mod interned_ids;
pub(crate) mod labels;
pub(crate) mod row;
pub(crate) mod sibling_order;
pub(crate) mod tree;
pub(crate) mod tree_integrity;

pub use self::row::{IdNo, ParentRef, Row, RowNo};
pub use self::tree::{ChildrenOf, Tree};
