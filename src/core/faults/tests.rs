use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::core::append::NewHead;
use crate::core::entry::Kind;
use crate::core::error::{Error, Result};
use crate::core::fork::Source;
use crate::core::options::{Lock, Options};
use crate::core::session::{Below, Found, NewEntry, Persistence, Session};
use crate::core::storage::disk::faults::{with, Fault};
use crate::core::storage::disk::Call;
use crate::core::storage::Durability;
use crate::core::verify::verify;

mod locks;

const FSYNC: Options = Options { durability: Durability::Fsync, lock: Lock::None };

/// A directory of its own, in memory where there is one: thousands of cases wait for no disk.
pub fn scratch() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// Lines of a session of three entries.
fn three() -> String {
    let entry = |id: &str, parent: &str| format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":{parent}}}\n");
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}\n";
    [header, &entry("a", "null"), &entry("b", "\"a\""), &entry("c", "\"b\"")].concat()
}

fn append(session: &mut Session) -> Result<()> {
    let entry = NewEntry {
        kind: Kind::Custom,
        head: &NewHead::default(),
        own: b"{\"customType\":\"one that is a good deal longer than nothing\"}",
        below: Below::Leaf,
        id: None,
        time: 0.0,
        timestamp: "1970-01-01T00:00:00.000Z",
    };
    session.append(&entry).map(drop)
}

fn opened(path: &str, options: Options) -> Box<Session> {
    match Session::open(path, Persistence::File, options).expect("opened") {
        Found::Session(session) => session,
        _ => panic!("there is a session"),
    }
}

fn ids(session: &Session) -> Vec<String> {
    let tree = session.tree();
    (0..tree.len() as u32).map(|row| String::from_utf8_lossy(tree.id_of(row)).into_owned()).collect()
}

fn add(path: &str, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("opened");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
}

/// Something a session does, and what the world does to its file before.
struct Scenario {
    name: &'static str,
    options: Options,
    before: fn(&mut Session, &str),
    work: fn(&mut Session) -> Result<()>,
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "first append",
        options: Options { durability: Durability::Os, lock: Lock::None },
        before: |_, _| {},
        work: append,
    },
    Scenario {
        name: "append",
        options: Options { durability: Durability::Os, lock: Lock::None },
        before: |session, _| append(session).expect("appended"),
        work: append,
    },
    Scenario {
        name: "append with fsync",
        options: FSYNC,
        before: |session, _| append(session).expect("appended"),
        work: append,
    },
    Scenario {
        name: "exclusive append",
        options: Options { durability: Durability::Os, lock: Lock::Exclusive },
        before: |session, _| session.close(),
        work: append,
    },
    Scenario {
        name: "append to a file that others write to",
        options: FSYNC,
        before: |session, path| {
            add(path, "{\"type\":\"custom\",\"id\":\"d\",\"parentId\":\"c\"}\n");
            append(session).expect("appended");
            add(path, "{\"type\":\"custom\",\"id\":\"e\",\"parentId\":\"c\"}\n");
        },
        work: append,
    },
    Scenario {
        name: "append behind half a line",
        options: FSYNC,
        before: |session, path| {
            append(session).expect("appended");
            add(path, "{\"type\":\"custom\",\"id\":\"tor");
        },
        work: append,
    },
    Scenario {
        name: "append to a deleted file",
        options: FSYNC,
        before: |session, path| {
            append(session).expect("appended");
            fs::remove_file(path).expect("removed");
        },
        work: append,
    },
    Scenario {
        name: "append to a replaced file",
        options: FSYNC,
        before: |session, path| {
            append(session).expect("appended");
            let other = format!("{path}.other");
            fs::write(&other, three() + "{\"type\":\"custom\",\"id\":\"f\",\"parentId\":\"c\"}\n").expect("written");
            fs::rename(other, path).expect("renamed");
        },
        work: append,
    },
    Scenario {
        name: "append to a file that was cut",
        options: FSYNC,
        before: |session, path| {
            append(session).expect("appended");
            fs::write(path, three()).expect("written");
        },
        work: append,
    },
    Scenario {
        name: "reload after a rename",
        options: FSYNC,
        before: |session, path| {
            append(session).expect("appended");
            fs::rename(path, format!("{path}.renamed")).expect("renamed");
        },
        work: Session::reload,
    },
    Scenario {
        name: "flush",
        options: FSYNC,
        before: |session, _| append(session).expect("appended"),
        work: Session::flush,
    },
];

