use super::*;
use crate::base::paths::tests::Fixed;
use crate::testing::tests::SessionsDir;
use std::sync::PoisonError;
use std::time::Duration;

fn session(id: &str, text: &str) -> String {
    format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":\"/{id}\"}}\n\
         {{\"type\":\"session_info\",\"id\":\"n\",\"name\":\"name of {id}\"}}\n\
         {{\"type\":\"message\",\"id\":\"m\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
    )
}

/// Regression: between counting its file and reporting it, a thread was overtaken by another.
#[test]
fn progress_goes_forward_one_file_at_a_time() {
    let sessions = SessionsDir::new();
    for n in 0..20 {
        let path = sessions.dir.path().join(format!("{n}.jsonl"));
        std::fs::write(path, session(&n.to_string(), "needle")).expect("written");
    }
    let told = (Mutex::new(Vec::new()), Condvar::new());
    Search {
        scope: &sessions.scope(),
        process: &Fixed,
        location: None,
        query: &Query::new("needle").expect("a query"),
        options: &SearchOptions::default(),
        cancelled: &AtomicBool::new(false),
        progress: &|searched, total| {
            let (all, changed) = &told;
            // Another thread has time to overtake this one.
            let before = locked(all).len();
            let waits = |all: &mut Vec<_>| searched % 2 == 1 && all.len() == before;
            let waited = changed.wait_timeout_while(locked(all), Duration::from_millis(5), waits);
            waited.unwrap_or_else(PoisonError::into_inner).0.push((searched, total));
            changed.notify_all();
        },
        each: &|_| Ok(()),
    }
    .run()
    .expect("searched");
    assert_eq!(*locked(&told.0), Vec::from_iter((0..=20).map(|searched| (searched, 20))));
}

/// Regression: an error of one file ended the search, and later sessions were not searched.
#[test]
#[cfg(unix)]
fn a_file_that_cannot_be_read_is_left_out() {
    use crate::io::fs::faults::{with, with_first, InjectedFault};
    use crate::io::fs::FsCall;
    let sessions = SessionsDir::new();
    let path = sessions.dir.path().join("s.jsonl");
    // There is one file, so each call is on this thread.
    let search = || {
        std::fs::write(&path, session("s", "needle")).expect("written");
        let found = Mutex::new(0);
        let done = Search {
            scope: &sessions.scope(),
            process: &Fixed,
            location: None,
            query: &Query::new("needle").expect("a query"),
            options: &SearchOptions::default(),
            cancelled: &AtomicBool::new(false),
            progress: &|_, _| {},
            each: &|found_hits| {
                *locked(&found) += found_hits.hits.len();
                Ok(())
            },
        }
        .run();
        done.map(|()| *locked(&found))
    };
    let mut lost = 0;
    for at in 0.. {
        let (found, made) = with(at, InjectedFault::Once(libc::EIO), search);
        lost += usize::from(found.expect("the search goes on") == 0);
        if !made.hit {
            break;
        }
    }
    assert!(lost > 2, "{lost} times the file was not read");
    let (found, _) = with_first(FsCall::Open, InjectedFault::Once(libc::EMFILE), search);
    assert_eq!(found.expect_err("no descriptor").path(), path.to_str());
}

/// Regression: a session whose file is a broken link was removed before its folder was searched.
#[test]
#[cfg(unix)]
fn subagents_sessions_of_a_broken_link_are_searched() {
    let sessions = SessionsDir::new();
    let at = |name: &str| sessions.dir.path().join(name);
    std::os::unix::fs::symlink(at("gone"), at("s.jsonl")).expect("linked");
    std::fs::create_dir_all(at("s/run")).expect("made");
    std::fs::write(at("s/run/session.jsonl"), session("sub", "needle")).expect("written");
    let found = Mutex::new(Vec::new());
    Search {
        scope: &sessions.scope(),
        process: &Fixed,
        location: None,
        query: &Query::new("needle").expect("a query"),
        options: &SearchOptions::default(),
        cancelled: &AtomicBool::new(false),
        progress: &|_, _| {},
        each: &|found_hits| {
            locked(&found).push((found_hits.session.id.clone(), found_hits.owner.is_some()));
            Ok(())
        },
    }
    .run()
    .expect("searched");
    assert_eq!(*locked(&found), [(b"sub".to_vec(), false)]);
}
