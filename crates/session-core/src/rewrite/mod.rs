//! Changes of whole files: migration, repair, merging with a store, redaction, and moving to another working directory.
//! A reader sees the old file or the new one, never a mixture.

pub(crate) mod backup;
pub(crate) mod belongings;
pub(crate) mod merge;
pub(crate) mod migrate;
pub(crate) mod move_session;
pub(crate) mod redact;
pub(crate) mod repair;
pub(crate) mod replace;
