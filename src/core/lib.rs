//! Reads and writes the session files of the pi coding agent: opening, the tree of entries, appending, the model's context,
//! migration, repair, lists and search. It is the core of the Node addon `pi-session-native`, and depends on neither Node nor V8.
//!
//! A session is a file of JSON lines: a header, then entries, each of which names its parent. [`Session::open`] reads
//! it once and keeps an index of small rows ([`tree::row::Row`]); the lines stay in the file and are read when they are asked for.
//! [`Session::append`] writes one line, [`Session::create`] makes a new session; `docs/file-format.md` of the repository says what
//! lines hold. Several processes may append to one file. `list` lists many sessions. Lists, sums of usage and search keep what they
//! read in an SQLite database, and are there with the feature `catalog`, which is on by default; without it nothing of SQLite is built.
//!
//! ```
//! use pi_session_core::{EntryKind, NewEntry, Persistence, Session, SessionFileOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let path = dir.path().join("session.jsonl");
//! std::fs::write(
//!     &path,
//!     r#"{"type":"session","version":3,"id":"1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}
//! {"type":"message","id":"a0000000","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Hi"}}
//! "#,
//! )?;
//! let mut session = Session::open(&path, Persistence::File, SessionFileOptions::default())?;
//!
//! // Entries are numbered in the order of the file.
//! session.append(&NewEntry::new(EntryKind::Custom, br#"{"customType":"note","data":1}"#, 1767225600000.0))?;
//! let leaf = session.tree().leaf().expect("the new entry");
//! let kinds: Vec<_> = session.tree().path(leaf)?.iter().filter_map(|&row| session.tree().row(row)).map(|row| row.kind).collect();
//! assert_eq!(kinds, [EntryKind::Message, EntryKind::Custom]);
//! assert!(session.line(0)?.expect("it is in the file").contains(r#""content":"Hi""#));
//! # Ok(())
//! # }
//! ```
//!
//! `examples/sessions.rs` lists a directory, walks a copy of its newest session and appends to it.
//!
//! Files are the truth: bytes are copied as they are, and unknown fields survive everything but a redaction. What only JavaScript can decide (a
//! date that is not ISO, the order of `localeCompare`, the clock, the working directory) is asked of the caller. Texts from JSON
//! may hold lone surrogates, which Rust strings cannot: they are WTF-8 bytes (`[u8]`), see [`base::wtf8`].

// A room may have the name of its main file.
#![allow(clippy::module_inception)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
// What only the tests of Unix use is unused elsewhere.
#![cfg_attr(all(test, not(unix)), allow(dead_code, unused_imports))]
// Lists and search, which need the catalog, use them.
#![cfg_attr(not(feature = "catalog"), allow(dead_code))]

pub mod base;
#[cfg(feature = "catalog")]
pub mod catalog;
pub mod context;
pub mod format;
pub mod index;
pub mod io;
pub mod json;
pub mod listing;
pub mod rewrite;
#[cfg(feature = "catalog")]
pub mod search;
pub mod session;
pub mod storage;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod tree;

pub use base::error::{Error, ErrorCode, Result};
pub use base::options::{Durability, EntryIds, Lock, SessionFileOptions};
pub use base::paths::StdProcess;
#[cfg(feature = "catalog")]
pub use catalog::location::{location as catalog_location, CatalogLocation};
pub use format::entry::EntryKind;
pub use format::header::NewHeader;
#[cfg(feature = "catalog")]
pub use listing::list::{list, list_events, ListEvent, ListedFile};
pub use listing::scope::ListScope;
#[cfg(feature = "catalog")]
pub use search::{
    query::{Query, SearchOptions},
    run::Request as Search,
};
pub use session::{NewEntry, ParentChoice, Persistence, RowRemap, Session};
pub use tree::row::RowNo;
