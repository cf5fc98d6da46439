//! The index row of one entry.

use crate::base::time::Time;
use crate::format::agent_message::Role;
use crate::format::entry::EntryKind;
use crate::format::message_head::MessageHead;

/// The number of a row, in file order from 0. It is valid until the next call of its session with `&mut self`, because
/// that call may read a file with other rows. After such a call ask
/// [`Session::take_remap`](crate::session::Session::take_remap), or keep ids instead (`Tree::id_of`, `Tree::find`).
pub type RowNo = u32;
/// The number of an interned id, whose text is [`Tree::id_bytes`](crate::tree::Tree::id_bytes). It is valid as long as
/// row numbers are, see [`RowNo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdNo(pub(super) u32);

/// The end of a list that is linked by row numbers.
pub(super) const NONE: RowNo = RowNo::MAX;

/// The parent of an entry, as its `parentId` states it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParentRef {
    /// There is no `parentId`.
    Missing,
    /// `parentId` is null.
    Null,
    /// The entry with this id, which may not exist.
    Id(IdNo),
    /// `parentId` is a number.
    Number(f64),
    /// `parentId` is any other value.
    Other,
}

/// The index row of one entry.
#[derive(Debug, Clone)]
pub struct Row {
    /// The type of the entry.
    pub kind: EntryKind,
    /// The indexed part of the message, for a message entry with a message.
    pub message: Option<MessageHead>,
    /// Whether a label entry sets a label; otherwise it removes one.
    pub sets_label: bool,
    /// Whether the entry's summary is not empty.
    pub has_summary: bool,
    /// The entry's id, for [`Tree::id_bytes`](crate::tree::Tree::id_bytes).
    pub id: IdNo,
    /// The entry's parent.
    pub parent: ParentRef,
    /// The first kept entry of a compaction, or the target of a label or a context edit.
    pub target: Option<IdNo>,
    /// The time in the entry's timestamp.
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
