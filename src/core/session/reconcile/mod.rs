//! What happens when others change the file of an open session.
//!
//! Bytes that others wrote stay, and their entries join the session at the next reload or append. A deleted file is written
//! again, whole. If the file was replaced by the same session, the session continues in the new file, and entries that were
//! appended here and are missing there are added. If it was replaced by something else, that is an error.

pub mod compare_known;
pub mod rebase;
pub mod refresh;
pub mod reserialize;
pub mod write_from_objects;
