//! A simple and slow tree, which is compared with ours: repeated ids, orphans, cycles, entries that are their own
//! parent, labels that are set and cleared, a leaf that moves, compactions, context edits, branches.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::context::projection::{project, Contribution};
use crate::format::entry::EntryKind;
use crate::format::entry::{read_line, Line};
use crate::session::branch::plan;
use crate::testing::tests::count;
use crate::tree::tree_integrity::check_integrity;

/// Kinds by their names in the file, some more often than others.
const KINDS: [&str; 12] = [
    "message",
    "message",
    "message",
    "custom",
    "custom_message",
    "label",
    "label",
    "compaction",
    "context_edit",
    "branch_summary",
    "thinking_level_change",
    "session_info",
];
const ROLES: [&str; 4] = ["user", "assistant", "system", "toolResult"];

#[derive(Debug, Clone)]
struct Made {
    kind: &'static str,
    role: &'static str,
    id: String,
    parent: Option<String>,
    target: String,
    says: bool,
}

impl Made {
    fn line(&self) -> String {
        let Self { kind, role, id, target, says, .. } = self;
        let parent = self.parent.as_ref().map_or("null".into(), |id| format!("\"{id}\""));
        let text = if *says { "x" } else { "" };
        let own = match *kind {
            "message" => format!("\"message\":{{\"role\":\"{role}\",\"content\":\"x\"}}"),
            "label" => format!("\"targetId\":\"{target}\",\"label\":\"{text}\""),
            "compaction" => format!("\"firstKeptEntryId\":\"{target}\",\"summary\":\"x\""),
            "context_edit" => format!("\"targetId\":\"{target}\",\"replacement\":null"),
            "branch_summary" => format!("\"fromId\":\"root\",\"summary\":\"{text}\""),
            _ => "\"name\":\"x\"".to_owned(),
        };
        format!("{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"t\",{own}}}")
    }
}

#[derive(Default)]
struct Naive {
    all: Vec<Made>,
    leaf: Option<usize>,
}

impl Naive {
    fn find(&self, id: &str) -> Option<usize> {
        self.all.iter().rposition(|made| made.id == id)
    }

    fn up(&self, no: usize) -> Option<usize> {
        self.all[no].parent.as_deref().filter(|id| !id.is_empty()).and_then(|id| self.find(id))
    }

    fn path(&self, to: Option<usize>) -> Vec<usize> {
        let mut path = vec![];
        let mut at = to;
        while let Some(no) = at.filter(|no| !path.contains(no)) {
            path.push(no);
            at = self.up(no);
        }
        path.reverse();
        path
    }

    fn children(&self, of: Option<&str>) -> Vec<usize> {
        let is_child = |no: &usize| self.all[*no].parent.as_deref() == of && self.find(&self.all[*no].id) == Some(*no);
        (0..self.all.len()).filter(is_child).collect()
    }

    /// The rows of the cycle that contains a row, along `up`.
    fn cycle(&self, no: usize, up: &dyn Fn(usize) -> Option<usize>) -> Option<BTreeSet<usize>> {
        let mut seen = BTreeSet::from([no]);
        let mut at = up(no);
        while let Some(next) = at {
            if next == no {
                return Some(seen);
            }
            if !seen.insert(next) {
                return None;
            }
            at = up(next);
        }
        None
    }

    /// The node below which each row is shown.
    fn parents(&self) -> Vec<Option<usize>> {
        let up = |no: usize| {
            let made = &self.all[no];
            made.parent.as_deref().filter(|id| *id != made.id).and_then(|id| self.find(id))
        };
        let first_of_cycle = |no| self.cycle(no, &up).is_some_and(|rows| rows.first() == Some(&no));
        (0..self.all.len()).map(|no| up(no).filter(|_| !first_of_cycle(no))).collect()
    }

    fn labels(&self) -> Vec<(String, usize)> {
        let mut labels: Vec<(String, usize)> = vec![];
        for (no, made) in self.all.iter().enumerate().filter(|(_, made)| made.kind == "label") {
            match labels.iter().position(|(target, _)| *target == made.target) {
                Some(at) if made.says => labels[at].1 = no,
                Some(at) => drop(labels.remove(at)),
                None if made.says => labels.push((made.target.clone(), no)),
                None => {}
            }
        }
        labels
    }

