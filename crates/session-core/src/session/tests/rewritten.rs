//! Files that were rewritten, in place or under another name.

use std::fs::{File, TryLockError};

use super::*;
use crate::io::fs::faults::{with_first, InjectedFault};
use crate::testing::tests::{refused, Refusal};

const OTHER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"other\"}\n";

#[test]
fn another_session_written_into_the_file_in_the_moment_before_the_write_keeps_nothing_of_ours() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    append(&mut session);
    let other = OTHER.to_owned() + &entry("o").repeat(20);
    let (path, text) = (world.path.clone(), other.clone());
    before_next(FsCall::Write, move || fs::write(path, text).expect("written"));
    let error = append_as(&mut session, None).expect_err("another session is there");
    assert!(error.to_string().contains("another session"), "{error}");
    assert_eq!(world.text(), other);
}

#[test]
#[cfg(unix)]
fn a_file_written_anew_and_then_deleted_comes_back_as_it_was_then() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    append(&mut session);
    world.write(&(HEADER.to_owned() + &entry("theirs") + &entry("a") + &entry("more").repeat(2)));
    fs::remove_file(&world.path).expect("removed");
    session.reload().expect("adopted");
    assert_eq!(ids(&session), ["theirs", "a", "more", "more"]);
    assert_eq!(ids(&session), ids(&opened(&world.path)));
    let changes = session.diagnostics().expect("memory").foreign_changes;
    assert!(changes.iter().any(|one| one.kind == ForeignChangeKind::EntriesLost), "the loss is told: {changes:?}");
}

#[test]
#[cfg(unix)]
fn another_sessions_file_that_was_ours_and_is_deleted_is_not_written_again_as_ours() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    append(&mut session);
    world.write(&(OTHER.to_owned() + &entry("o").repeat(20)));
    fs::remove_file(&world.path).expect("removed");
    let error = append_as(&mut session, None).expect_err("nothing of ours can be read");
    assert!(error.is_lost(), "{error}");
    assert!(!fs::exists(&world.path).expect("asked"));
}

/// Regression: another user's file with the same session got our entries.
#[test]
#[cfg(unix)]
fn another_users_file_with_the_same_session_gets_no_entry_of_ours() {
    use crate::io::fs::faults::{on_file_system, FileSystem};
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    append(&mut session);
    session.close();
    let theirs = HEADER.to_owned() + &entry("a") + &entry("theirs");
    world.replace(&theirs);
    let another = FileSystem { owner: Some(4711), ..FileSystem::PLAIN };
    let error = on_file_system(another, || append_as(&mut session, None)).expect_err("it is another user's");
    assert!(error.to_string().contains("another user's file"), "{error}");
    assert_eq!(world.text(), theirs);
}

#[test]
#[cfg(unix)]
fn ancestors_of_our_entries_are_added_to_an_older_copy_as_well() {
    let world = World::with(&[]);
    let linked = |id: &str, parent: &str| entry(id).replace("null", &format!("\"{parent}\""));
    let old = HEADER.to_owned() + &entry("a");
    world.write(&(old.clone() + &linked("b", "a") + &linked("c", "b") + &entry("aside")));
    let mut session = opened(&world.path);
    session.set_leaf(session.tree().find(b"c")).expect("moved");
    let mine = append(&mut session);
    world.replace(&old);
    session.reload().expect("adopted");
    assert_eq!(ids(&session), ["a", "b", "c", &mine], "what ours do not need stays out");
    assert!(session.diagnostics().expect("memory").faults.orphans.is_empty());
    expect_whole(&session, &world);
}

#[test]
#[cfg(unix)]
fn a_line_at_an_unknown_offset_is_rolled_back_only_if_it_is_the_last() {
    for others_follow in [false, true] {
        let world = World::with(&["a"]);
        let mut session = opened(&world.path);
        append(&mut session);
        let before = world.text();
        let path = world.path.clone();
        if others_follow {
            before_next(FsCall::Seek, move || add(&path, &entry("theirs")));
        }
        // The call that returns the position of the line.
        let (result, made) = with_first(FsCall::Seek, InjectedFault::Once(libc::EIO), || append_as(&mut session, None));
        let written = made.calls.iter().position(|call| *call == FsCall::Write).expect("a write");
        assert_eq!(made.calls[written..written + 2], [FsCall::Write, FsCall::Seek]);
        result.expect_err("it is not known where the line is");
        if others_follow {
            assert!(world.text().ends_with(&entry("theirs")), "{}", world.text())
        } else {
            assert_eq!(world.text(), before)
        }
        session.reload().expect("taken in");
        expect_whole(&session, &world);
    }
}

#[test]
#[cfg(unix)]
fn a_half_written_line_is_cut_off_under_the_lock() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    append(&mut session);
    let before = world.text();
    let path = world.path.clone();
    before_next(FsCall::Truncate, move || {
        let locked = File::open(path).expect("opened").try_lock();
        assert!(matches!(locked, Err(TryLockError::WouldBlock)), "others of ours could write now");
    });
    let (result, _) =
        with_first(FsCall::Write, InjectedFault::ShortThen(libc::ENOSPC), || append_as(&mut session, None));
    result.expect_err("the disk is full");
    assert_eq!(world.text(), before);
    append(&mut session);
    expect_whole(&session, &world);
}

