//! One open session: its entries, its file, and when it gets one.

pub(crate) mod append;
#[doc(hidden)]
pub mod body_text;
#[doc(hidden)]
pub mod branch;
pub mod diagnostics;
pub mod fork;
pub(crate) mod history;
pub mod open;
pub(crate) mod reconcile;
pub(crate) mod session;
pub mod typed;

pub use self::append::{AppendPlan, NewEntry, ParentChoice, TextNeed};
pub use self::history::{ChangeCount, ForeignChangeKind};
pub use self::session::{Persistence, RowRemap, Session};

#[cfg(test)]
mod tests;
