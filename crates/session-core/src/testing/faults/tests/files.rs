//! Files that are written whole, and files that are only read, on a disk that fails: the old or the new file, never a
//! mixture.

use super::*;
use crate::index::verify::verify;
use crate::rewrite::merge::{create, merge};
use crate::session::branch::BranchLines;
use crate::session::branch::{plan, BranchLabel};
use crate::session::fork::ForkSource;

/// Runs work in a new directory, with a fault at each call in turn, and checks the result each time.
pub(crate) fn in_turn(
    name: &str,
    work: impl Fn(&Path) -> Result<()>,
    check: impl Fn(&Path, &Result<()>, &str),
) -> usize {
    let run = |at, fault: InjectedFault| {
        let dir = scratch();
        let (result, made) = with(at, fault, || work(dir.path()));
        let what = format!("{name}, call {at}: {fault:?}");
        if !made.hit {
            assert!(result.is_ok(), "{what}: {result:?}");
        }
        if let Err(error) = &result {
            let place = dir.path().to_str().expect("text");
            assert!(error.to_string().contains(place), "{what}: {error} does not name the file");
        }
        check(dir.path(), &result, &what);
        nothing_left_behind(dir.path(), &what);
        made
    };
    let calls = run(usize::MAX, InjectedFault::Short).calls.len();
    assert!(calls > 0);
    let faults = every_fault();
    let all = (0..calls).flat_map(|at| faults.iter().map(move |fault| (at, *fault)));
    let cases = all.filter(|&(at, fault)| run(at, fault).hit).count();
    println!("{name}: {cases} faults in {calls} calls");
    cases
}

fn session_at(path: &str, options: SessionFileOptions) -> Result<Session> {
    Session::open(path, Persistence::File, options)
}

pub(crate) const OLD: &str = "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}\n{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\"}}\ntorn {\n";

#[test]
fn a_migration_that_fails_leaves_the_old_file_or_the_new_one() {
    let cases = in_turn(
        "migration",
        |dir| {
            // The core does not write the old file.
            let path = at(dir, "s.jsonl");
            fs::write(&path, OLD).expect("written");
            session_at(&path, OS).map(drop)
        },
        |dir, result, what| {
            let path = at(dir, "s.jsonl");
            let text = fs::read_to_string(&path).expect("read");
            let migrated = text != OLD;
            assert!(result.is_err() || migrated, "{what}");
            if migrated {
                assert!(text.lines().next().is_some_and(|line| line.contains("\"version\":3")), "{what}: {text}");
                assert_eq!(text.lines().count(), 3, "{what}: {text}");
                assert_eq!(fs::read_to_string(at(dir, "s.jsonl.v1.bak")).expect("kept"), OLD, "{what}");
            }
            assert_eq!(opened(&path, OS).tree().len(), 1, "{what}");
        },
    );
    assert!(cases > 200, "{cases} faults");
}

#[test]
fn a_new_file_that_fails_is_whole_or_not_there() {
    let mut cases = 0;
    for options in [OS, FSYNC, SessionFileOptions { lock: Lock::Exclusive, ..FSYNC }] {
        cases += in_turn(
            "new file",
            |dir| {
                let path = at(dir, "s.jsonl");
                let mut session = Session::new(b"s".to_vec(), Persistence::File, Some(path)).with_options(options)?;
                make_file(&mut session)
            },
            |dir, result, what| {
                let text = fs::read_to_string(at(dir, "s.jsonl")).ok();
                assert!(result.is_err() || text.is_some(), "{what}");
                if let Some(text) = text {
                    assert!(text.starts_with(HEADER) && text.lines().count() == 2, "{what}: {text}");
                }
            },
        );
    }
    assert!(cases > 200, "{cases} faults");
}

