#![doc = include_str!("../README.md")]
//!
//! | To | |
//! | --- | --- |
//! | open, make a session | [`session::Session::open`], [`session::Session::create`] |
//! | append to it | [`session::Session::append_message`], [`session::Session::append`] |
//! | walk its entries | [`session::Session::tree`], [`tree::Tree::path`] |
//! | read an entry, a message, a line | [`session::Session::entry`], [`session::Session::message`], [`session::Session::line`] |
//! | go on from an earlier entry | [`session::Session::set_leaf`], [`session::ParentChoice`] |
//! | see what the model sees | [`session::Session::context`], [`context::projection::project`] |
//! | fork a session | [`session::fork::ForkSource`] |
//! | know what entries and messages hold | [`file_format`], [`format::session_entry`], [`format::agent_message`] |
//! | take in what other processes wrote | [`session::Session::refresh`], [`session::Session::take_remap`] |
//! | find a session, list, add up, search | [`listing::find_session`], `listing::list`, `listing::usage`, `search` |
//! | verify, repair, redact | [`index::verify::verify`], [`rewrite::repair::repair`], [`rewrite::redact::redact`] |
//! | know why a call failed | [`base::error::Error`] |
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
#[doc = include_str!("../file-format.md")]
pub mod file_format {}
pub mod format;
pub mod index;
#[doc(hidden)]
pub mod io;
#[doc(hidden)]
pub mod json;
pub(crate) mod lines;
pub mod listing;
#[doc(hidden)]
pub mod locks;
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

pub use self::io::dirs::make_dir as make_session_dir;
