//! What the model sees of a path: which entries count, and what each of them gives. No message objects are made here.

pub mod context_edit;
pub mod projection;
pub mod system_prompt;
