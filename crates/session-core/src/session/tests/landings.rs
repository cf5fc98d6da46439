//! Lines that other processes write at the moment of an append.

use super::*;
use crate::format::ids::tests::choose;

#[test]
fn a_line_of_another_process_comes_in_before_ours() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    let first = append(&mut session);
    let path = world.path.clone();
    before_next(FsCall::Write, move || add(&path, &entry("theirs")));
    let second = append(&mut session);
    assert_eq!(ids(&session), ["a", &first, "theirs", &second]);
    let leaf = session.tree().leaf().expect("a leaf");
    assert_eq!(session.tree().parent_row(leaf), Some(1), "the leaf stayed ours");
    expect_whole(&session, &world);
}

#[test]
fn half_a_line_of_another_process_is_not_continued() {
    for half in ["{\"type\":\"custom\",\"id\":\"half", "{\"type\":\"custom\",\"id\":\"whole\"}"] {
        let is_whole = half.ends_with('}');
        for in_the_moment_before in [false, true] {
            for known_to_share in [false, true] {
                let world = World::with(&["a"]);
                let mut session = opened(&world.path);
                if known_to_share {
                    world.add(&entry("b"));
                }
                append(&mut session);
                let path = world.path.clone();
                if in_the_moment_before {
                    before_next(FsCall::Write, move || add(&path, half))
                } else {
                    world.add(half)
                }
                append(&mut session);
                append(&mut session);
                let text = world.text();
                assert!(text.lines().any(|line| line.trim_end() == half), "{text}");
                assert_eq!(ids(&session), ids(&opened(&world.path)), "{text}");
                let report = crate::index::verify::verify(&world.path).expect("readable");
                assert_eq!(report.faults.damaged.len(), usize::from(!is_whole), "{text}");
                assert_eq!(session.index().damaged().len(), report.faults.damaged.len());
                let told = session.diagnostics().expect("memory");
                assert_eq!(told.faults.damaged, report.faults.damaged, "{text}");
            }
        }
    }
}

#[test]
fn an_id_that_another_process_takes_in_the_moment_before_is_chosen_again() {
    for others_follow in [false, true] {
        let world = World::with(&["a"]);
        let mut session = opened(&world.path);
        let first = append(&mut session);
        choose(&["00000002", "00000001"]);
        let path = world.path.clone();
        before_next(FsCall::Write, move || {
            add(&path, &entry("00000001"));
            if others_follow {
                before_next(FsCall::Truncate, move || panic!("what others wrote would be cut off"));
                before_next(FsCall::Seek, move || add(&path, &entry("after")));
            }
        });
        assert_eq!(append(&mut session), "00000002");
        let expected = ["00000001", "00000002", "a", "after"].into_iter().filter(|id| others_follow || *id != "after");
        let mut found = ids(&session);
        found.retain(|id| *id != first);
        found.sort();
        assert_eq!(found, expected.collect::<Vec<_>>());
        expect_whole(&session, &world);
    }
}

#[test]
fn an_id_that_was_given_and_is_taken_is_an_error() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    let before = world.text();
    let error = append_as(&mut session, Some("a")).expect_err("it is taken");
    assert_eq!(error.to_string(), "An entry has the id a already");
    let path = world.path.clone();
    before_next(FsCall::Write, move || add(&path, &entry("b")));
    let error = append_as(&mut session, Some("b")).expect_err("it is taken");
    assert!(error.to_string().contains("the id b;"), "{error}");
    assert_eq!(world.text(), before + &entry("b"));
    expect_whole(&session, &world);
}

/// Regression: a line that was added again to a file that had replaced ours continued half a line that another process
/// had written in the moment before: both were damaged, and the entry counted as written.
#[test]
#[cfg(unix)]
fn half_a_line_of_another_process_is_not_continued_by_an_entry_that_is_added_again() {
    for half in ["{\"type\":\"custom\",\"id\":\"half", "{\"type\":\"custom\",\"id\":\"whole\"}"] {
        let world = World::with(&["a"]);
        let mut session = opened(&world.path);
        let mine = [append(&mut session), append(&mut session)];
        world.replace(&(HEADER.to_owned() + &entry("a")));
        let path = world.path.clone();
        before_next(FsCall::Write, move || add(&path, half));
        session.reload().expect("adopted");
        let text = world.text();
        assert!(text.lines().any(|line| line.trim_end() == half), "{text}");
        let found = ids(&opened(&world.path));
        assert!(mine.iter().all(|id| found.contains(id)), "{text}");
        assert_eq!(ids(&session), found, "{text}");
        let report = crate::index::verify::verify(&world.path).expect("readable");
        assert_eq!(report.faults.damaged.len(), usize::from(!half.ends_with('}')), "{text}");
        append(&mut session);
        assert_eq!(ids(&session), ids(&opened(&world.path)));
    }
}

/// Regression: two sessions that added the same missing entries at once wrote them twice.
#[test]
#[cfg(unix)]
fn an_entry_that_another_process_adds_again_at_the_same_moment_is_added_once() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    let mine = [append(&mut session), append(&mut session)];
    let text = world.text();
    let first = text.lines().nth(2).expect("the first of ours").to_owned() + "\n";
    world.replace(&(HEADER.to_owned() + &entry("a")));
    let path = world.path.clone();
    before_next(FsCall::Write, move || add(&path, &first));
    session.reload().expect("adopted");
    assert_eq!(ids(&session), ["a", &mine[0], &mine[1]]);
    assert_eq!(world.text(), text);
    expect_whole(&session, &world);
}

/// Regression: another process appended a line while the session read a file that had replaced ours. The next reload
/// did not notice this line.
#[test]
#[cfg(unix)]
fn a_line_that_comes_while_another_file_is_taken_in_is_seen_by_the_next_reload() {
    use crate::io::fs::faults::{with, InjectedFault};
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    world.replace(&world.text());
    let (_, made) = with(usize::MAX, InjectedFault::Short, || session.reload().expect("adopted"));
    let stats = made.calls.iter().filter(|call| **call == FsCall::Stat).count();
    for nth in 1..=stats {
        let world = World::with(&["a"]);
        let mut session = opened(&world.path);
        world.replace(&world.text());
        let path = world.path.clone();
        before_nth(nth as u32, FsCall::Stat, move || add(&path, &entry("theirs")));
        session.reload().expect("adopted");
        for _ in 0..2 {
            session.reload().expect("read");
        }
        assert_eq!(ids(&session), ["a", "theirs"], "{nth} of {stats}");
    }
}
