//! One open session: its entries, its file, and when the file is created.

pub(crate) mod append;
pub(crate) mod body_text;
pub(crate) mod branch;
pub(crate) mod diagnostics;
pub(crate) mod fork;
pub(crate) mod history;
pub(crate) mod open;
pub(crate) mod reconcile;
pub(crate) mod session;
pub(crate) mod typed;

pub use self::append::{AppendPlan, NewEntry, ParentChoice, TextNeed};
pub use self::history::{ChangeCount, ForeignChangeKind};
pub use self::session::{Persistence, RowRemap, Session};

#[cfg(test)]
mod tests;
