//! The session engine: bytes, entries, tree, context, migration, files, listing.
//!
//! Plain Rust. Nothing in here knows of the JavaScript engine or of the addon layer above it: values that only
//! JavaScript can judge (an odd date, the clock, the working directory) are asked of the caller. Files are the
//! truth: an entry read from one is a place in it plus a small index row, and its body is read when asked for.
//!
//! Texts that come from JSON may hold lone surrogates, which Rust strings cannot. They are kept as WTF-8 bytes
//! (`[u8]`), see [`text`].

pub mod append;
pub mod body;
pub mod branch;
pub mod catalog;
pub mod context;
pub mod copy;
pub mod diagnostics;
pub mod entry;
pub mod error;
#[cfg(test)]
mod faults;
pub mod find;
pub mod findings;
pub mod fork;
#[cfg(test)]
mod fuzz;
pub mod handles;
pub mod header;
pub mod ids;
pub mod info;
pub mod json;
pub mod leaf;
pub mod letters;
pub mod lines;
pub mod listing;
pub mod load;
pub mod lock;
pub mod message;
pub mod migrate;
pub mod odd_times;
pub mod options;
pub mod order;
pub mod paths;
pub mod pieces;
pub mod repair;
pub mod scan;
pub mod search;
pub mod session;
pub mod shown;
pub mod skim;
pub mod stamp;
pub mod storage;
pub mod system;
pub mod text;
pub mod texts;
pub mod threads;
pub mod time;
pub mod tree;
pub mod verify;