fn every_fault() -> Vec<Fault> {
    let mut all = vec![Fault::Short, Fault::ShortThen(libc::ENOSPC), Fault::ShortThen(libc::EIO)];
    for code in [libc::ENOSPC, libc::EIO, libc::EINTR, libc::EACCES, libc::ENOENT] {
        all.extend([Fault::Once(code), Fault::Always(code)]);
    }
    // A call that is interrupted for ever is tried for ever.
    all.retain(|fault| *fault != Fault::Always(libc::EINTR));
    all
}

/// No file is left behind that nobody will remove.
fn nothing_left_behind(dir: &Path, what: &str) {
    crate::core::storage::sweep(dir);
    for entry in fs::read_dir(dir).expect("read") {
        let path = entry.expect("read").path().into_os_string().into_string().expect("text");
        if let Some(session) = path.strip_suffix(".lock") {
            assert_eq!(crate::core::lock::held(session).expect("asked"), None, "{what}: the lock is held");
            assert!(!Path::new(&path).exists(), "{what}: {path} was left");
        }
        assert!(!path.ends_with(".tmp"), "{what}: {path} was left");
    }
}

fn check(scenario: &Scenario, at: usize, fault: Fault) -> (Vec<Call>, bool) {
    let what = format!("{}, call {at}: {fault:?}", scenario.name);
    let dir = scratch();
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    fs::write(&path, three()).expect("written");
    let mut session = opened(&path, scenario.options);
    (scenario.before)(&mut session, &path);
    let known = ids(&session);
    let leaf = session.tree().leaf().map(|row| ids(&session)[row as usize].clone());
    let (result, made) = with(at, fault, || (scenario.work)(&mut session));
    let is_cut = scenario.name.ends_with("cut");
    let now = ids(&session);
    let mut acknowledged: BTreeSet<String> = known.iter().filter(|id| !is_cut || id.len() == 1).cloned().collect();
    match &result {
        Ok(()) => {
            acknowledged.extend(now.iter().filter(|id| id.len() == 8).cloned());
        }
        Err(error) => {
            let place = dir.path().to_str().expect("text");
            assert!(error.to_string().contains(place), "{what}: {error} does not name the file");
            if !is_cut {
                let leaf_now = session.tree().leaf().map(|row| now[row as usize].clone());
                assert_eq!(leaf_now, leaf, "{what}: the leaf moved though the call failed");
                assert!(known.iter().all(|id| now.contains(id)), "{what}: {known:?} became {now:?}");
            }
        }
    }
    // The disk works again.
    append(&mut session).unwrap_or_else(|error| panic!("{what}: the next append failed: {error}"));
    let own = session.tree().leaf().map(|row| ids(&session)[row as usize].clone()).expect("a leaf");
    acknowledged.insert(own);
    session.reload().unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut memory = ids(&session);
    drop(session);
    let mut file = ids(&opened(&path, Options::default()));
    assert!(acknowledged.iter().all(|id| file.contains(id)), "{what}: {acknowledged:?} became {file:?}");
    memory.sort();
    file.sort();
    assert_eq!(memory, file, "{what}: memory and file differ");
    let report = verify(&path).expect("readable");
    let torn = usize::from(scenario.name.ends_with("half a line"));
    let own_halves = report.damaged.iter().filter(|line| line.end - line.start > 30).count();
    // Half a line of our own may stay where the disk refuses to take it back as well, but alone, fused with nothing.
    let gives_up = matches!(fault, Fault::Always(_) | Fault::ShortThen(_));
    assert!(report.damaged.len() <= torn + usize::from(gives_up), "{what}: {:?}", report.damaged);
    assert!(gives_up || own_halves == 0, "{what}: {:?}", report.damaged);
    assert!(report.duplicate_ids.is_empty() && report.orphans.is_empty() && report.ends_with_newline, "{what}");
    nothing_left_behind(dir.path(), &what);
    (made.calls, made.hit)
}

#[test]
fn every_call_of_every_append_fails_in_turn() {
    let mut cases = 0;
    for scenario in SCENARIOS {
        let (calls, hit) = check(scenario, usize::MAX, Fault::Always(libc::EIO));
        assert!(!hit && !calls.is_empty(), "{}: it calls nothing", scenario.name);
        for at in 0..calls.len() {
            for fault in every_fault() {
                let (_, hit) = check(scenario, at, fault);
                cases += usize::from(hit);
            }
        }
    }
    println!("{cases} faults in {} scenarios", SCENARIOS.len());
    assert!(cases > 1000, "{cases}");
}