    /// The entries of a path that the model sees: row, contribution, and context edit.
    fn context(&self, path: &[usize]) -> Vec<(usize, Contribution, Option<usize>)> {
        let mut rows = path.to_vec();
        if let Some(at) = path.iter().rposition(|no| self.all[*no].kind == "compaction") {
            let first_kept = &self.all[path[at]].target;
            let from = path[..at].iter().position(|no| self.all[*no].id == *first_kept).unwrap_or(at);
            let kept = path[from..at]
                .iter()
                .filter(|no| !(self.all[**no].kind == "message" && self.all[**no].role == "system"));
            rows = std::iter::once(&path[at]).chain(kept).chain(&path[at + 1..]).copied().collect();
        }
        let edit = |id: &str| {
            let is_edit = |no: &&usize| self.all[**no].kind == "context_edit" && self.all[**no].target == id;
            rows.iter().rev().find(is_edit).copied()
        };
        let gives = |at: usize, made: &Made| match made.kind {
            "message" => Contribution::Message,
            "custom_message" => Contribution::Made(EntryKind::CustomMessage),
            "branch_summary" if made.says => Contribution::Made(EntryKind::BranchSummary),
            "compaction" if at == 0 => Contribution::Made(EntryKind::Compaction),
            _ => Contribution::Nothing,
        };
        rows.iter().enumerate().map(|(at, &no)| (no, gives(at, &self.all[no]), edit(&self.all[no].id))).collect()
    }

    /// The branch to a row: the remaining entries, each with its parent and its first kept entry, then the labels,
    /// which are written again.
    #[allow(clippy::type_complexity, reason = "a plain list is what makes this the plain account")]
    fn branch(&self, to: usize) -> (Vec<(usize, Option<String>, Option<String>)>, Vec<(String, usize)>) {
        let path = self.path(Some(to));
        let is_label = |no: &usize| self.all[*no].kind == "label";
        let mut parent: Option<String> = None;
        let mut steps = vec![];
        for no in path.iter().filter(|no| !is_label(no)) {
            let made = &self.all[*no];
            let label = path.iter().take_while(|other| *other != no).position(|other| {
                is_label(other)
                    && self.all[*other].id == made.target
                    && made.kind == "compaction"
                    && made.target != made.id
            });
            let next = label.and_then(|at| path[at..].iter().find(|other| !is_label(other)));
            steps.push((*no, parent.replace(made.id.clone()), next.map(|&next| self.all[next].id.clone())));
        }
        let stays = |target: &str| steps.iter().any(|(no, ..)| self.all[*no].id == target);
        let labels = self.labels().into_iter().filter(|(target, _)| stays(target)).collect();
        (steps, labels)
    }
}

/// An operation on a tree: the kind, the id, the parent, the target, and whether the leaf is moved before.
type Done = (usize, u8, u8, u8, u8);

fn done() -> impl Strategy<Value = Vec<Done>> {
    proptest::collection::vec((0..KINDS.len() * 4, 0u8..40, 0u8..30, 0u8..40, 0u8..12), 0..40)
}

/// Small numbers come often, so that ids are repeated. The last is the empty id.
fn name(number: u8) -> String {
    match number {
        39 => String::new(),
        _ => number.to_string(),
    }
}

fn rows(of: &[u32]) -> Vec<usize> {
    of.iter().map(|&no| no as usize).collect()
}

fn is_the_same(tree: &Tree, naive: &Naive) -> Result<(), TestCaseError> {
    let path = naive.path(naive.leaf);
    prop_assert_eq!(tree.leaf().map(|no| no as usize), naive.leaf);
    let ours = tree.leaf().map(|leaf| tree.path(leaf).expect("memory")).unwrap_or_default();
    prop_assert_eq!(rows(&ours), path.clone());
    let projection = project(tree, &ours).expect("memory");
    let steps: Vec<_> =
        projection.steps.iter().map(|step| (step.row as usize, step.gives, step.edit.map(|no| no as usize))).collect();
    prop_assert_eq!(steps, naive.context(&path));
    let last = |wanted: &dyn Fn(&Made) -> bool| path.iter().rev().find(|no| wanted(&naive.all[**no])).copied();
    let settings = projection.settings;
    prop_assert_eq!(settings.thinking_level.map(|no| no as usize), last(&|made| made.kind == "thinking_level_change"));
    let decides = |made: &Made| made.kind == "model_change" || made.kind == "message" && made.role == "assistant";
    prop_assert_eq!(settings.model.map(|no| no as usize), last(&decides));
    Ok(())
}

