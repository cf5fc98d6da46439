pub mod tree;
pub mod tree_integrity;
