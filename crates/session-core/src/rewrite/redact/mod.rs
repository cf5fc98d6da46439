//! Removes a text, or the content of entries, from a session file and its backups, and from copies of its lines in
//! other sessions (`copies.rs`).
//!
//! The structure of a session is kept: ids, parents, types, roles, times, names of tools and models, and the header. So
//! every entry keeps its place in the tree. If a text is removed, every other byte of its line stays the same. If the
//! content of an entry is removed, the rest is written as `json/object_text.rs` does: the texts of values stay the
//! same, but white space between members, repeated keys, and escapes in keys do not.

mod copies;
mod entry;
mod run;
mod text;

pub use self::copies::LineRedaction;
pub use self::run::{redact, redact_lines, RedactReport, RedactedLine, Redaction};

#[cfg(test)]
mod tests;
