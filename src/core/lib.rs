#![doc = include_str!("README.md")]
//!
//! | To | |
//! | --- | --- |
//! | open, make, append to a session | [`Session::open`], [`Session::create`], [`Session::append`] |
//! | walk its entries | [`Session::tree`], [`Tree::path`], [`Session::entry`] |
//! | go on from an earlier entry | [`Session::set_leaf`], [`ParentChoice`] |
//! | see which entries the model sees | [`context::projection::project`] |
//! | fork a session | [`ForkSource`] |
//! | know what entries hold | [`file_format`] |
//! | take in what other processes wrote | [`Session::refresh`], [`Session::take_remap`] |
//! | find a session, list, add up, search | [`listing::find_session`], `list`, `listing::usage`, `Search` |
//! | verify, repair, redact | [`verify`], [`repair`], [`rewrite::redact::redact`] |
//!
//! What is public and not in these pages is for the addon: it may change at any time. So may what serde makes of public types, which is the
//! form of the addon's reports and of the catalog.

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
#[doc = include_str!("file-format.md")]
pub mod file_format {}
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
    io::dirs::make_dir as make_session_dir,
    listing::scope::ListScope,
    rewrite::repair::{repair, RepairReport},
    session::{fork::ForkSource, NewEntry, ParentChoice, Persistence, RowRemap, Session},
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
        scope::TextScope,
        session_search::Hit,
    },
};
