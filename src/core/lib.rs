//! The core: bytes, entries, tree, context, migration, files, lists.
//!
//! Plain Rust. Nothing in here calls or depends on the JavaScript engine or the boundary: values that only
//! JavaScript can judge (an odd date, the clock, the working directory) are asked of the caller. Files are the
//! truth: an entry read from one is a span of it and a small index row, and its body is read when it is asked for.
//!
//! Texts that come from JSON may hold lone surrogates, which Rust strings cannot. They are kept as WTF-8 bytes
//! (`[u8]`), see [`base::wtf8`].

// A room may have the name of its main file.
#![allow(clippy::module_inception)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
// What only the tests of Unix use is unused elsewhere.
#![cfg_attr(all(test, not(unix)), allow(dead_code, unused_imports))]

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
