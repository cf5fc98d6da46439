//! The index row of one entry.

use crate::base::time::Time;
use crate::format::agent_message::Role;
use crate::format::entry::EntryKind;
use crate::format::message_head::MessageHead;

/// The number of a row, in file order from 0. It is valid until the next call of its session that takes `&mut self`: that may take in a
/// file with other rows. Ask [`Session::take_remap`](crate::session::Session::take_remap) after it, or keep ids (`Tree::id_of`, `Tree::find`).
pub type RowNo = u32;
/// An interned id: [`Tree::id_bytes`](crate::tree::Tree::id_bytes) gives its text. It is valid as long as row numbers are, see [`RowNo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdNo(pub(super) u32);

/// The end of a list that is linked by row numbers.
pub(super) const NONE: RowNo = RowNo::MAX;

/// Where an entry's parent pointer leads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParentRef {
    /// There is no `parentId`.
    Missing,
    /// It is null.
    Null,
    /// The entry with this id, which may not be there.
    Id(IdNo),
    /// It is a number.
    Number(f64),
    /// It is anything else.
    Other,
}

/// The index of one entry.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its type.
    pub kind: EntryKind,
    /// What the index has of its message, if it is a message entry with one.
    pub message: Option<MessageHead>,
    /// Whether it is a label entry that sets a label; one that does not clears it.
    pub sets_label: bool,
    /// Whether its summary is not empty.
    pub has_summary: bool,
    /// Its id, as [`Tree::id_bytes`](crate::tree::Tree::id_bytes) gives it.
    pub id: IdNo,
    /// Its parent.
    pub parent: ParentRef,
    /// A compaction's first kept entry; the target of a label or context edit.
    pub target: Option<IdNo>,
    /// When it was made, by its timestamp.
    pub time: Time,
    /// The next row whose parent has the same id.
    pub(super) next_sibling: RowNo,
}

impl Row {
    /// The role, if this is a message entry with a message.
    pub fn role(&self) -> Option<Role> {
        self.message.map(|message| message.role)
    }
}
