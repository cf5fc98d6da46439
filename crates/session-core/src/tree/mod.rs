//! The tree of entries: index rows, ids, children, labels, and what is wrong with them.

#[doc(hidden)]
pub mod ancestors;
mod interned_ids;
pub mod labels;
pub(crate) mod row;
#[doc(hidden)]
pub mod sibling_order;
pub(crate) mod tree;
pub(crate) mod tree_integrity;

pub use self::row::{IdNo, ParentRef, Row, RowNo};
pub use self::tree::{ChildrenOf, Tree};