fn is_the_same_in_the_end(tree: &Tree, naive: &Naive) -> Result<(), TestCaseError> {
    let text = |id: &[u8]| String::from_utf8_lossy(id).into_owned();
    for no in 0..naive.all.len() {
        let path = naive.path(Some(no));
        prop_assert_eq!(rows(&tree.path(no as u32).expect("memory")), path.clone());
        let plan = plan(tree, no as u32).expect("memory");
        let (steps, labels) = naive.branch(no);
        let ours: Vec<_> = plan
            .steps
            .iter()
            .map(|step| (step.row as usize, step.parent.as_deref().map(text), step.first_kept.as_deref().map(text)))
            .collect();
        prop_assert_eq!(ours, steps);
        let ours: Vec<_> = plan.labels.iter().map(|label| (text(&label.target), label.from as usize)).collect();
        prop_assert_eq!(ours, labels);
    }
    for id in (0..40).map(name) {
        prop_assert_eq!(tree.find(id.as_bytes()).map(|no| no as usize), naive.find(&id));
        prop_assert_eq!(
            rows(&tree.children(ChildrenOf::Id(id.as_bytes())).expect("memory")),
            naive.children(Some(&id))
        );
    }
    prop_assert_eq!(rows(&tree.children(ChildrenOf::Null).expect("memory")), naive.children(None));
    let parents: Vec<_> = tree.parents().expect("memory").into_iter().map(|no| no.map(|no| no as usize)).collect();
    prop_assert_eq!(parents, naive.parents());
    let labels: Vec<_> = tree
        .labels()
        .in_order()
        .expect("memory")
        .into_iter()
        .map(|(id_no, row)| (text(tree.id_bytes(id_no)), row as usize))
        .collect();
    prop_assert_eq!(labels, naive.labels());
    let distinct: BTreeSet<_> = naive.all.iter().map(|made| &made.id).collect();
    prop_assert_eq!((tree.len(), tree.distinct_ids()), (naive.all.len(), distinct.len()));
    let last_info = naive.all.iter().rposition(|made| made.kind == "session_info");
    prop_assert_eq!(tree.last_info().map(|no| no as usize), last_info);
    let talks = |made: &Made| made.kind == "message" && matches!(made.role, "user" | "assistant");
    prop_assert_eq!(tree.has_conversation(), naive.all.iter().any(talks));

    let found = check_integrity(tree).expect("memory");
    let is_orphan = |no: &usize| naive.all[*no].parent.as_deref().is_some_and(|id| naive.find(id).is_none());
    prop_assert_eq!(rows(&found.orphans), (0..naive.all.len()).filter(is_orphan).collect::<Vec<_>>());
    let of_id = |id: &String| (0..naive.all.len()).filter(|no| naive.all[*no].id == *id).collect::<Vec<_>>();
    let mut twice: Vec<_> = distinct.into_iter().map(of_id).filter(|rows| rows.len() > 1).collect();
    twice.sort();
    prop_assert_eq!(found.duplicates.iter().map(|of| rows(of)).collect::<Vec<_>>(), twice);
    let cycles: BTreeSet<_> = (0..naive.all.len()).filter_map(|no| naive.cycle(no, &|no| naive.up(no))).collect();
    let ours: BTreeSet<BTreeSet<usize>> = found.cycles.iter().map(|of| rows(of).into_iter().collect()).collect();
    prop_assert_eq!((found.cycles.len(), ours), (cycles.len(), cycles));
    for cycle in &found.cycles {
        for (at, &no) in cycle.iter().enumerate() {
            let before = cycle[(at + cycle.len() - 1) % cycle.len()];
            prop_assert_eq!(naive.up(no as usize), Some(before as usize));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("model_trees")))]
    #[test]
    fn whatever_is_done_to_a_tree_it_is_what_a_naive_one_is(all in done()) {
        let mut tree = Tree::default();
        let mut naive = Naive::default();
        for (kind, id, below, about, moves) in all {
            let count = naive.all.len();
            match moves {
                0 => naive.leaf = None,
                1..=3 if count > 0 => naive.leaf = Some(usize::from(below) % count),
                _ => {}
            }
            tree.set_leaf(naive.leaf.map(|no| no as u32));
            is_the_same(&tree, &naive)?;
            let parent = match below {
                // Usually below the leaf, as sessions grow; otherwise below any entry, or none.
                0..=19 => naive.leaf.map(|leaf| naive.all[leaf].id.clone()),
                29 => None,
                other => Some(name(other - 15)),
            };
            // A few ids are repeated; the others are unique.
            let id = if id < 12 { name(id) } else if id == 39 { String::new() } else { format!("{}", 1_000 + count) };
            let target = match about {
                0..=19 if count > 0 => naive.all[usize::from(about) * count / 20].id.clone(),
                _ => name(about),
            };
            let made = Made { kind: KINDS[kind % 12], role: ROLES[kind / 12], id, parent, target, says: about % 4 > 0 };
            read_line(&made.line(), |line| match line {
                Line::Entry(head) => drop(tree.push(&head, true).expect("memory")),
                other => panic!("{other:?}"),
            })
            .expect("memory");
            naive.all.push(made);
            naive.leaf = Some(count);
            is_the_same(&tree, &naive)?;
        }
        is_the_same_in_the_end(&tree, &naive)?;
    }
}
