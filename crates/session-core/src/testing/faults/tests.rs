//! Lets each call fail in turn, in each way: appends ([`appends`]), files that are written whole or only read
//! ([`files`]), and waits for the disk with their order ([`syncs`]). The error numbers and the rules of open files are
//! Unix's; on other systems only the helpers exist, for other tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::base::error::Result;
use crate::base::options::Durability;
use crate::base::options::{Lock, SessionFileOptions};
use crate::format::entry::EntryKind;
use crate::format::header::NewHeader;
use crate::format::serialize::NewHead;
use crate::io::fs::faults::{with, InjectedFault};
use crate::session::{AppendPlan, NewEntry};
use crate::session::{Persistence, Session};

#[cfg(unix)]
mod appends;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod locks;
#[cfg(unix)]
mod odd_file_systems;
#[cfg(unix)]
mod syncs;

const OS: SessionFileOptions = SessionFileOptions { durability: Durability::Os, lock: Lock::None };
const FSYNC: SessionFileOptions = SessionFileOptions { durability: Durability::Fsync, lock: Lock::None };

/// A new directory, in memory if possible, so that thousands of cases do not wait for a disk.
pub fn scratch() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).expect("a directory")
}

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}\n";

/// Creates the file of a session without one: a header and an entry.
fn make_file(session: &mut Session) -> Result<()> {
    let entry = NewEntry::new(EntryKind::Custom, b"{}", 0.0);
    let (plan, before) = (AppendPlan::MakeFile { entries: 0 }, HEADER.trim_end().as_bytes().to_vec());
    session.append_as_planned(&entry, &NewHead::default(), plan, &[before]).map(drop)
}

/// Lines of a session of three entries.
fn three() -> String {
    let entry = |id: &str, parent: &str| format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":{parent}}}\n");
    [HEADER, &entry("a", "null"), &entry("b", "\"a\""), &entry("c", "\"b\"")].concat()
}

fn append(session: &mut Session) -> Result<()> {
    let own_fields = b"{\"customType\":\"one that is a good deal longer than nothing\"}";
    session.append(&NewEntry::new(EntryKind::Custom, own_fields, 0.0)).map(drop)
}

#[cfg(unix)]
const FORK_HEADER: NewHeader<'static> = NewHeader { id: "f", cwd: "/c", parent: None, time: 0.0 };

fn opened(path: &str, options: SessionFileOptions) -> Session {
    Session::open(path, Persistence::File, options).expect("opened")
}

fn ids(session: &Session) -> Vec<String> {
    let tree = session.tree();
    (0..tree.len() as u32).map(|row| String::from_utf8_lossy(tree.id_of(row)).into_owned()).collect()
}

fn add(path: &str, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("opened");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
}

fn at(dir: &Path, name: &str) -> String {
    dir.join(name).to_str().expect("text").to_owned()
}

#[cfg(unix)]
fn every_fault() -> Vec<InjectedFault> {
    let mut all =
        vec![InjectedFault::Short, InjectedFault::ShortThen(libc::ENOSPC), InjectedFault::ShortThen(libc::EIO)];
    for code in [libc::ENOSPC, libc::EIO, libc::EINTR, libc::EACCES, libc::ENOENT] {
        all.extend([InjectedFault::Once(code), InjectedFault::Always(code)]);
    }
    // A call that is always interrupted would be repeated forever.
    all.retain(|fault| *fault != InjectedFault::Always(libc::EINTR));
    all
}

/// Checks that no file remains that nobody will remove.
fn nothing_left_behind(dir: &Path, what: &str) {
    crate::locks::sweep::sweep(dir);
    for entry in fs::read_dir(dir).expect("read") {
        let path = entry.expect("read").path().into_os_string().into_string().expect("text");
        if let Some(session) = path.strip_suffix(".lock") {
            assert_eq!(crate::locks::lock_file::held(session).expect("asked"), None, "{what}: the lock is held");
            assert!(!Path::new(&path).exists(), "{what}: {path} was left");
        }
        assert!(!path.ends_with(".tmp"), "{what}: {path} was left");
    }
}
