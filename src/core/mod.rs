//! The session engine: bytes, entries, tree, context, migration, files, listing.
//!
//! Plain Rust. Nothing in here knows of the JavaScript engine or of the addon layer above it: values that only
//! JavaScript can judge (an odd date, the clock, the working directory) are asked of the caller. Files are the
//! truth: an entry read from one is a place in it plus a small index row, and its body is read when asked for.
//!
//! Texts that come from JSON may hold lone surrogates, which Rust strings cannot. They are kept as WTF-8 bytes
//! (`[u8]`), see [`base::wtf8`].

// A room is named after its chief file.
#![allow(clippy::module_inception)]

pub mod base;
pub mod catalog;
pub mod context;
pub mod format;
pub mod index;
pub mod io;
pub mod json;
pub mod listing;
pub mod rewrite;
pub mod search;
pub mod session;
pub mod storage;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod tree;
