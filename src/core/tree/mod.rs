//! The tree of entries: index rows, ids, children, labels, and what is wrong with them.

pub mod ancestors;
mod interned_ids;
pub mod labels;
pub mod row;
pub mod sibling_order;
pub mod tree;
pub mod tree_integrity;