/// Runs work on a fresh directory with a fault at every call in turn, checking after each.
fn in_turn(name: &str, work: impl Fn(&Path) -> Result<()>, check: impl Fn(&Path, &Result<()>, &str)) -> usize {
    let run = |at, fault: Fault| {
        let dir = scratch();
        let (result, made) = with(at, fault, || work(dir.path()));
        let what = format!("{name}, call {at}: {fault:?}");
        if !made.hit {
            assert!(result.is_ok(), "{what}: {result:?}");
        }
        check(dir.path(), &result, &what);
        nothing_left_behind(dir.path(), &what);
        made
    };
    let calls = run(usize::MAX, Fault::Short).calls.len();
    assert!(calls > 0);
    let faults = every_fault();
    (0..calls)
        .flat_map(|at| faults.iter().map(move |fault| (at, *fault)))
        .filter(|&(at, fault)| run(at, fault).hit)
        .count()
}

fn at(dir: &Path, name: &str) -> String {
    dir.join(name).to_str().expect("text").to_owned()
}

const OLD: &str = "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}\n{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\"}}\ntorn {\n";

#[test]
fn a_migration_that_fails_leaves_the_old_file_or_the_new_one() {
    let cases = in_turn(
        "migration",
        |dir| {
            // The old file is no work of the engine's.
            let path = at(dir, "s.jsonl");
            fs::write(&path, OLD).expect("written");
            match Session::open(&path, Persistence::File, Options::default())? {
                Found::Session(_) => Ok(()),
                // A disk that denies there is a file is believed.
                Found::Missing | Found::Empty => Err(Error::lost(&path)),
            }
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
            assert_eq!(opened(&path, Options::default()).tree().len(), 1, "{what}");
        },
    );
    println!("{cases} faults");
    assert!(cases > 100, "{cases}");
}

#[test]
fn a_new_file_that_fails_is_whole_or_not_there() {
    for options in [Options::default(), FSYNC, Options { lock: Lock::Exclusive, ..FSYNC }] {
        let cases = in_turn(
            "new file",
            |dir| {
                let path = at(dir, "s.jsonl");
                let mut session = Session::new(b"s".to_vec(), Persistence::File, Some(path)).with_options(options)?;
                session.make_file(three().lines().take(1).map(str::as_bytes), None)
            },
            |dir, result, what| {
                let text = fs::read_to_string(at(dir, "s.jsonl")).ok();
                assert!(result.is_err() || text.is_some(), "{what}");
                if let Some(text) = text {
                    assert_eq!(text, three().split_inclusive('\n').next().expect("a header"), "{what}");
                }
            },
        );
        println!("{cases} faults");
        assert!(cases > 30, "{cases}");
    }
}

#[test]
fn a_fork_that_fails_is_whole_or_not_there() {
    let cases = in_turn(
        "fork",
        |dir| {
            fs::write(at(dir, "s.jsonl"), three()).expect("written");
            let source = Source::open(&at(dir, "s.jsonl"))?;
            source.write_to(&at(dir, "f.jsonl"), b"f".to_vec(), b"{\"type\":\"session\"}", FSYNC).map(drop)
        },
        |dir, result, what| {
            let text = fs::read_to_string(at(dir, "f.jsonl")).ok();
            assert!(result.is_err() || text.is_some(), "{what}");
            assert!(text.is_none_or(|text| text.lines().count() == 4), "{what}");
            assert_eq!(fs::read_to_string(at(dir, "s.jsonl")).expect("read"), three(), "{what}");
        },
    );
    println!("{cases} faults");
    assert!(cases > 60, "{cases}");
}

#[test]
fn a_repair_that_fails_leaves_the_old_file_or_the_new_one() {
    let broken = three().replace("\"id\":\"b\"", "\"id\":\"b") + "{\"type\":\"cus";
    let cases = in_turn(
        "repair",
        |dir| {
            let path = at(dir, "s.jsonl");
            fs::write(&path, &broken).expect("written");
            crate::core::repair::repair(&path, (0.0, "t")).map(drop)
        },
        |dir, result, what| {
            let path = at(dir, "s.jsonl");
            let text = fs::read_to_string(&path).expect("read");
            match text == broken {
                true => assert!(result.is_err(), "{what}"),
                false => {
                    assert!(verify(&path).expect("readable").ok, "{what}: {text}");
                    assert_eq!(fs::read_to_string(at(dir, "s.jsonl.bak")).expect("kept"), broken, "{what}");
                }
            }
        },
    );
    println!("{cases} faults");
    assert!(cases > 100, "{cases}");
}

#[test]
fn a_header_for_an_empty_file_that_fails_leaves_it_empty() {
    in_turn(
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
}
