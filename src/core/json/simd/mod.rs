//! Skipping the inside of a JSON string, 64 bytes at once.
//!
//! Most of a session is long strings of which only the end matters. For each block of 64 bytes three masks are made
//! (quotes, backslashes, control characters), one bit for each byte. They say where the string ends and whether it is
//! valid without a branch for each byte. A string is valid if `JSON.parse` accepts it. Bytes beyond ASCII are not examined:
//! none of them ends a string.
//!
//! Opening a session of 128 MB took 195 ms with serde_json, 82 ms with a search for the next quote or backslash, and 44 ms
//! with masks.

mod block;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(not(target_arch = "aarch64"), test))]
mod plain;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use self::block::Skipped;
#[cfg(target_arch = "aarch64")]
pub use self::neon::{short_end, skip_string};
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use self::plain::{short_end, skip_string};
#[cfg(target_arch = "x86_64")]
pub use self::x86::{short_end, skip_string};

#[cfg(test)]
mod tests;
