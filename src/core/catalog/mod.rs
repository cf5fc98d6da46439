//! The catalog: an SQLite file that remembers what was read of session files, so that the next list need not read them
//! again, and holds their texts for search.
//!
//! Invariants: it is a cache, and files are the truth. Whatever is wrong with it (missing, locked, corrupt, read-only, a
//! full disk) changes no answer. No lock is held while a session file is read. What is taken from it is checked against
//! the file's fingerprint, which must be the one that the row was made from.

pub mod background;
pub mod connection;
pub mod error;
pub mod file;
pub mod fts;
pub mod ingest;
pub mod ingest_lock;
pub mod location;
pub mod purge;
pub mod revalidation;
pub mod rows;
pub mod schema;
pub mod session_text;
pub mod text_rows;
