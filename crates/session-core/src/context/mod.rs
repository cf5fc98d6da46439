//! The part of a path that the model sees: which entries are in the context, and which message each of them adds. No
//! message objects are created here. A path here is the entries from the root to an entry.

pub(crate) mod context_edit;
pub(crate) mod projection;
pub(crate) mod system_prompt;