#[test]
fn half_a_line_that_another_process_rolled_back_is_not_a_truncation() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    let mine = append(&mut session);
    let before = world.text();
    world.add("{\"type\":\"cus");
    session.reload().expect("seen");
    world.write(&before);
    session.reload().expect("seen");
    assert_eq!(ids(&session), ["a", &mine]);
    assert!(session.take_remap().is_none(), "no row moved");
    append(&mut session);
    expect_whole(&session, &world);
}

fn rows_after(session: &mut Session) -> Vec<Option<RowNo>> {
    session.reload().expect("adopted");
    session.take_remap().expect("the file is another one").rows
}

/// Regression: if several entries had one id, only the last kept its object.
#[test]
#[cfg(unix)]
fn entries_with_one_id_are_paired_in_order_with_those_of_a_replaced_file() {
    let world = World::with(&["a", "x", "b"]);
    let other = entry("x").replace("null", "\"a\"");
    world.add(&other);
    let mut session = opened(&world.path);
    world.replace(&world.text());
    assert_eq!(rows_after(&mut session), [Some(0), Some(1), Some(2), Some(3)]);
    let changes = session.diagnostics().expect("memory").foreign_changes;
    assert!(changes.iter().all(|one| one.kind != ForeignChangeKind::Grown), "{changes:?}");
    world.write(&(HEADER.to_owned() + &entry("b") + &entry("x") + &other + &entry("x")));
    assert_eq!(rows_after(&mut session), [Some(2), Some(1), Some(3), None]);
}

/// If any large allocation of a renumbering fails, nothing has changed, and the next check repeats it.
#[test]
#[cfg(unix)]
fn a_renumbering_that_is_refused_memory_leaves_every_row_and_is_done_by_the_next() {
    let names: Vec<String> = (0..3_000).map(|n| format!("e{n}")).collect();
    let world = World::with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (before, first) = (world.text(), HEADER.to_owned() + &entry("first"));
    let after = before.replace(HEADER, &first);
    let refusals = (0..1_000).take_while(|&nth| {
        world.replace(&before);
        let mut session = opened(&world.path);
        let own = append(&mut session);
        world.replace(&after);
        let is_refused = refused(Refusal { size: 16 << 10, after: nth }, || session.reload()).is_err();
        if is_refused {
            assert_eq!(ids(&session), [names.as_slice(), std::slice::from_ref(&own)].concat(), "allocation {nth}");
            assert!(session.take_remap().is_none(), "allocation {nth}");
            session.reload().expect("adopted");
        }
        let rows = session.take_remap().expect("the file is another one").rows;
        assert_eq!(rows, (0..=3_001).map(|row: RowNo| row.checked_sub(1)).collect::<Vec<_>>(), "allocation {nth}");
        assert_eq!(session.tree().leaf(), Some(3_001));
        expect_whole(&session, &world);
        is_refused
    });
    assert!(refusals.count() > 5);
}

/// Regression: if another process had also used the id of one of our entries, our entry was not added to a file without
/// it.
#[test]
#[cfg(unix)]
fn an_id_of_ours_that_others_used_as_well_is_added_to_a_file_that_lacks_it() {
    for replaced_before in [false, true] {
        let world = World::with(&["a"]);
        let mut session = opened(&world.path);
        let mine = append(&mut session);
        world.add(&entry(&mine));
        session.reload().expect("taken in");
        if replaced_before {
            world.replace(&world.text());
            assert_eq!(rows_after(&mut session), [Some(0), Some(1), Some(2)]);
        }
        world.replace(&(HEADER.to_owned() + &entry("a")));
        assert_eq!(rows_after(&mut session), [Some(0), Some(2)]);
        assert_eq!(ids(&session), ["a", &mine]);
        expect_whole(&session, &world);
    }
}

/// Regression: an entry whose object differs from its JSON counted as a change of the file.
#[test]
fn an_entry_of_ours_that_is_indexed_by_its_object_is_no_change_of_the_file() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    let label = NewEntry::new(EntryKind::Label, b"{\"targetId\":\"a\",\"label\":null}", 0.0);
    let head = NewHead { target: Some(b"a".to_vec()), sets_label: true, ..NewHead::default() };
    session.append_as_planned(&label, &head, AppendPlan::WriteLine, &[]).expect("appended");
    let text = world.text();
    world.write(&text);
    session.reload().expect("read");
    assert!(session.take_remap().is_none(), "no row moved");
    assert!(session.diagnostics().expect("memory").foreign_changes.is_empty());
    #[cfg(unix)]
    {
        world.replace(&text);
        assert_eq!(rows_after(&mut session), [Some(0), Some(1)]);
    }
}