#[test]
fn a_fork_that_fails_is_whole_or_not_there() {
    let fork = |text: &'static str, lines: usize| {
        in_turn(
            "fork",
            move |dir| {
                fs::write(at(dir, "s.jsonl"), text).expect("written");
                let source = ForkSource::open(at(dir, "s.jsonl"))?;
                source.write_to(at(dir, "f.jsonl"), &FORK_HEADER, FSYNC).map(drop)
            },
            move |dir, result, what| {
                let fork = fs::read_to_string(at(dir, "f.jsonl")).ok();
                assert!(result.is_err() || fork.is_some(), "{what}");
                assert!(fork.is_none_or(|text| text.lines().count() == lines), "{what}");
                assert_eq!(fs::read_to_string(at(dir, "s.jsonl")).expect("read"), text, "{what}");
            },
        )
    };
    let cases = fork(three().leak(), 4) + fork(OLD, 2);
    assert!(cases > 200, "{cases} faults");
}

#[test]
fn a_merge_that_fails_leaves_the_old_file_or_the_new_one() {
    const NEW: &str = "{\"type\":\"custom\",\"id\":\"new\",\"parentId\":null}\n";
    let merged = three().replacen("\n", &format!("\n{NEW}"), 1);
    let mut cases = in_turn(
        "merge",
        |dir| {
            fs::write(at(dir, "s.jsonl"), three()).expect("written");
            merge(&at(dir, "s.jsonl"), "s", NEW.as_bytes(), None).map(drop)
        },
        |dir, result, what| {
            let text = fs::read_to_string(at(dir, "s.jsonl")).expect("read");
            assert!(text == merged || result.is_err() && text == three(), "{what}: {text}");
        },
    );
    cases += in_turn(
        "create",
        |dir| {
            create(&at(dir, "s.jsonl"), "s", b"{\"type\":\"session\",\"version\":3,\"id\":\"s\"}", NEW.as_bytes())
                .map(drop)
        },
        |dir, result, what| {
            let text = fs::read_to_string(at(dir, "s.jsonl")).ok();
            assert!(text.is_some() || result.is_err(), "{what}");
            assert!(text.is_none_or(|text| text.ends_with(NEW) && text.lines().count() == 2), "{what}");
        },
    );
    assert!(cases > 100, "{cases} faults");
}

/// The labels of a branch are written after its path.
const LABEL: &str = "{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"b\",\"targetId\":\"a\",\"label\":\"x\"}";

/// Branches: copies the path to the second entry to a file of its own.
pub(crate) fn branch(dir: &Path, options: SessionFileOptions) -> Result<Session> {
    let old = session_at(&at(dir, "s.jsonl"), options)?;
    let mut plan = plan(old.tree(), 1).expect("memory");
    let (id, parent, target) = ("l".to_owned(), b"b".to_vec(), b"a".to_vec());
    plan.labels.push(BranchLabel { id, parent, target, from: 0 });
    let path = at(dir, "b.jsonl");
    let mut session = Session::new(b"b".to_vec(), Persistence::File, Some(path)).with_options(options)?;
    session.add_branch(&old, &plan)?;
    let header = b"{\"type\":\"session\",\"version\":3,\"id\":\"b\"}".to_vec();
    let lines = BranchLines { header, steps: vec![None; plan.steps.len()], labels: vec![LABEL.into()] };
    session.write_branch(&old, &plan, lines)?;
    Ok(session)
}

#[test]
fn a_branch_that_fails_is_whole_or_not_there() {
    let mut cases = 0;
    for options in [OS, FSYNC, SessionFileOptions { lock: Lock::Exclusive, ..FSYNC }] {
        cases += in_turn(
            "branch",
            |dir| {
                fs::write(at(dir, "s.jsonl"), three()).expect("written");
                append(&mut branch(dir, options)?)
            },
            |dir, result, what| {
                assert_eq!(fs::read_to_string(at(dir, "s.jsonl")).expect("read"), three(), "{what}");
                let Ok(text) = fs::read_to_string(at(dir, "b.jsonl")) else {
                    return assert!(result.is_err(), "{what}: there is no branch");
                };
                let lines: Vec<&str> = text.lines().collect();
                let (left, all) = (lines.get(1..4).unwrap_or_default(), three());
                let expected: Vec<&str> = all.lines().skip(1).take(2).chain([LABEL]).collect();
                assert_eq!(left, expected, "{what}");
                // If the disk never works again, half of the line that was written at that moment may stay.
                assert!(result.is_err() || lines.len() == 5, "{what}: {text}");
                let found = ids(&opened(&at(dir, "b.jsonl"), OS));
                assert!(result.is_err() || found.len() == 4, "{what}: {found:?}");
            },
        );
    }
    assert!(cases > 200, "{cases} faults");
}

