//! Appends, and reading the changes of others, while another process changes the file and the disk fails.

use std::cell::RefCell;

use super::*;
use crate::index::verify::verify;
use crate::io::fs::faults::before_next;
use crate::io::fs::FsCall;

/// A call of a session, and the changes of others to its file before it or during it.
struct Scenario {
    name: &'static str,
    options: SessionFileOptions,
    before: fn(&mut Session, &str),
    work: fn(&mut Session) -> Result<()>,
}

thread_local! {
    /// The lines that others wrote during the session's call.
    static THEIRS: RefCell<Vec<String>> = RefCell::default();
}

fn foreign(id: &str) -> String {
    format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":\"c\"}}\n")
}

/// Another process writes a line right before the session's next call of this kind.
fn others_write_before(call: FsCall, path: &str, id: &'static str) {
    let path = path.to_owned();
    before_next(call, move || {
        add(&path, &foreign(id));
        THEIRS.with(|theirs| theirs.borrow_mut().push(id.to_owned()));
    });
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "first append", options: OS, before: |_, _| {}, work: append },
    Scenario { name: "append", options: OS, before: |session, _| append(session).expect("appended"), work: append },
    Scenario {
        name: "append with fsync",
        options: FSYNC,
        before: |session, _| append(session).expect("appended"),
        work: append,
    },
    Scenario {
        name: "exclusive append",
        options: SessionFileOptions { durability: Durability::Os, lock: Lock::Exclusive },
        before: |session, _| session.close(),
        work: append,
    },
    Scenario {
        name: "append to a file that others write to",
        options: FSYNC,
        before: |session, path| {
            add(path, &foreign("d"));
            append(session).expect("appended");
            add(path, &foreign("e"));
        },
        work: append,
    },
    Scenario {
        name: "append to a file that others write to in the moment before",
        options: FSYNC,
        before: |session, path| {
            append(session).expect("appended");
            others_write_before(FsCall::Write, path, "g");
        },
        work: append,
    },
    Scenario {
        name: "append to a file that others write to in the moment after",
        options: FSYNC,
        before: |session, path| {
            append(session).expect("appended");
            others_write_before(FsCall::Seek, path, "h");
        },
        work: append,
    },
    Scenario {
        name: "append to a shared file that others write to in the moment after",
        options: FSYNC,
        before: |session, path| {
            add(path, &foreign("d"));
            append(session).expect("appended");
            others_write_before(FsCall::Seek, path, "h");
        },
        work: append,
    },
    Scenario {
        name: "append after a torn line",
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
    Scenario { name: "append to a replaced file", options: FSYNC, before: replaced, work: append },
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
        name: "reload of a file that others write to",
        options: OS,
        before: |session, path| {
            append(session).expect("appended");
            add(path, &foreign("e"));
        },
        work: Session::reload,
    },
    Scenario { name: "reload of a replaced file", options: FSYNC, before: replaced, work: Session::reload },
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
    Scenario {
        name: "flush of a deleted file",
        options: OS,
        before: |session, path| {
            append(session).expect("appended");
            fs::remove_file(path).expect("removed");
        },
        work: Session::flush,
    },
];

fn replaced(session: &mut Session, path: &str) {
    append(session).expect("appended");
    let other = format!("{path}.other");
    fs::write(&other, three() + &foreign("f")).expect("written");
    fs::rename(other, path).expect("renamed");
}

fn check(scenario: &Scenario, at: usize, fault: InjectedFault) -> (Vec<FsCall>, bool) {
    let what = format!("{}, call {at}: {fault:?}", scenario.name);
    let dir = scratch();
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    fs::write(&path, three()).expect("written");
    let mut session = opened(&path, scenario.options);
    (scenario.before)(&mut session, &path);
    let known = ids(&session);
    let leaf = session.tree().leaf().map(|row| ids(&session)[row as usize].clone());
    THEIRS.with(|theirs| theirs.take());
    // Lines of any writer that are in the file now must stay, byte by byte.
    let there = fs::read_to_string(&path).unwrap_or_default();
    let (result, made) = with(at, fault, || (scenario.work)(&mut session));
    let theirs = THEIRS.with(|theirs| theirs.take());
    let is_cut = scenario.name.ends_with("cut");
    let now = ids(&session);
    let mut acknowledged: BTreeSet<String> = known.iter().filter(|id| !is_cut || id.len() == 1).cloned().collect();
    acknowledged.extend(theirs.iter().cloned());
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
    let mut fused = 0;
    let text = fs::read_to_string(&path).expect("read");
    assert!(text.starts_with(&there), "{what}: there was\n{there}\nand now there is\n{text}");
    // If the disk also refuses the roll-back, half a line of ours may stay, but alone, not fused with another line.
    let gives_up = matches!(fault, InjectedFault::Always(_) | InjectedFault::ShortThen(_));
    let mut file = ids(&opened(&path, SessionFileOptions::default()));
    for id in &theirs {
        let line = foreign(id);
        // Half a line of ours before it may have been overwritten with spaces.
        let is_whole = text.lines().any(|one| one.trim() == line.trim());
        // A line that others wrote after the torn line at the same moment is fused with it. Only a repair can separate
        // them.
        assert!(is_whole || gives_up && text.contains(line.trim()), "{what}: {id} of others is not in\n{text}");
        if !is_whole {
            acknowledged.remove(id);
            fused += 1;
        }
    }
    acknowledged.extend(there.split("\"id\":\"").skip(2).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
    assert!(acknowledged.iter().all(|id| file.contains(id)), "{what}: {acknowledged:?} became {file:?}");
    memory.sort();
    file.sort();
    assert_eq!(memory, file, "{what}: memory and file differ");
    let report = verify(&path).expect("readable");
    let torn = usize::from(scenario.name.ends_with("a torn line"));
    let own_halves = report.faults.damaged.iter().filter(|line| line.end - line.start > 30).count();
    assert!(report.faults.damaged.len() <= torn + usize::from(gives_up), "{what}: {:?}", report.faults.damaged);
    assert!(gives_up || own_halves == 0, "{what}: {:?}", report.faults.damaged);
    assert!(
        report.faults.duplicate_ids.is_empty() && report.faults.orphans.is_empty() && report.ends_with_newline,
        "{what}"
    );
    nothing_left_behind(dir.path(), &what);
    if fused > 0 {
        crate::rewrite::repair::repair(&path, 0.0).expect("repaired");
        let repaired = ids(&opened(&path, SessionFileOptions::default()));
        assert!(theirs.iter().chain(&acknowledged).all(|id| repaired.contains(id)), "{what}: {repaired:?}");
    }
    if at == usize::MAX {
        let meddles = scenario.name.contains("in the moment");
        assert_eq!(theirs.len(), usize::from(meddles), "{what}: others wrote, or did not");
    }
    (made.calls, made.hit)
}

#[test]
fn every_call_of_every_append_fails_in_turn() {
    let mut cases = 0;
    for scenario in SCENARIOS {
        let (calls, hit) = check(scenario, usize::MAX, InjectedFault::Always(libc::EIO));
        assert!(!hit && !calls.is_empty(), "{}: it calls nothing", scenario.name);
        for at in 0..calls.len() {
            for fault in every_fault() {
                let (_, hit) = check(scenario, at, fault);
                cases += usize::from(hit);
            }
        }
    }
    assert!(cases > 2_000, "{cases} faults in {} scenarios", SCENARIOS.len());
}
