//! The pi coding agent's session manager as a native addon: [`core`] is the engine, [`js`] its boundary.

#![deny(clippy::undocumented_unsafe_blocks, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing))]

pub mod core;
pub mod js;
