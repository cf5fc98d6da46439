//! What the model sees of a path: which entries count, and what each of them gives. No message objects are made here.

#[doc(hidden)]
pub mod context_edit;
pub mod projection;
#[doc(hidden)]
pub mod system_prompt;
