use std::fs;

use super::append::AppendPlan;
use super::history::ForeignChangeKind;
use super::*;
use crate::base::error::Result;
use crate::base::options::{Lock, SessionFileOptions};
use crate::format::entry::EntryKind;
use crate::format::serialize::NewHead;
use crate::io::fs::faults::{before_next, before_nth};
use crate::io::fs::FsCall;
use crate::tree::RowNo;

/// Appends a custom entry, with a given id or a new one.
fn append_as(session: &mut Session, id: Option<&str>) -> Result<RowNo> {
    session.append(&NewEntry { id, ..NewEntry::new(EntryKind::Custom, b"{\"customType\":\"x\"}", 0.0) })
}

fn append(session: &mut Session) -> String {
    let row = append_as(session, None).expect("appended");
    String::from_utf8_lossy(session.tree().id_of(row)).into_owned()
}

fn opened(path: &str) -> Session {
    Session::open(path, Persistence::File, SessionFileOptions::default()).expect("opened")
}

fn ids(session: &Session) -> Vec<String> {
    let tree = session.tree();
    (0..tree.len() as RowNo).map(|row| String::from_utf8_lossy(tree.id_of(row)).into_owned()).collect()
}

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";

fn entry(id: &str) -> String {
    format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":null}}\n")
}

/// A session file with these entries, in a new directory.
struct World {
    dir: tempfile::TempDir,
    path: String,
}

impl World {
    fn with(ids: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
        let world = Self { dir, path };
        world.write(&(HEADER.to_owned() + &ids.iter().map(|id| entry(id)).collect::<String>()));
        world
    }

    fn write(&self, text: &str) {
        fs::write(&self.path, text).expect("written");
    }

    fn add(&self, text: &str) {
        add(&self.path, text);
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).expect("read")
    }

    /// Replaces the session's file by another file.
    fn replace(&self, text: &str) {
        let other = self.dir.path().join("other");
        fs::write(&other, text).expect("written");
        fs::rename(other, &self.path).expect("renamed");
    }
}

fn add(path: &str, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("opened");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
}

/// Checks that memory and file agree, and that the file is complete.
fn expect_whole(session: &Session, world: &World) {
    let report = crate::index::verify::verify(&world.path).expect("readable");
    assert!(report.faults.damaged.is_empty() && report.faults.duplicate_ids.is_empty(), "{report:?}\n{}", world.text());
    let (mut memory, mut file) = (ids(session), ids(&opened(&world.path)));
    memory.sort();
    file.sort();
    assert_eq!(memory, file);
    let rows: Vec<RowNo> = (0..session.tree().len() as RowNo).collect();
    session.lines(&rows, &mut |_, _| Ok(())).expect("every line is where the index has it");
}

/// Regression: on Windows, entries that were appended after it was deleted were lost.
#[test]
fn a_deleted_file_is_written_again_whole() {
    let world = World::with(&["a"]);
    world.write(world.text().trim_end());
    let before = world.text();
    let mut session = opened(&world.path);
    fs::remove_file(&world.path).expect("removed");
    append(&mut session);
    append(&mut session);
    assert!(world.text().starts_with(&format!("{before}\n")), "{}", world.text());
    assert_eq!(opened(&world.path).tree().len(), 3);
    expect_whole(&session, &world);
}

/// Regression: the growth had entries, but 0 bytes.
#[test]
#[cfg(unix)]
fn what_was_appended_to_a_deleted_file_counts_as_growth() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    world.add(&entry("b"));
    fs::remove_file(&world.path).expect("removed");
    session.reload().expect("written again");
    let changes = session.diagnostics().expect("memory").foreign_changes;
    let grown = changes.iter().find(|one| one.kind == ForeignChangeKind::Grown).expect("it has grown");
    assert_eq!((grown.changed.entries, grown.changed.bytes), (1, entry("b").len() as u64));
    expect_whole(&session, &world);
}

#[test]
#[cfg(unix)]
fn a_directory_that_was_deleted_with_the_file_is_made_again() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    fs::remove_dir_all(world.dir.path()).expect("removed");
    append(&mut session);
    expect_whole(&session, &world);
}

