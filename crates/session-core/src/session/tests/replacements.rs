//! Each way to write to a session is stopped at each of its calls, while each other way runs.

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;
use crate::base::error::ErrorCode;
use crate::format::header::NewHeader;
use crate::index::verify::verify;
use crate::io::fs::faults::{before_call, with, InjectedFault};
use crate::rewrite::merge::merge;
use crate::rewrite::move_session::{move_session, set_parent_session, Move};
use crate::rewrite::redact::{redact, Redaction};
use crate::rewrite::repair::repair;
use crate::session::branch::{plan, BranchLines};
use crate::testing::tests::count;

const SECRET: &str = "hunter2";

fn secret(id: &str) -> String {
    format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":null,\"data\":\"{SECRET}\"}}\n")
}

fn run_redaction(path: &str) -> Result<u64> {
    let redaction = Redaction::text(SECRET.as_bytes(), None, b"-")?;
    redact(path, &redaction, false).map(|report| report.left)
}

/// Appends an entry that contains the secret.
fn append_secret(session: &mut Session) -> Result<String> {
    let own = format!("{{\"customType\":\"x\",\"data\":\"{SECRET}\"}}");
    let row = session.append(&NewEntry::new(EntryKind::Custom, own.as_bytes(), 0.0))?;
    Ok(String::from_utf8_lossy(session.tree().id_of(row)).into_owned())
}

/// A session that has noticed other writers, so each of its writes takes the write lock.
fn shared(world: &World) -> Session {
    let mut session = opened(&world.path);
    append(&mut session);
    world.add(&entry(&format!("other{}", session.new_entry_id())));
    append(&mut session);
    session
}

fn fresh_ids(path: &str) -> BTreeSet<String> {
    ids(&opened(path)).into_iter().collect()
}

/// Regression: the entry was in no file. A redaction had locked the file that it replaced, and the append waited for
/// this lock.
#[test]
#[cfg(unix)]
fn an_append_that_waited_for_the_lock_of_a_replaced_file_is_in_the_new_one() {
    let world = World::with(&["a"]);
    world.add(&secret("b"));
    let mut session = shared(&world);
    let path = world.path.clone();
    before_next(FsCall::Lock, move || assert_eq!(run_redaction(&path).expect("redacted"), 0));
    let mine = append(&mut session);
    assert!(fresh_ids(&world.path).contains(&mine), "{}", world.text());
    assert!(!world.text().contains(SECRET), "{}", world.text());
    expect_whole(&session, &world);
}

/// Regression: the same without the lock, if the process was stopped between its check and its write.
#[test]
#[cfg(unix)]
fn an_append_that_was_stopped_before_its_write_is_in_the_new_file() {
    let world = World::with(&["a"]);
    world.add(&secret("b"));
    let mut session = opened(&world.path);
    append(&mut session);
    let path = world.path.clone();
    before_next(FsCall::Write, move || assert_eq!(run_redaction(&path).expect("redacted"), 0));
    let mine = append(&mut session);
    assert!(fresh_ids(&world.path).contains(&mine), "{}", world.text());
    expect_whole(&session, &world);
}

/// Regression: an older copy had the file's name. While a redaction replaced this copy, `close`, `flush` and `reload`
/// added the entry to it, so that no file contained the entry.
#[test]
#[cfg(unix)]
fn an_entry_that_is_added_to_a_file_which_is_replaced_meanwhile_is_in_the_last_one() {
    type Check = fn(&mut Session) -> Result<()>;
    let works: [(&str, Check); 3] =
        [("close", Session::check_and_close), ("flush", Session::flush), ("reload", Session::reload)];
    for (name, work) in works {
        let world = World::with(&["a"]);
        world.add(&secret("b"));
        let older = world.text();
        let mut session = opened(&world.path);
        let mine = append(&mut session);
        world.replace(&older);
        let path = world.path.clone();
        // Before the write takes its lock. The first lock is taken when the older copy is read.
        before_nth(2, FsCall::Lock, move || assert_eq!(run_redaction(&path).expect("redacted"), 0));
        work(&mut session).expect(name);
        assert!(fresh_ids(&world.path).contains(&mine), "{name}: {}", world.text());
        assert!(!world.text().contains(SECRET), "{name}: {}", world.text());
    }
}

