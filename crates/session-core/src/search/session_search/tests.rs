use super::*;
use crate::search::matcher::MatchTier;
use std::fs::File;

/// Regression: a session that could not be read had no hits.
#[test]
fn an_error_while_a_session_is_read_is_no_empty_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    // The file can only be written to.
    let file = File::create(dir.path().join("a.jsonl")).expect("a file");
    let session = SessionFile { file: &file, size: 100, version: Version::Current };
    let query = Query::new("needle").expect("a query");
    let filter = Prefilter::of(&query.words).expect("a filter");
    let options = SearchOptions::default();
    session.hits((&query, &options, &filter), &mut Box::default(), &[]).err().expect("not readable");
}

fn hit(offset: u64, tier: MatchTier, entry: u128) -> Hit {
    let order = (tier, Reverse(offset));
    let (role, scope, copies_key) = ("user", TextScope::User, Some(entry));
    Hit { entry: Vec::new(), role, scope, timestamp: Vec::new(), snippet: String::new(), order, copies_key }
}

#[test]
fn of_hits_that_are_not_wanted_only_the_keys_are_kept() {
    for options in [
        SearchOptions { limit: 20, ..SearchOptions::default() },
        SearchOptions { per_session: 20, ..SearchOptions::default() },
    ] {
        let mut best = Best::new(&options);
        let mut most = 0;
        for n in 0..100_000 {
            best.offer(hit(n, MatchTier::Exact, n.into())).expect("memory");
            most = most.max(best.found.best.len());
        }
        assert!(most <= 80);
        let found = best.finish();
        assert_eq!(found.keys.len(), 100_000);
        assert_eq!(offsets(&found), Vec::from_iter((99_960..100_000).rev()));
    }
}

#[test]
fn many_better_copies_hide_no_hit_of_a_session_itself() {
    let mut best = Best::new(&SearchOptions { per_session: 2, ..SearchOptions::default() });
    (0..1_000).for_each(|n| best.offer(hit(n, MatchTier::Exact, n.into())).expect("memory"));
    (1_000..1_003).for_each(|n| best.offer(hit(n, MatchTier::Parts, n.into())).expect("memory"));
    assert_eq!(offsets(&best.finish()), [999, 998, 997, 996, 1_002, 1_001, 1_000]);
}

fn offsets(found: &FoundHits) -> Vec<u64> {
    found.best.iter().map(|hit| hit.order.1 .0).collect()
}

#[test]
fn copies_in_a_session_take_no_place() {
    let mut best = Best::new(&SearchOptions { limit: 2, ..SearchOptions::default() });
    let others = [(0, MatchTier::Words, 1), (1, MatchTier::Words, 2), (2, MatchTier::Words, 3)];
    others.into_iter().for_each(|(offset, tier, entry)| best.offer(hit(offset, tier, entry)).expect("memory"));
    (3..10_000).for_each(|offset| best.offer(hit(offset, MatchTier::Exact, 4)).expect("memory"));
    assert_eq!(offsets(&best.finish()), [3, 2, 1, 0]);
}