/// Regression: if open files had no link count, the first append did not end: it created one temporary file after the
/// other.
#[test]
#[cfg(unix)]
fn where_live_files_have_no_link_count_the_first_append_ends() {
    use crate::io::fs::faults::without_link_counts;
    let world = World::with(&["a"]);
    let path = world.dir.path().join("new.jsonl").to_str().expect("text").to_owned();
    without_link_counts(|| {
        let mut new = Session::new(b"s".to_vec(), Persistence::File, Some(path.clone()));
        let (entry, plan) = (NewEntry::new(EntryKind::Custom, b"{}", 0.0), AppendPlan::MakeFile { entries: 0 });
        let before = [HEADER.trim_end().as_bytes().to_vec()];
        new.append_as_planned(&entry, &NewHead::default(), plan, &before).expect("made");
        append(&mut new);
        append(&mut new);
        let lock = SessionFileOptions { lock: Lock::Exclusive, ..SessionFileOptions::default() };
        let mut session = Session::open(&world.path, Persistence::File, lock).expect("opened");
        append(&mut session);
        session.reload().expect("read");
        expect_whole(&session, &world);
        assert!(session.diagnostics().expect("memory").foreign_changes.is_empty());
        fs::remove_file(&world.path).expect("removed");
        append(&mut session);
        expect_whole(&session, &world);
    });
    assert_eq!(opened(&path).tree().len(), 3);
}

/// Regression: a deleted session was written again through a symbolic link that somebody had planted. A user with write
/// access to the directory could have a file written anywhere, even in missing directories.
#[test]
#[cfg(unix)]
fn a_deleted_session_is_not_written_again_through_a_planted_link() {
    for target in ["elsewhere/x.fish", "x.fish"] {
        let world = World::with(&["a"]);
        let mut session = opened(&world.path);
        append(&mut session);
        fs::remove_file(&world.path).expect("removed");
        let elsewhere = world.dir.path().join(target);
        std::os::unix::fs::symlink(&elsewhere, &world.path).expect("linked");
        let error = append_as(&mut session, None).expect_err("something has its name");
        assert!(error.to_string().starts_with("EEXIST"), "{error}");
        assert!(!elsewhere.exists() && !world.dir.path().join("elsewhere").exists());
        fs::remove_file(&world.path).expect("removed");
        append(&mut session);
        expect_whole(&session, &world);
        assert!(fs::symlink_metadata(&world.path).expect("there").is_file());
    }
}

#[test]
#[cfg(unix)]
fn a_session_behind_a_link_is_written_again_where_the_link_led_at_first() {
    let world = World::with(&["a"]);
    let link = world.dir.path().join("link.jsonl");
    std::os::unix::fs::symlink(&world.path, &link).expect("linked");
    let mut session = opened(link.to_str().expect("text"));
    fs::remove_file(&world.path).expect("removed");
    append(&mut session);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(opened(&world.path).tree().len(), 2);
    fs::remove_file(&world.path).expect("removed");
    fs::remove_file(&link).expect("removed");
    std::os::unix::fs::symlink(world.dir.path().join("x.fish"), &link).expect("linked");
    append_as(&mut session, None).expect_err("its name leads elsewhere");
    assert!(!world.dir.path().join("x.fish").exists());
    assert_eq!(opened(&world.path).tree().len(), 2);
}

/// Regression: a session whose link was deleted could never be written again.
#[test]
#[cfg(unix)]
fn a_session_whose_link_was_deleted_is_written_again() {
    for deletes_target in [false, true] {
        let world = World::with(&["a"]);
        let link = world.dir.path().join("link.jsonl");
        std::os::unix::fs::symlink(&world.path, &link).expect("linked");
        let mut session = opened(link.to_str().expect("text"));
        fs::remove_file(&link).expect("removed");
        if deletes_target {
            fs::remove_file(&world.path).expect("removed");
        }
        append(&mut session);
        append(&mut session);
        assert!(fs::symlink_metadata(&link).expect("there").is_file());
        assert_eq!(opened(link.to_str().expect("text")).tree().len(), 3);
        assert_eq!(fs::exists(&world.path).expect("checked"), !deletes_target);
    }
}

