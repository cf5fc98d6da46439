//! Making a good file of a damaged one. The original stays beside it; nothing that can be read is given up.
//!
//! - Lines that are no entry leave the file; whole entries inside of them (two lines that were fused, half a line with
//!   a whole one behind it) are taken out of them first.
//! - The children of an unreadable line become children of its parent, if that can still be made out, else of the entry
//!   before it. Other entries whose parent is nowhere become roots, as which they were shown.
//! - Of several entries with one id each but the first gets an id of its own, and what follows it refers to that; an
//!   entry that stands there twice is kept once. Cycles are cut where the tree shows them cut.
//! - A header is taken out of a damaged line like an entry; of half a header id, time and folder are kept. A file without
//!   any gets one. The last line gets its newline.

mod header;
mod line_text;
mod plan;
mod relink;
mod repair_log;
mod run;
mod salvage;

pub use self::repair_log::Repair;
pub use self::run::{repair, RepairReport};

#[cfg(test)]
mod tests;