/// Regression: a line with the secret that was appended during the redaction stayed unchanged.
#[test]
#[cfg(unix)]
fn an_append_that_returns_before_the_new_file_has_the_name_is_redacted() {
    for shares in [false, true] {
        let world = World::with(&["a"]);
        world.add(&secret("b"));
        // The redaction shares the lock of this process, so it does not wait.
        let options = SessionFileOptions { lock: Lock::ExclusiveProcess, ..SessionFileOptions::default() };
        let mut session = Session::open(&world.path, Persistence::File, options).expect("opened");
        append(&mut session);
        if shares {
            world.add(&entry("other"));
            append(&mut session);
        }
        let appended = Arc::new(Mutex::new(None));
        let theirs = appended.clone();
        before_next(FsCall::Rename, move || {
            let id = append_secret(&mut session).expect("appended");
            *theirs.lock().expect("no panic") = Some((id, session));
        });
        assert_eq!(run_redaction(&world.path).expect("redacted"), 0);
        let (id, mut session) = appended.lock().expect("no panic").take().expect("appended");
        assert!(!world.text().contains(SECRET), "{}", world.text());
        session.reload().expect("taken in");
        append(&mut session);
        let row = session.tree().find(id.as_bytes()).expect("carried over");
        assert!(!session.line(row).expect("read").expect("a line").contains(SECRET));
        assert!(!world.text().contains(SECRET), "{}", world.text());
        expect_whole(&session, &world);
    }
}

/// Regression: the append failed with EEXIST. The session wrote a deleted file again. A replacement that had begun
/// before the deletion created the file at the same time.
#[test]
#[cfg(unix)]
fn a_deleted_file_whose_name_is_taken_while_it_is_written_again_is_taken_in() {
    let world = World::with(&["a"]);
    let mut session = opened(&world.path);
    let first = append(&mut session);
    let (path, text) = (world.path.clone(), world.text() + &entry("theirs"));
    fs::remove_file(&world.path).expect("removed");
    before_next(FsCall::Link, move || fs::write(path, text).expect("written"));
    let second = append(&mut session);
    assert_eq!(ids(&session), ["a", &first, "theirs", &second]);
    expect_whole(&session, &world);
}

/// Regression: the append failed, because each wait for the lock counted as a try.
///
/// During an append a file is replaced less often than the append checks it. So the append fails only if the lock was
/// held at each check. Then the test repeats it, and it succeeds at the latest when the file is no longer replaced.
#[test]
#[cfg(unix)]
fn appends_beside_a_process_that_replaces_the_file_all_the_time_are_written() {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
    const REPLACEMENTS: u32 = 6;
    let world = World::with(&["a"]);
    let path = world.path.clone();
    let (left, is_done) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let (allowed, stops) = (left.clone(), is_done.clone());
    let replacing = std::thread::spawn(move || {
        for n in 0.. {
            while allowed.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err() {
                if stops.load(SeqCst) {
                    return;
                }
                std::thread::yield_now();
            }
            merge(&path, "s", entry(&format!("m{n}")).as_bytes(), None).expect("merged");
        }
    });
    let mut session = opened(&world.path);
    let mut appended = || {
        left.store(REPLACEMENTS, SeqCst);
        loop {
            match append_as(&mut session, None) {
                Err(error) if error.code() == ErrorCode::SessionLocked => {}
                row => break String::from_utf8_lossy(session.tree().id_of(row.expect("appended"))).into_owned(),
            }
        }
    };
    let mine: Vec<_> = (0..20).map(|_| appended()).collect();
    is_done.store(true, SeqCst);
    replacing.join().expect("no panic");
    let there = fresh_ids(&world.path);
    assert!(mine.iter().all(|id| there.contains(id)), "{}", world.text());
}

/// Regression: forks and branches were created from the file that a redaction had replaced.
#[test]
#[cfg(unix)]
fn what_is_copied_or_read_after_a_redaction_is_what_the_new_file_says() {
    let world = World::with(&["a"]);
    world.add(&secret("b"));
    let mut session = opened(&world.path);
    assert_eq!(run_redaction(&world.path).expect("redacted"), 0);
    let error = session.line(1).expect_err("another file has the name");
    assert_eq!(error.code(), ErrorCode::SessionChanged);
    session.refresh_for_read().expect("taken in");
    assert!(!session.line(1).expect("read").expect("a line").contains(SECRET));
}

