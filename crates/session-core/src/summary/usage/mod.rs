//! The usage of a session's model calls, and the sizes of its entries. Both are collected in the pass that makes the
//! row of a list.

pub(crate) mod call;
pub(crate) mod session_usage;
