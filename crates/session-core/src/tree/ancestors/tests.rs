use super::*;

fn path(parents: &[Option<usize>], from: usize) -> Vec<usize> {
    let parent = |at: &usize| Ok::<_, OutOfMemory>(parents[*at]);
    let mut visited = std::collections::HashSet::new();
    path_to(Some(from), |refused| refused, |at| Ok(visited.insert(*at)), parent).unwrap()
}

#[test]
fn a_path_leads_from_the_root_and_ends_at_a_cycle_of_parents() {
    assert_eq!(path(&[None, Some(0), Some(1), Some(0)], 2), [0, 1, 2]);
    assert_eq!(path(&[Some(2), Some(0), Some(1)], 1), [2, 0, 1]);
    assert_eq!(path(&[Some(0)], 0), [0]);
}
