//! Every call in turn, in every way: what sessions append ([`appends`]), what is written whole or only read
//! ([`files`]), and what waits for the disk, in which order ([`syncs`]). The error numbers are those of Unix, and so are
//! the rules of open files: elsewhere there are only the helpers, for other tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::core::base::error::Result;
use crate::core::base::options::Durability;
use crate::core::base::options::{Lock, Options};
use crate::core::format::entry::Kind;
use crate::core::format::serialize::NewHead;
use crate::core::io::fs::faults::{with, Fault};
use crate::core::session::append::{Below, NewEntry};
use crate::core::session::{Found, Persistence, Session};

#[cfg(unix)]
mod appends;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod locks;
#[cfg(unix)]
mod syncs;

const OS: Options = Options { durability: Durability::Os, lock: Lock::None };
const FSYNC: Options = Options { durability: Durability::Fsync, lock: Lock::None };

/// A directory of its own, in memory where there is one: thousands of cases wait for no disk.
pub fn scratch() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// What the README says of how many cases ran for a promise.
fn said_of(promise: &str) -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(readme).expect("the README is there");
    let row = text.lines().find(|line| line.starts_with(&format!("| {promise}")));
    let row = row.unwrap_or_else(|| panic!("README: no row begins with \"{promise}\""));
    row.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap_or_default().to_owned()
}

/// The number that the README says of something.
fn number_of(said: &str, what: &str) -> Option<usize> {
    let is_what = |(at, found): &(usize, &str)| {
        said[..*at].ends_with(' ') && !said[at + found.len()..].starts_with(char::is_alphanumeric)
    };
    let (at, _) = said.match_indices(what).find(is_what)?;
    said[..at].trim_end().rsplit(' ').next()?.replace(',', "").parse().ok()
}

/// The README says of each promise how many cases ran for it: it must say what did run.
pub fn promised(promise: &str, ran: usize, what: &str) {
    let said = said_of(promise);
    assert_eq!(number_of(&said, what), Some(ran), "README, \"{promise}\": {ran} {what} ran, it says \"{said}\"");
}

/// The same where which calls are made, and so how many can fail, is a little another number on other systems and disks:
/// it says a round number that is not more than what ran, nor much less.
pub fn promised_at_least(promise: &str, ran: usize, what: &str) {
    let said = said_of(promise);
    let number = number_of(&said, what).unwrap_or_default();
    let holds = number <= ran && ran <= number + number / 4;
    let elsewhere = cfg!(not(target_os = "linux"));
    assert!(holds || elsewhere, "README, \"{promise}\": {ran} {what} ran, it says \"{said}\"");
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

fn at(dir: &Path, name: &str) -> String {
    dir.join(name).to_str().expect("text").to_owned()
}

#[cfg(unix)]
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
    crate::core::io::sweep::sweep(dir);
    for entry in fs::read_dir(dir).expect("read") {
        let path = entry.expect("read").path().into_os_string().into_string().expect("text");
        if let Some(session) = path.strip_suffix(".lock") {
            assert_eq!(crate::core::io::lock_file::held(session).expect("asked"), None, "{what}: the lock is held");
            assert!(!Path::new(&path).exists(), "{what}: {path} was left");
        }
        assert!(!path.ends_with(".tmp"), "{what}: {path} was left");
    }
}
