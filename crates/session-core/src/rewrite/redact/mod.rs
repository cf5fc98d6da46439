//! Taking a text, or what an entry says, out of a session file and its backups, and out of copies of its lines in other sessions
//! (`copies.rs`).
//!
//! What holds a session together stays: ids, parents, types, roles, times, names of tools and models, and the header. So every entry
//! keeps its place in the tree, and every byte that is not part of what is taken out stays as it was.

mod copies;
mod entry;
mod run;
mod text;

pub use self::copies::LineRedaction;
pub use self::run::{redact, redact_lines, RedactReport, RedactedLine, Redaction};

#[cfg(test)]
mod tests;
