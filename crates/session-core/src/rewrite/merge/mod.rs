//! Merges a session file with a store's lines of the session.
//!
//! The new file contains everything up to the header, then the stored lines in the store's order, then the entries of
//! the file that are not stored yet, in the file's order. A line that is not an entry stays behind the line that
//! preceded it. Two equal lines are one entry. The bytes of every line stay the same.

mod layout;
mod old_file;
mod run;

pub use self::run::{create, merge, Since};

#[cfg(test)]
mod tests;
