//! Messages as lines of plain text, for readers.

pub mod branch;
pub mod canonical;
pub mod excerpt;
pub mod message;
