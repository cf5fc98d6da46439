//! Whole-file changes: migration, repair, merging with a store, and redaction. A reader sees the old file or the new one, never a mixture.

pub(crate) mod backup;
#[doc(hidden)]
pub mod merge;
#[doc(hidden)]
pub mod migrate;
pub mod redact;
pub mod repair;
pub(crate) mod replace;