/// The acknowledged result of a way to write: ids that must be in the file, and a file that it created.
#[derive(Debug, Default)]
struct Acknowledged {
    ids: Vec<String>,
    made: Option<String>,
}

type Work = Box<dyn FnOnce(&str) -> Result<(Acknowledged, Option<Session>)> + Send>;

/// A way to write. It receives the session's path, prepares what it needs, and returns the work.
struct Way {
    name: &'static str,
    prepare: fn(&World) -> Work,
}

fn writes(mut session: Session, work: impl FnOnce(&mut Session) -> Result<Vec<String>> + Send + 'static) -> Work {
    Box::new(move |_| {
        let ids = work(&mut session)?;
        Ok((Acknowledged { ids, made: None }, Some(session)))
    })
}

/// Repeats the work if the other side has the session lock, because on a busy machine it may have it longer than a call
/// waits.
fn rewrites(work: impl Fn(&str) -> Result<()> + Send + 'static) -> Work {
    Box::new(move |path| loop {
        match work(path) {
            Err(error) if error.code() == ErrorCode::SessionLocked => {}
            done => break done.map(|()| (Acknowledged::default(), None)),
        }
    })
}

/// A session with an entry that is missing in the file, because an older copy took its name.
fn with_older_copy(world: &World) -> (Session, String) {
    let mut session = opened(&world.path);
    let older = world.text();
    let mine = append(&mut session);
    world.replace(&older);
    (session, mine)
}

fn appended_as(session: &mut Session, kind: EntryKind, own: &str) -> Result<Vec<String>> {
    let row = session.append(&NewEntry::new(kind, own.as_bytes(), 0.0))?;
    Ok(vec![String::from_utf8_lossy(session.tree().id_of(row)).into_owned()])
}

const WAYS: &[Way] = &[
    Way {
        name: "append",
        prepare: |world| {
            let mut session = opened(&world.path);
            append(&mut session);
            writes(session, |session| Ok(vec![append_secret(session)?]))
        },
    },
    Way {
        name: "append beside others",
        prepare: |world| writes(shared(world), |session| Ok(vec![append_secret(session)?])),
    },
    Way {
        name: "label",
        prepare: |world| {
            writes(shared(world), |session| {
                appended_as(session, EntryKind::Label, "{\"targetId\":\"a\",\"label\":\"l\"}")
            })
        },
    },
    Way {
        name: "rename",
        prepare: |world| {
            writes(opened(&world.path), |session| appended_as(session, EntryKind::SessionInfo, "{\"name\":\"n\"}"))
        },
    },
    Way {
        name: "close",
        prepare: |world| {
            let (session, mine) = with_older_copy(world);
            writes(session, move |session| session.check_and_close().map(|()| vec![mine]))
        },
    },
    Way {
        name: "reload",
        prepare: |world| {
            let (session, mine) = with_older_copy(world);
            writes(session, move |session| session.reload().map(|()| vec![mine]))
        },
    },
    Way {
        name: "flush",
        prepare: |world| {
            let (session, mine) = with_older_copy(world);
            writes(session, move |session| session.flush().map(|()| vec![mine]))
        },
    },
    Way {
        name: "exclusive open",
        prepare: |_| {
            Box::new(|path| {
                let exclusive = SessionFileOptions { lock: Lock::Exclusive, ..SessionFileOptions::default() };
                let mut session = Session::open(path, Persistence::File, exclusive)?;
                let ids = vec![append_secret(&mut session)?];
                session.release_lock();
                Ok((Acknowledged { ids, made: None }, Some(session)))
            })
        },
    },
    Way {
        name: "branch",
        prepare: |world| {
            let mut session = opened(&world.path);
            Box::new(move |path| {
                let made = format!("{path}.{}.jsonl", session.new_entry_id());
                loop {
                    let row = session.tree().find(b"a").expect("an entry");
                    let plan = plan(session.tree(), row)?;
                    let mut branch = Session::new(b"branch".to_vec(), Persistence::File, Some(made.clone()));
                    branch.add_branch(&session, &plan)?;
                    let lines = BranchLines { header: HEADER.trim().into(), steps: vec![None], labels: Vec::new() };
                    match branch.write_branch(&session, &plan, lines) {
                        Err(error) if error.code() == ErrorCode::SessionChanged => session.refresh_for_read()?,
                        written => break written?,
                    }
                }
                Ok((Acknowledged { ids: Vec::new(), made: Some(made) }, Some(session)))
            })
        },
    },
    Way {
        name: "fork",
        prepare: |_| {
            Box::new(|path| {
                let made = format!("{path}.{}.jsonl", crate::format::ids::session_id(0.0));
                let header = NewHeader { id: "fork", cwd: "/", parent: Some(path), time: 0.0 };
                crate::session::fork::ForkSource::open(path)?.write_to(
                    &made,
                    &header,
                    SessionFileOptions::default(),
                )?;
                Ok((Acknowledged { ids: Vec::new(), made: Some(made) }, None))
            })
        },
    },
    Way { name: "repair", prepare: |_| rewrites(|path| repair(path, 0.0).map(drop)) },
    Way { name: "merge", prepare: |_| rewrites(|path| merge(path, "s", entry("stored").as_bytes(), None).map(drop)) },
    Way { name: "redact", prepare: |_| rewrites(|path| run_redaction(path).map(drop)) },
    Way {
        name: "move",
        prepare: |_| {
            // Each further move finds the directory that it renames.
            let what = Move { from: "/old", to: "/old/new", session_dir: None };
            rewrites(move |path| move_session(path, what).map(drop))
        },
    },
    Way { name: "set parent", prepare: |_| rewrites(|path| set_parent_session(path, "/new.jsonl").map(drop)) },
    Way {
        // If the other side has opened the session, it has migrated the file.
        name: "migrate",
        prepare: |_| {
            Box::new(|path| loop {
                match Session::open(path, Persistence::File, SessionFileOptions::default()) {
                    Err(error) if error.code() == ErrorCode::SessionLocked => {}
                    opened => break Ok((Acknowledged::default(), Some(opened?))),
                }
            })
        },
    },
];

