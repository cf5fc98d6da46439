//! Taking a text, or what an entry says, out of a session file and its backups, and out of copies of its lines in other sessions
//! (`copies.rs`).
//!
//! What holds a session together stays: ids, parents, types, roles, times, names of tools and models, and the header. So every entry
//! keeps its place in the tree. Where a text is taken out, every other byte of its line stays as it was. Where an entry loses what it says,
//! what stays is written as `json/object_text.rs` does: the texts of values are unchanged, white space between members and keys that are
//! repeated or have escapes are not.

mod copies;
mod entry;
mod run;
mod text;

pub use self::copies::LineRedaction;
pub use self::run::{redact, redact_lines, RedactReport, RedactedLine, Redaction};

#[cfg(test)]
mod tests;
