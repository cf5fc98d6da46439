//! The entries of a path that the model sees, after compactions, and the message that each of them adds.
//!
//! A projection contains row numbers; the room that has the entries' objects makes the messages. It needs only the head
//! of each message, so no body is read.

use std::collections::HashMap;

use crate::base::memory::{self, collect, insert, with_capacity, OutOfMemory};
use crate::format::agent_message::Role;
use crate::format::entry::EntryKind;
use crate::format::kind_facts::{ContentRule, Gives};
use crate::tree::{IdNo, Row, RowNo, Tree};

/// The message that an entry adds to the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contribution {
    /// No message.
    Nothing,
    /// The stored message. A `bashExecution` with `excludeFromContext` contributes it, too; pi leaves it out of its
    /// requests later.
    Message,
    /// A copy of the stored message; its missing content becomes an empty list.
    MessageEmptyList,
    /// A copy of the stored message; its missing content becomes an empty text.
    MessageEmptyText,
    /// The message that is made from the fields of an entry of this kind. If the kind's row of the table has a
    /// `before`, that message precedes it.
    Made(EntryKind),
}

impl Contribution {
    /// The message that an entry adds by itself, without edits and later compactions.
    pub fn of(row: &Row) -> Self {
        match row.kind.facts().gives {
            Gives::Nothing => Contribution::Nothing,
            Gives::Message => match row.message {
                None => Contribution::Nothing,
                Some(head) if !head.lacks_content => Contribution::Message,
                Some(head) => match head.role.facts().content {
                    ContentRule::Prompt => Contribution::MessageEmptyText,
                    ContentRule::TextOrBlocks | ContentRule::Blocks => Contribution::MessageEmptyList,
                    ContentRule::Fixed | ContentRule::Made => Contribution::Message,
                },
            },
            Gives::Made(made) if made.needs_summary && !row.has_summary => Contribution::Nothing,
            Gives::Made(_) => Contribution::Made(row.kind),
        }
    }

    /// The number for the boundary's scripts. For `Made` it includes the kind's number.
    #[doc(hidden)]
    pub const fn code(self) -> u8 {
        match self {
            Contribution::Nothing => 0,
            Contribution::Message => 1,
            Contribution::MessageEmptyList => 2,
            Contribution::MessageEmptyText => 3,
            Contribution::Made(kind) => Self::MADE + kind as u8,
        }
    }

    /// The code of `Made` for the first kind of the table.
    #[doc(hidden)]
    pub const MADE: u8 = 4;
}

/// One entry of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The entry's row.
    pub row: RowNo,
    /// The message that the entry adds, before its edit.
    pub gives: Contribution,
    /// The newest context edit of the entry. It is not yet applied to `gives`. If its `replacement` is null, the entry
    /// adds no message. Otherwise its `content` replaces the content of a user, assistant, toolResult or custom
    /// message; in assistant and toolResult a text becomes one text block.
    pub edit: Option<RowNo>,
}

/// The settings at the end of a path, including entries before a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// The last thinking_level_change.
    pub thinking_level: Option<RowNo>,
    /// The last model_change or assistant message.
    pub model: Option<RowNo>,
}

/// The context of a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Projection {
    /// The entries, in the order in which the model sees them.
    pub steps: Vec<Step>,
    /// The settings.
    pub settings: Settings,
}

/// The rows of a path that are in the context. Without a compaction, all of them. Otherwise the newest compaction, the
/// entries that it kept, and all entries after it.
pub fn context_rows(tree: &Tree, path: &[RowNo]) -> Result<Vec<RowNo>, OutOfMemory> {
    let is_compaction = |no: &RowNo| tree.row(*no).is_some_and(|row| row.kind == EntryKind::Compaction);
    let Some(last) = path.iter().rposition(is_compaction) else {
        return collect(path.iter().copied());
    };
    let (before, from) = path.split_at(last);
    let Some((&compaction, after)) = from.split_first() else {
        return collect(path.iter().copied());
    };
    let first_kept = tree.row(compaction).and_then(|row| row.target);
    let is_first = |no: &RowNo| first_kept.is_some() && tree.row(*no).map(|row| row.id) == first_kept;
    let kept_from = before.iter().position(is_first);
    let kept = kept_from.and_then(|at| before.get(at..)).unwrap_or_default();
    let is_system = |no: &&RowNo| tree.row(**no).is_some_and(|row| row.role() == Some(Role::System));
    let mut rows = with_capacity(1 + kept.len() + after.len())?;
    rows.push(compaction);
    rows.extend(kept.iter().filter(|no| !is_system(no)));
    rows.extend_from_slice(after);
    Ok(rows)
}

fn settings(tree: &Tree, path: &[RowNo]) -> Settings {
    let last = |wanted: fn(&Row) -> bool| path.iter().rev().copied().find(|&no| tree.row(no).is_some_and(wanted));
    Settings {
        thinking_level: last(|row| row.kind == EntryKind::ThinkingLevelChange),
        model: last(|row| row.kind == EntryKind::ModelChange || row.role() == Some(Role::Assistant)),
    }
}

/// The projection of a path: the message of each entry in the context, and its newest edit.
pub fn project(tree: &Tree, path: &[RowNo]) -> Result<Projection, OutOfMemory> {
    Ok(Projection { steps: steps_of(tree, &context_rows(tree, path)?)?, settings: settings(tree, path) })
}

/// The steps for these rows of a context.
fn steps_of(tree: &Tree, rows: &[RowNo]) -> memory::Result<Vec<Step>> {
    let mut edits: HashMap<IdNo, RowNo> = HashMap::new();
    for &no in rows {
        let edit = tree.row(no).filter(|row| row.kind == EntryKind::ContextEdit);
        if let Some(target) = edit.and_then(|row| row.target) {
            insert(&mut edits, target, no)?;
        }
    }
    let steps = rows.iter().enumerate().filter_map(|(at, &no)| {
        let row = tree.row(no)?;
        // An older compaction among the kept entries stays in the context, but its summary does not.
        let superseded = at > 0 && row.kind == EntryKind::Compaction;
        Some(Step {
            row: no,
            gives: if superseded { Contribution::Nothing } else { Contribution::of(row) },
            edit: edits.get(&row.id).copied(),
        })
    });
    collect(steps)
}