#[test]
fn a_repair_that_fails_leaves_the_old_file_or_the_new_one() {
    let broken = three().replace("\"id\":\"b\"", "\"id\":\"b") + "{\"type\":\"cus";
    let cases = in_turn(
        "repair",
        |dir| {
            let path = at(dir, "s.jsonl");
            fs::write(&path, &broken).expect("written");
            crate::rewrite::repair::repair(&path, 0.0).map(drop)
        },
        |dir, result, what| {
            let path = at(dir, "s.jsonl");
            let text = fs::read_to_string(&path).expect("read");
            // A kill is simulated by a disk on which every later call fails.
            let kept = fs::read_to_string(at(dir, "s.jsonl.bak")).ok();
            assert!(kept.is_none_or(|kept| kept == broken), "{what}: half of the original was kept under its name");
            match text == broken {
                true => assert!(result.is_err(), "{what}"),
                false => {
                    assert!(verify(&path).expect("readable").ok, "{what}: {text}");
                    assert_eq!(fs::read_to_string(at(dir, "s.jsonl.bak")).expect("kept"), broken, "{what}");
                }
            }
        },
    );
    assert!(cases > 200, "{cases} faults");
}

#[test]
fn a_header_for_an_empty_file_that_fails_leaves_it_empty() {
    let cases = in_turn(
        "empty file",
        |dir| {
            let path = at(dir, "s.jsonl");
            fs::write(&path, "").expect("written");
            let mut session = Session::new(b"s".to_vec(), Persistence::File, Some(path));
            session.fill_empty_file(three().lines().next().expect("a header").as_bytes()).map(drop)
        },
        |dir, result, what| {
            let text = fs::read_to_string(at(dir, "s.jsonl")).expect("read");
            let whole = text == three().split_inclusive('\n').next().expect("a header");
            let blank = text.trim().is_empty();
            assert!(whole || result.is_err(), "{what}: {text}");
            assert!(whole || blank || what.contains("Always") || what.contains("ShortThen"), "{what}: {text}");
        },
    );
    assert!(cases > 40, "{cases} faults");
}

/// Opening, reading, verifying and closing a file return the content or an error, and change nothing.
#[test]
fn reading_that_fails_changes_nothing() {
    type Read = fn(&str) -> Result<()>;
    let ways: [(&str, Read); 4] = [
        ("open", |path| {
            let session = session_at(path, OS)?;
            assert_eq!(ids(&session), ["a", "b", "c"]);
            Ok(())
        }),
        ("exclusive open and close", |path| {
            let mut session = session_at(path, SessionFileOptions { lock: Lock::Exclusive, ..OS })?;
            assert_eq!(ids(&session), ["a", "b", "c"]);
            session.close();
            Ok(())
        }),
        ("lines", |path| {
            let mut session = session_at(path, OS)?;
            session.close();
            let line = session.line(1)?.expect("a line");
            assert_eq!(Some(line.as_str()), three().lines().nth(2));
            session.lines(&[0, 2], &mut |_, line| {
                assert!(three().lines().any(|one| one == line));
                Ok(())
            })
        }),
        ("verify", |path| {
            let report = verify(path)?;
            assert!(report.ok && report.entries == 3, "{report:?}");
            Ok(())
        }),
    ];
    let mut cases = 0;
    for (name, read) in ways {
        cases += in_turn(
            name,
            |dir| {
                let path = at(dir, "s.jsonl");
                fs::write(&path, three()).expect("written");
                read(&path)
            },
            |dir, _, what| {
                assert_eq!(fs::read_to_string(at(dir, "s.jsonl")).expect("read"), three(), "{what}");
                let all = fs::read_dir(dir).expect("read").filter(|one| {
                    let name = one.as_ref().expect("read").file_name();
                    let name = name.to_str().expect("text");
                    !name.ends_with(".lock") && !name.ends_with(".tmp")
                });
                assert_eq!(all.count(), 1, "{what}");
            },
        );
    }
    assert!(cases > 200, "{cases} faults");
}
