//! The catalog: an SQLite file that caches data of session files, for lists and sums of usage.
//!
//! Invariants: it is a cache; the files are the truth. A catalog that is missing, locked, corrupt, read-only or on a
//! full disk hides no session. No lock of SQLite is kept while a session file is read. A row is used only for the state
//! of the file from which it was read; the file's fingerprint identifies that state.

pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod file;
mod forget;
pub(crate) mod location;
pub(crate) mod rows;
pub(crate) mod schema;

pub use self::forget::forget_file;