#[test]
#[cfg(unix)]
fn another_file_that_replaced_it_is_not_written_to() {
    for text in ["something else", "{\"type\":\"session\",\"version\":3,\"id\":\"other\"}\n", "null\n", "{}"] {
        let world = World::with(&["a"]);
        let mut session = opened(&world.path);
        world.replace(text);
        let error = append_as(&mut session, None).expect_err("another file is there");
        assert!(error.to_string().contains(&world.path), "{error}");
        assert_eq!(world.text(), text);
        assert_eq!(ids(&session), ["a"]);
        fs::remove_file(&world.path).expect("removed");
        append(&mut session);
        expect_whole(&session, &world);
    }
}

#[test]
#[cfg(unix)]
fn another_session_written_over_ours_in_place_is_not_written_to() {
    let world = World::with(&["a", "b"]);
    let mut session = opened(&world.path);
    append(&mut session);
    world.write("{\"type\":\"session\",\"version\":3,\"id\":\"other\"}\n");
    let before = world.text();
    let error = append_as(&mut session, None).expect_err("another session is there");
    assert!(error.to_string().contains("another session"), "{error}");
    assert_eq!(world.text(), before);
}

#[test]
fn a_file_cut_in_place_is_adopted() {
    let world = World::with(&["a", "b", "c"]);
    let mut session = opened(&world.path);
    append(&mut session);
    world.write(&(HEADER.to_owned() + &entry("a")));
    let id = append(&mut session);
    assert_eq!(ids(&session), ["a", &id]);
    assert!(world.text().contains("\"parentId\":\"a\""), "the nearest entry that is left is the parent");
    expect_whole(&session, &world);
    let kinds: Vec<_> = session.diagnostics().expect("memory").foreign_changes.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [ForeignChangeKind::EntriesLost]);
}

#[test]
fn a_file_cut_in_the_moment_before_the_write_is_adopted() {
    let world = World::with(&["a", "b", "c"]);
    let mut session = opened(&world.path);
    append(&mut session);
    let path = world.path.clone();
    before_next(FsCall::Write, move || fs::write(path, HEADER.to_owned() + &entry("a")).expect("written"));
    let id = append(&mut session);
    assert_eq!(ids(&session), ["a", &id]);
    expect_whole(&session, &world);
}

/// The copied lines and the given lines of a branch, some longer than one read; the last has no newline.
#[test]
fn lines_arrive_where_they_are_said_to() {
    let line = |n: usize, data: &str| {
        let parent = (0..n).rev().find(|n| n % 97 != 0).map_or("null".into(), |parent| format!("\"{parent}\""));
        format!("{{\"type\":\"custom\",\"id\":\"{n}\",\"parentId\":{parent},\"data\":\"{data}\"}}")
    };
    let size = |n: usize| if n % 1_900 == 1_899 { (2 << 18) + n } else { n % 700 };
    let lines: Vec<_> = (0..4_000).map(|n| line(n, &"x".repeat(size(n)))).collect();
    let world = World::with(&[]);
    world.add(&lines.join("\n"));
    let old = opened(&world.path);
    let plan = branch::plan(old.tree(), 3_999).expect("memory");
    let row_of = |step: &branch::BranchStep| step.row as usize;
    let own = |n: usize| (n % 97 == 1).then(|| line(n, "mine"));
    let steps = plan.steps.iter().map(|step| own(row_of(step)).map(String::into_bytes)).collect();
    let expected: Vec<_> = plan.steps.iter().map(row_of).map(|n| own(n).unwrap_or_else(|| lines[n].clone())).collect();
    assert_eq!(expected.len(), (0..4_000).filter(|n| n % 97 != 0).count());
    let path = world.dir.path().join("branch").to_str().expect("text").to_owned();
    let mut branch = Session::new(b"s".to_vec(), Persistence::File, Some(path.clone()));
    branch.add_branch(&old, &plan).expect("added");
    let lines = branch::BranchLines { header: HEADER.trim().into(), steps, labels: Vec::new() };
    branch.write_branch(&old, &plan, lines).expect("written");
    assert_eq!(fs::read_to_string(path).expect("read"), format!("{HEADER}{}\n", expected.join("\n")));
    for (row, line) in (0..).zip(expected) {
        assert_eq!(branch.line(row).expect("read"), Some(line));
    }
}

