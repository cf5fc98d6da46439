//! What happens when others change the file of an open session.
//!
//! Others' bytes stay, and their entries join at the next reload or append. A file that was deleted is written again
//! whole. One that was replaced by the same session is gone on with, and what it lacks of ours is added. One that was
//! replaced by something else is an error.

pub mod compare_known;
pub mod rebase;
pub mod recreate;
pub mod refresh;
pub mod reserialize;
