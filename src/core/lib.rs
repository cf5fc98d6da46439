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
//! use pi_session_core::{EntryKind, ErrorCode, NewEntry, NewHeader, Persistence, Session, SessionFileOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let now = 1767225600000.0;
//! let file = dir.path().join("session.jsonl");
//! let header = NewHeader { id: &pi_session_core::session_id(now), cwd: "/project", parent: None, time: now };
//! let mut session = Session::create(Some(&file), &header, SessionFileOptions::default())?;
//! // The first message of the user or the model makes the file.
//! let message = br#"{"message":{"role":"user","content":"Hi"}}"#;
//! session.append(&NewEntry::new(EntryKind::Message, message, now))?;
//!
//! let mut session = Session::open(&file, Persistence::File, SessionFileOptions::default())?;
//! session.append(&NewEntry::new(EntryKind::Custom, br#"{"customType":"note","data":1}"#, now))?;
//! // Entries are numbered in the order of the file; a branch is the path to one of them.
//! let leaf = session.tree().leaf().expect("the new entry");
//! let path = session.tree().path(leaf)?;
//! let kinds: Vec<_> = path.iter().filter_map(|&row| session.tree().row(row)).map(|row| row.kind).collect();
//! assert_eq!(kinds, [EntryKind::Message, EntryKind::Custom]);
//! let first: serde_json::Value = serde_json::from_str(&session.line(path[0])?.expect("its line"))?;
//! assert_eq!(first["message"]["content"], "Hi");
//!
//! // What a program can act on is the code of an error.
//! let nothing = br#"{"targetId":"a0000000","replacement":null}"#;
//! let error = session.append(&NewEntry::new(EntryKind::ContextEdit, nothing, now)).expect_err("there is no such entry");
//! assert_eq!(error.code(), ErrorCode::EntryNotFound);
//! # Ok(())
//! # }
//! ```
//!
//! `examples/sessions.rs` does this in a directory, and lists it.
//!
//! Files are the truth: bytes are copied as they are, and unknown fields survive everything but a redaction. What only JavaScript can decide
//! (a date that is not ISO, the order of `localeCompare`, the clock, the working directory) is asked of the caller. Texts from JSON
//! may hold lone surrogates, which Rust strings cannot: they are WTF-8 bytes (`[u8]`), see [`base::wtf8`].
//!
//! What is public and not in these pages is for the addon: it may change at any time.

#![cfg_attr(not(test), warn(missing_docs))]
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
#[doc(hidden)]
pub mod io;
#[doc(hidden)]
pub mod json;
pub mod listing;
pub mod rewrite;
#[cfg(feature = "catalog")]
pub mod search;
pub mod session;
#[doc(hidden)]
pub mod storage;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod tree;

#[doc(inline)]
pub use self::{
    base::{
        error::{Error, ErrorCode, Result},
        memory::OutOfMemory,
        options::{Durability, EntryIds, Lock, SessionFileOptions},
        paths::{default_session_dir, Process, StdProcess},
        time::Time,
    },
    format::{agent_message::Role, entry::EntryKind, header::NewHeader, ids::session_id},
    index::verify::{verify, VerifyReport},
    listing::scope::ListScope,
    rewrite::repair::{repair, RepairReport},
    session::{NewEntry, ParentChoice, Persistence, RowRemap, Session},
    tree::{
        row::{Row, RowNo},
        tree::Tree,
    },
};
#[cfg(feature = "catalog")]
#[doc(inline)]
pub use self::{
    catalog::location::{location as catalog_location, CatalogLocation},
    listing::list::{list, list_events, ListEvent, ListedFile},
    search::{
        query::{Query, SearchOptions},
        run::{HitSession, Search},
        scope::{Scope, Scopes},
        session_search::Hit,
    },
};
