use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::base::time::Time;

mod model;

fn entry(id: &str, parent: Option<&str>) -> EntryHead<'static> {
    EntryHead {
        kind: EntryKind::Custom,
        id: Cow::Owned(id.as_bytes().to_vec()),
        parent: parent.map_or(Parent::Null, |id| Parent::Id(Cow::Owned(id.as_bytes().to_vec()))),
        time: Time::At(0.0),
        message: None,
        target: None,
        sets_label: false,
        has_summary: false,
    }
}

fn label(id: &str, target: &str, sets: bool) -> EntryHead<'static> {
    EntryHead {
        kind: EntryKind::Label,
        target: Some(Cow::Owned(target.as_bytes().to_vec())),
        sets_label: sets,
        ..entry(id, None)
    }
}

fn tree(entries: &[EntryHead<'_>]) -> Tree {
    let mut tree = Tree::default();
    for head in entries {
        tree.push(head, true).expect("memory");
    }
    tree
}

#[test]
fn labels_keep_the_order_of_their_first_setting_until_cleared() {
    let tree = tree(&[
        label("1", "a", true),
        label("2", "b", true),
        label("3", "a", true),
        label("4", "c", true),
        label("5", "b", false),
        label("6", "b", true),
    ]);
    let order: Vec<_> = tree
        .labels()
        .in_order()
        .expect("memory")
        .into_iter()
        .map(|(id_no, row)| (tree.id_bytes(id_no).to_vec(), row))
        .collect();
    assert_eq!(order, [(b"a".to_vec(), 2), (b"c".to_vec(), 3), (b"b".to_vec(), 5)]);
}

#[test]
fn a_walk_through_a_cycle_visits_each_entry_once() {
    let tree = tree(&[entry("a", Some("c")), entry("b", Some("a")), entry("c", Some("b")), entry("d", Some("c"))]);
    assert_eq!(tree.path(3).expect("memory"), [0, 1, 2, 3]);
    assert_eq!(tree.path(1).expect("memory"), [2, 0, 1]);
    assert_eq!(tree.parents().expect("memory"), [None, Some(0), Some(1), Some(2)]);
}

#[test]
fn the_self_parented_and_orphans_are_roots() {
    let tree = tree(&[entry("a", Some("a")), entry("b", Some("gone"))]);
    assert_eq!(tree.parents().expect("memory"), [None, None]);
    assert_eq!(tree.path(0).expect("memory"), [0]);
    assert!(tree.path(9).expect("memory").is_empty(), "there is no such row");
    assert_eq!(tree.children(ChildrenOf::Id(b"gone")).expect("memory"), [1]);
}

#[test]
fn an_empty_id_is_a_parent_in_the_tree_but_ends_a_walk() {
    let tree = tree(&[entry("", None), entry("a", Some(""))]);
    assert_eq!(tree.parents().expect("memory"), [None, Some(0)]);
    assert_eq!(tree.path(1).expect("memory"), [1]);
}

/// The tree as one would write it without caring for speed.
struct Naive(Vec<(u8, Option<u8>)>);

impl Naive {
    fn find(&self, id: u8) -> Option<usize> {
        self.0.iter().rposition(|&(have, _)| have == id)
    }

    fn path(&self, to: usize) -> Vec<u32> {
        let mut path = vec![];
        let mut at = Some(to);
        while let Some(no) = at.filter(|no| !path.contains(&(*no as u32))) {
            path.push(no as u32);
            at = self.0[no].1.and_then(|parent| self.find(parent));
        }
        path.reverse();
        path
    }

    fn children(&self, of: u8) -> Vec<u32> {
        let rows = 0..self.0.len();
        rows.filter(|&no| self.0[no].1 == Some(of) && self.find(self.0[no].0) == Some(no)).map(|no| no as u32).collect()
    }
}

proptest! {
    #[test]
    fn any_tree_is_what_a_naive_one_is(entries in proptest::collection::vec((0u8..12, proptest::option::of(0u8..14)), 0..24)) {
        let naive = Naive(entries.clone());
        let heads: Vec<_> = entries
            .iter()
            .map(|(id, parent)| entry(&id.to_string(), parent.map(|p| p.to_string()).as_deref()))
            .collect();
        let tree = tree(&heads);
        for no in 0..entries.len() {
            prop_assert_eq!(tree.path(no as u32).expect("memory"), naive.path(no));
        }
        for id in 0..14u8 {
            prop_assert_eq!(tree.find(id.to_string().as_bytes()), naive.find(id).map(|no| no as u32));
            prop_assert_eq!(tree.children(ChildrenOf::Id(id.to_string().as_bytes())).expect("memory"), naive.children(id));
        }
        // Every row hangs from a root: following parents ends.
        let parents = tree.parents().expect("memory");
        for start in 0..parents.len() {
            let steps = std::iter::successors(Some(start as u32), |&no| parents[no as usize]).take(parents.len() + 1).count();
            prop_assert!(steps <= parents.len());
        }
    }
}

#[test]
fn a_leaf_whose_id_comes_again_is_its_last_entry() {
    let mut tree = tree(&[entry("a", None), entry("b", Some("a")), entry("c", Some("b"))]);
    tree.push(&entry("b", None), false).expect("memory");
    assert_eq!(tree.leaf(), Some(2), "another id");
    tree.push(&entry("c", Some("a")), false).expect("memory");
    assert_eq!(tree.leaf(), Some(4));
    let leaf = tree.leaf();
    assert_eq!(leaf.map(|leaf| tree.path(leaf).expect("memory")), Some(vec![0, 4]));
}
