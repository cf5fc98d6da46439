//! What the model calls of a session used, and what its file is made of. It is collected by the pass that makes the file's list row.

pub(crate) mod call;
pub(crate) mod session_usage;
