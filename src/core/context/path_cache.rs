//! The cached path to the leaf, and its context. An entry appended at the leaf is added to both; a move of the leaf
//! changes only what the old and the new path do not share. A context is built anew when a compaction or a context edit enters or
//! leaves the path.

use std::collections::HashSet;

use super::projection::{context_rows, decides_model, steps_of};
use super::projection::{Contribution, Projection, Settings, Step};
use crate::format::entry::EntryKind;
use crate::tree::tree::{IdNo, Row, RowNo, Tree};

/// The value of `changes` for a path that is not cached.
const NOT_CACHED: u64 = u64::MAX;

/// A path and its context, of one tree.
#[derive(Debug, Default)]
pub struct PathCache {
    rows: Vec<RowNo>,
    /// The tree's count of changes that affect paths, when `rows` was built.
    changes: u64,
    /// Positions in `rows` of the entries that decide settings and context, ascending.
    thinking: Vec<usize>,
    models: Vec<usize>,
    compactions: Vec<usize>,
    /// The context, if it was needed.
    context: Option<Context>,
    /// How many rows were visited.
    #[cfg(test)]
    visited: usize,
}

/// The steps of a context, and the ids that its edits are about.
#[derive(Debug, Default)]
struct Context {
    steps: Vec<Step>,
    edited: HashSet<IdNo>,
}

impl Context {
    fn of(tree: &Tree, path: &[RowNo]) -> Self {
        let steps = steps_of(tree, &context_rows(tree, path));
        let edited = steps.iter().filter_map(|step| edit_target(tree.row(step.row)?)).collect();
        Self { steps, edited }
    }

    /// Adds an entry after the others. False if that changes other steps.
    fn push(&mut self, no: RowNo, row: &Row) -> bool {
        self.steps.push(Step { row: no, gives: Contribution::of(row), edit: None });
        edit_target(row).is_none() && !self.edited.contains(&row.id)
    }

    /// Takes that many entries from the end. False if that changes other steps.
    fn pop(&mut self, tree: &Tree, count: usize) -> bool {
        let gone = self.steps.split_off(self.steps.len().saturating_sub(count));
        gone.iter().all(|step| tree.row(step.row).is_none_or(|row| edit_target(row).is_none()))
    }
}

/// What an entry edits, if it is a context edit.
fn edit_target(row: &Row) -> Option<IdNo> {
    row.target.filter(|_| row.kind == EntryKind::ContextEdit)
}

impl PathCache {
    /// The rows of the path that was followed last.
    pub fn rows(&self) -> &[RowNo] {
        &self.rows
    }

    /// The context of the path that was followed last.
    pub fn projection(&mut self, tree: &Tree) -> Projection {
        let settings = self.settings();
        let rows = &self.rows;
        let context = self.context.get_or_insert_with(|| Context::of(tree, rows));
        Projection { steps: context.steps.clone(), settings }
    }

    fn settings(&self) -> Settings {
        let row = |positions: &[usize]| positions.last().and_then(|&position| self.rows.get(position)).copied();
        Settings { thinking_level: row(&self.thinking), model: row(&self.models) }
    }

    /// Makes this the path from the root to `end`.
    pub fn move_to(&mut self, tree: &Tree, end: Option<RowNo>) {
        let Some(end) = end else {
            self.cut(tree, 0);
            return;
        };
        if self.changes != tree.path_changes() {
            self.start_over(tree, end);
        }
        if self.rows.last() == Some(&end) {
            return;
        }
        // Up from the new end to the cached path, whose rows ascend: other paths are not cached.
        let mut new = Vec::new();
        let mut at = Some(end);
        let mut common = 0;
        while let Some(row) = at {
            if new.last().is_some_and(|&child| child <= row) {
                return self.start_over(tree, end);
            }
            if let Ok(position) = self.rows.binary_search(&row) {
                common = position + 1;
                break;
            }
            new.push(row);
            at = tree.parent_row(row);
        }
        self.cut(tree, common);
        for row in new.into_iter().rev() {
            self.add(tree, row);
        }
    }

    /// Builds the whole path. One that does not ascend (in files with cycles, or with parents after their children) is
    /// not cached.
    fn start_over(&mut self, tree: &Tree, end: RowNo) {
        *self = Self::default();
        for row in tree.path(end) {
            self.add(tree, row);
        }
        let ascends = self.rows.windows(2).all(|pair| matches!(pair, [before, row] if before < row));
        // A path that starts inside a cycle is not part of the paths of other rows.
        let rooted = self.rows.first().is_none_or(|&first| tree.parent_row(first).is_none());
        self.changes = if ascends && rooted { tree.path_changes() } else { NOT_CACHED };
    }

    /// Keeps the first `len` rows.
    fn cut(&mut self, tree: &Tree, len: usize) {
        let cut = self.rows.len().saturating_sub(len);
        if cut == 0 {
            return;
        }
        self.rows.truncate(len);
        let keep = |positions: &mut Vec<usize>| {
            let before = positions.len();
            positions.truncate(positions.partition_point(|&position| position < len));
            before == positions.len()
        };
        keep(&mut self.thinking);
        keep(&mut self.models);
        // After the newest compaction every row of the path is a step, so as many steps are removed as rows.
        let same_choice = keep(&mut self.compactions);
        if !(same_choice && self.context.as_mut().is_some_and(|context| context.pop(tree, cut))) {
            self.context = None;
        }
    }

