//! The pi coding agent's session manager as a native addon: the boundary between the crate `pi-session-core` and
//! JavaScript. It receives arguments, calls the core and returns values.
//!
//! Invariants: nothing here decides what a session is or does; no state is borrowed while the caller's code may run; no
//! panic reaches the engine.

// Tested from JavaScript, because it needs an engine.
#![cfg(not(test))]

mod api;
mod convert;
pub mod engine;
mod factory;
mod init;
mod lists;
mod manager;
