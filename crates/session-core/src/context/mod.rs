//! What the model sees of a path: which entries count, and what each of them gives. No message objects are made here.

pub(crate) mod context_edit;
pub(crate) mod projection;
pub(crate) mod system_prompt;
