//! Bringing a session file together with the lines that a store has of it.
//!
//! The new file is: everything up to the header, the stored lines in the store's order, then the entries of the file that
//! are not stored yet, in the file's order. A line that is not an entry keeps its place after the line that preceded it. Two equal lines
//! are one entry. Every line keeps its bytes.

mod layout;
mod old_file;
mod run;

pub use self::run::{create, merge, Since};

#[cfg(test)]
mod tests;