/// How long one side is stopped, if the other waits for it.
const STOPPED_FOR: Duration = Duration::from_millis(30);

type Done = Result<(Acknowledged, Option<Session>)>;

fn world(ways: &[&Way]) -> World {
    let world = World::with(&[]);
    let version = if ways.iter().any(|way| way.name == "migrate") { 2 } else { 3 };
    let header = format!(
        "{{\"type\":\"session\",\"version\":{version},\"id\":\"s\",\"cwd\":\"/old\",\"parentSession\":\"/old.jsonl\"}}\n"
    );
    world.write(&(header + &secret("a") + "torn\n" + &entry("c")));
    world
}

/// The side that runs while the other is stopped.
type Running = (JoinHandle<Done>, Run);

/// The result of the side that ran while the other was stopped.
struct Run {
    /// Whether it ended before the other continued.
    was_done: bool,
    /// The files that existed before.
    there: BTreeSet<String>,
    /// Which file had the session's name at the end.
    file: u64,
}

#[cfg(not(unix))]
fn file_id(_: &str) -> u64 {
    0
}

#[cfg(unix)]
fn file_id(path: &str) -> u64 {
    fs::metadata(path).map(|meta| std::os::unix::fs::MetadataExt::ino(&meta)).expect("there")
}

fn files(path: &str) -> BTreeSet<String> {
    let dir = std::path::Path::new(path).parent().expect("a directory");
    let files = fs::read_dir(dir).expect("read").map(|file| file.expect("read").path());
    files.map(|file| file.to_str().expect("text").to_owned()).collect()
}

/// Runs `stopped`, stops it before its call number `at`, and runs `other` in the meantime. Returns the results of both.
/// None for the second if there is no such call.
fn run(world: &World, stopped: &Way, other: &Way, at: usize) -> (Done, Option<(Done, Run)>) {
    let (stopped, other) = ((stopped.prepare)(world), (other.prepare)(world));
    let (path, stopped_path) = (world.path.clone(), world.path.clone());
    let running: Arc<Mutex<Option<Running>>> = Arc::default();
    let started = running.clone();
    let (done, _) = with(usize::MAX, InjectedFault::Short, || {
        before_call(at, move || {
            let there = files(&path);
            let (say, hear) = channel();
            let thread = std::thread::spawn(move || {
                let done = other(&path);
                let _ = say.send(());
                done
            });
            let was_done = hear.recv_timeout(STOPPED_FOR).is_ok();
            let file = file_id(&stopped_path);
            *started.lock().expect("no panic") = Some((thread, Run { was_done, there, file }));
        });
        stopped(&world.path)
    });
    let running = running.lock().expect("no panic").take();
    (done, running.map(|(thread, run)| (thread.join().expect("no panic"), run)))
}

