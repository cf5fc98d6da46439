//! The pi coding agent's session manager as a native addon: [`core`] is plain Rust, [`js`] is the boundary to JavaScript.

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![deny(clippy::panic, clippy::unreachable, clippy::todo, clippy::unimplemented)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]
// What only the tests of Unix use is unused elsewhere.
#![cfg_attr(all(test, not(unix)), allow(dead_code, unused_imports))]

pub mod core;
// It has no tests of its own: they need an engine, and run in one.
#[cfg(not(test))]
pub mod js;