#[test]
#[cfg(unix)]
fn an_emptied_file_is_not_written_to() {
    for (empty, is_lost) in [(World::write as fn(&World, &str), true), (World::replace, false)] {
        let world = World::with(&["a"]);
        let mut session = opened(&world.path);
        append(&mut session);
        empty(&world, "");
        let error = append_as(&mut session, None).expect_err("it is not written to");
        assert_eq!((error.is_lost(), error.is_changed()), (is_lost, !is_lost), "{error}");
        assert_eq!(world.text(), "");
        assert_eq!(ids(&session).len(), 2);
    }
}

#[test]
#[cfg(unix)]
fn a_rename_is_noticed_by_reload_and_flush() {
    for notice in [Session::reload, Session::flush] {
        let world = World::with(&["a"]);
        let mut session = opened(&world.path);
        append(&mut session);
        fs::rename(&world.path, world.dir.path().join("elsewhere")).expect("renamed");
        notice(&mut session).expect("noticed");
        expect_whole(&session, &world);
        let kinds: Vec<_> = session.diagnostics().expect("memory").foreign_changes.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [ForeignChangeKind::Renamed]);
        append(&mut session);
        expect_whole(&session, &world);
        assert_eq!(fs::read_to_string(world.dir.path().join("elsewhere")).expect("read").lines().count(), 3);
    }
}

/// Regression: if another file took the name between the check and the opening, the append failed.
#[test]
#[cfg(unix)]
fn an_append_succeeds_when_another_file_takes_the_name_between_the_check_and_the_opening() {
    for gone in [false, true] {
        let world = World::with(&["a", "b"]);
        let mut session = opened(&world.path);
        let path = world.path.clone();
        let again = HEADER.to_owned() + &entry("a") + &entry("b") + &entry("theirs");
        before_next(FsCall::Open, move || {
            if gone {
                fs::remove_file(path).expect("removed")
            } else {
                fs::write(format!("{path}.new"), again).expect("written");
                fs::rename(format!("{path}.new"), path).expect("renamed");
            }
        });
        let id = append(&mut session);
        let theirs = (!gone).then_some("theirs");
        assert_eq!(ids(&session), ["a", "b"].into_iter().chain(theirs).chain([&*id]).collect::<Vec<_>>());
        expect_whole(&session, &world);
    }
}

#[test]
fn a_torn_line_of_any_length_loses_no_whole_line() {
    let lines: Vec<String> = std::iter::once(HEADER.to_owned()).chain(["a", "b", "c"].map(entry)).collect();
    let whole = lines.concat();
    let mut cases = 0;
    for cut in 0..=whole.len() {
        let world = World::with(&[]);
        world.write(&whole[..cut]);
        let left = &whole[..cut];
        let expected: Vec<&str> =
            ["a", "b", "c"].into_iter().filter(|id| left.contains(entry(id).trim_end())).collect();
        let mut session = match Session::open(&world.path, Persistence::File, SessionFileOptions::default()) {
            Ok(session) => session,
            Err(error) => {
                assert!(cut < HEADER.len() - 1 && error.to_string().contains(&world.path), "{cut}: {error}");
                assert_eq!(world.text(), left);
                continue;
            }
        };
        assert_eq!(ids(&session), expected, "cut at {cut}");
        assert_eq!(world.text(), left, "opening changed the file");
        let id = append(&mut session);
        let text = world.text();
        assert!(text.starts_with(left) && text.ends_with('\n'), "{cut}: {text}");
        assert_eq!(ids(&opened(&world.path)), [&expected[..], &[&id]].concat(), "{cut}: {text}");
        let torn = !left.is_empty() && !left.ends_with(['\n', '}']);
        assert_eq!(session.index().damaged().len(), usize::from(torn), "{cut}");
        cases += 1;
    }
    assert!(cases > 100);
}

#[test]
fn two_processes_that_begin_one_empty_file_begin_one_session() {
    let world = World::with(&[]);
    world.write("");
    let mut ours = Session::new(b"ours".to_vec(), Persistence::File, Some(world.path.clone()));
    let path = world.path.clone();
    before_next(FsCall::Write, move || fs::write(path, HEADER).expect("written"));
    assert!(!ours.fill_empty_file(b"{\"type\":\"session\",\"id\":\"ours\"}").expect("seen"));
    assert_eq!(world.text(), HEADER);
}

mod appends;
mod landings;
mod locks;
mod replacements;
mod rewritten;
mod typed;
