//! Repairs a damaged session file. The original is kept beside the new file, and every entry that can be read is kept.
//!
//! - A line that is not an entry is removed. Whole entries in it are salvaged first (for example if two lines were
//!   fused: the start of one, and a whole one after it).
//! - The children of a damaged entry get its parent as their parent, if that can be read, else the entry before it.
//!   Other entries whose parent is missing become roots, as the tree shows them.
//! - If several entries have one id, all but the first get a new id, and later references are changed to it. A line
//!   that is repeated byte by byte is kept once. A cycle is cut at its first entry, as the tree shows it.
//! - A header is salvaged from a damaged line like an entry. Of an incomplete one, id, time and working directory are
//!   kept. A file without a header gets one. An unterminated last line gets its newline.

mod header;
mod kept_entry;
mod line_text;
mod plan;
mod relink;
mod repair_log;
mod run;

pub use self::repair_log::Repair;
pub use self::run::{repair, RepairReport};

#[cfg(test)]
mod tests;