/// Two sides fail only if they must not write at once, an exclusive session and any other, or if lines are merged into
/// an old file. Every acknowledged entry exists.
fn check(what: &str, world: &World, done: Done, made: &mut Vec<String>) -> Option<Session> {
    match done {
        Ok((acknowledged, session)) => {
            let there = fresh_ids(&world.path);
            for id in &acknowledged.ids {
                assert!(there.contains(id), "{what}: entry {id} was acknowledged and is lost: {}", world.text());
            }
            made.extend(acknowledged.made);
            session
        }
        Err(error) => {
            let is_allowed = match error.code() {
                ErrorCode::SessionLocked => what.contains("exclusive"),
                // Stored lines are not merged into a file of an old version.
                ErrorCode::SessionChanged => what.contains("migrate") && what.contains("merge"),
                _ => false,
            };
            assert!(is_allowed, "{what}: {error}");
            None
        }
    }
}

/// The largest number of calls of a way, if nothing else runs.
fn calls_of(way: &Way) -> usize {
    let world = world(&[way]);
    let work = (way.prepare)(&world);
    let (done, made) = with(usize::MAX, InjectedFault::Short, || work(&world.path));
    done.expect(way.name);
    made.calls.len()
}

/// Regression: acknowledged entries were lost, and redacted texts came back.
#[test]
#[cfg(unix)]
fn nothing_is_lost_or_comes_back_wherever_a_writer_is_stopped() {
    let seed = std::env::var("PSN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_128_u64);
    let mut state = seed;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let calls: Vec<usize> = WAYS.iter().map(calls_of).collect();
    for case in 0..count("stopped_writers") {
        let (stopped, other) = (random(WAYS.len()), random(WAYS.len()));
        let at = 1 + random(calls[stopped]);
        let (stopped, other) = (&WAYS[stopped], &WAYS[other]);
        let what = format!("seed {seed}, case {case}: {} stopped before call {at}, then {}", stopped.name, other.name);
        stop_and_check(&what, stopped, other, at);
    }
}

fn stop_and_check(what: &str, stopped: &Way, other: &Way, at: usize) {
    let world = world(&[stopped, other]);
    let (first, second) = run(&world, stopped, other, at);
    // The number of calls depends on the time, by one or two.
    let Some((second, run)) = second else { return };
    let mut made = Vec::new();
    let sessions = [first, second].map(|done| check(what, &world, done, &mut made));
    let report = verify(&world.path).expect("readable");
    let is_repaired = [stopped.name, other.name].contains(&"repair");
    assert!(report.faults.damaged.len() <= usize::from(!is_repaired), "{what}: {}", world.text());
    assert!(report.faults.duplicate_ids.is_empty(), "{what}: {}", world.text());
    if [stopped.name, other.name].contains(&"redact") {
        assert!(!world.text().contains(&secret("a")), "{what}: {}", world.text());
    }
    // A file that was created after the redaction had ended does not contain the secret.
    if other.name == "redact" && run.was_done {
        for made in made.iter().filter(|made| !run.there.contains(*made)) {
            let text = fs::read_to_string(made).expect("made");
            assert!(!text.contains(SECRET), "{what}: {text}");
        }
    }
    // All lines from before the redaction's rename are redacted, even the lines that the writer has in memory.
    let is_before = stopped.name == "redact" && run.was_done && run.file != file_id(&world.path);
    let is_clean = || assert!(!is_before || !world.text().contains(SECRET), "{what}: {}", world.text());
    is_clean();
    for mut session in sessions.into_iter().flatten() {
        session.reload().unwrap_or_else(|error| panic!("{what}: {error}"));
        let rows: Vec<RowNo> = (0..session.tree().len() as RowNo).collect();
        session.lines(&rows, &mut |_, _| Ok(())).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(ids(&session).into_iter().collect::<BTreeSet<_>>(), fresh_ids(&world.path), "{what}");
        is_clean();
    }
    let is_left = |name: &String| name.ends_with(".tmp") || name.ends_with(".lock");
    assert!(!files(&world.path).iter().any(is_left), "{what}");
}
