//! Whole-file changes: migration, repair, merging with a store, redaction, and moving to another working directory. A reader sees the old file or the new one, never a mixture.

pub(crate) mod backup;
pub mod belongings;
#[doc(hidden)]
pub mod merge;
#[doc(hidden)]
pub mod migrate;
pub mod move_session;
pub mod redact;
pub mod repair;
pub(crate) mod replace;