    fn add(&mut self, tree: &Tree, no: RowNo) {
        #[cfg(test)]
        {
            self.visited += 1;
        }
        let position = self.rows.len();
        self.rows.push(no);
        let Some(row) = tree.row(no) else { return };
        match row.kind {
            EntryKind::ThinkingLevelChange => self.thinking.push(position),
            _ if decides_model(row) => self.models.push(position),
            EntryKind::Compaction => {
                self.compactions.push(position);
                self.context = None;
            }
            _ => {}
        }
        if self.context.as_mut().is_some_and(|context| !context.push(no, row)) {
            self.context = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Time;
    use crate::context::projection::project;
    use crate::format::agent_message::MessageHead;
    use crate::format::agent_message::Role;
    use crate::format::entry::{EntryHead, Parent};
    use crate::testing::tests::count;
    use proptest::prelude::*;

    fn head(id: u8, parent: Option<u8>, kind: u8, target: u8) -> EntryHead<'static> {
        let kind = [
            EntryKind::Message,
            EntryKind::Message,
            EntryKind::Custom,
            EntryKind::ThinkingLevelChange,
            EntryKind::ModelChange,
            EntryKind::Compaction,
            EntryKind::ContextEdit,
        ][usize::from(kind) % 7];
        let role = if id < 20 { Role::Assistant } else { Role::System };
        EntryHead {
            kind,
            id: vec![id].into(),
            parent: parent.map_or(Parent::Null, |id| Parent::Id(vec![id].into())),
            time: Time::At(0.0),
            message: (kind == EntryKind::Message).then_some(MessageHead { role, lacks_content: false }),
            first_kept: (kind == EntryKind::Compaction).then(|| vec![target].into()),
            target: (kind == EntryKind::ContextEdit).then(|| vec![target].into()),
            sets_label: false,
            has_summary: false,
        }
    }

    fn named(id: &str, parent: Option<&str>, kind: EntryKind, target: Option<&str>) -> EntryHead<'static> {
        EntryHead {
            kind,
            id: id.as_bytes().to_vec().into(),
            parent: parent.map_or(Parent::Null, |id| Parent::Id(id.as_bytes().to_vec().into())),
            target: target.map(|id| id.as_bytes().to_vec().into()),
            message: head(0, None, 0, 0).message.filter(|_| kind == EntryKind::Message),
            ..head(0, None, 0, 0)
        }
    }

    #[test]
    fn a_move_of_the_leaf_visits_only_what_the_paths_do_not_share() {
        const ROWS: usize = 10_000;
        let mut tree = Tree::default();
        for n in 0..ROWS {
            let parent = n.checked_sub(1).map(|before| format!("e{before}"));
            let (kind, target) = match n % 1_000 {
                500 => (EntryKind::ContextEdit, Some(format!("e{}", n - 499))),
                _ => (EntryKind::Message, None),
            };
            tree.push(&named(&format!("e{n}"), parent.as_deref(), kind, target.as_deref()), true);
        }
        let mut cached = PathCache::default();
        let mut cost = |tree: &Tree, end: usize| {
            let before = cached.visited;
            cached.move_to(tree, Some(end as RowNo));
            let path = tree.path(end as RowNo);
            assert_eq!(cached.rows(), path);
            assert_eq!(cached.projection(tree), project(tree, &path));
            cached.visited - before
        };
        assert!(cost(&tree, ROWS - 1) >= ROWS, "all of it is looked at once");
        // Back and forth again.
        assert_eq!(cost(&tree, ROWS - 600), 0);
        assert_eq!(cost(&tree, ROWS - 1), 599);
        // Another branch, and on at its end.
        tree.push(&named("s0", Some("e9990"), EntryKind::Message, None), true);
        assert_eq!(cost(&tree, ROWS), 1);
        tree.push(&named("s1", Some("s0"), EntryKind::ContextEdit, Some("e9990")), true);
        assert_eq!(cost(&tree, ROWS + 1), 1);
        assert_eq!(cost(&tree, ROWS - 1), 9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(count("cached_paths")))]
        /// Ids come twice, parents before and after, in cycles: what is cached always equals what is computed anew.
        #[test]
        fn what_is_cached_equals_what_is_computed_anew(
            steps in prop::collection::vec((0u8..40, any::<u8>(), 0u8..14, 0u8..40, 0u8..4), 1..60)
        ) {
            let mut tree = Tree::default();
            let mut cached = PathCache::default();
            for (id, at, kind, target, what) in steps {
                let count = tree.len() as RowNo;
                match what {
                    0 if count > 0 => tree.set_leaf(Some(RowNo::from(at) % count)),
                    1 => {
                        tree.push(&head(id, Some(at % 40), kind, target), true);
                    }
                    _ => {
                        let parent = tree.leaf().and_then(|leaf| tree.id_of(leaf).first().copied());
                        tree.push(&head(id, parent, kind, target), true);
                    }
                }
                let path = tree.leaf().map(|leaf| tree.path(leaf)).unwrap_or_default();
                cached.move_to(&tree, tree.leaf());
                prop_assert_eq!(cached.rows(), path.as_slice());
                if at % 3 > 0 {
                    prop_assert_eq!(cached.projection(&tree), project(&tree, &path));
                }
            }
        }
    }
}
