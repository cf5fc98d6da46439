//! The pi coding agent's session manager as a native addon. The crate `pi-session-core` is plain Rust, [`js`] is the boundary to
//! JavaScript.

// It is tested from JavaScript: it needs an engine.
#[cfg(not(test))]
pub mod js;
