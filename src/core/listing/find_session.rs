//! Finding sessions: the newest, or by their ids. Of each file only the header is read.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::scope::ListScope;
use crate::base::error::{Error, Result};
use crate::base::paths::{default_session_dir, is_same_path, join, resolve, Process, MAX_PATH};
use crate::base::threads::{into_inner, locked, on_threads};
use crate::base::wtf8::to_string_lossy;
use crate::format::header::Header;
use crate::io::open::{self, is_exhausted, Access};
use crate::io::session_files::session_files;
use crate::summary::header_scan::header_among_others;

/// How many headers a thread reads at once.
const HEADERS_PER_TASK: usize = 16;

/// A session that was found by its id.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundSession {
    /// The path of its file.
    pub path: String,
    /// WTF-8.
    pub id: Vec<u8>,
    /// Empty if the header does not say.
    pub cwd: Vec<u8>,
}

/// Selects sessions by the working directory in their header.
pub struct CwdFilter<'a> {
    /// The working directory.
    pub cwd: &'a str,
    /// What says how a path in a header is to be read.
    pub process: &'a dyn Process,
}

impl CwdFilter<'_> {
    /// Whether a header's working directory is this one. An absent, empty or invalid one is not.
    pub fn includes(&self, cwd: Option<&[u8]>) -> bool {
        let cwd = cwd.filter(|cwd| !cwd.is_empty() && cwd.len() <= MAX_PATH);
        let Some(cwd) = cwd.map(to_string_lossy) else { return false };
        let is_same = resolve(&cwd, self.process).and_then(|cwd| is_same_path(&cwd, self.cwd, self.process));
        is_same.unwrap_or_else(|_| {
            self.process.discard_error();
            false
        })
    }
}

/// The working directory to filter the sessions in `dir` by: a directory that was given, and is not the default one, may
/// hold other working directories' sessions too.
pub fn lookup_filter(cwd: &str, dir: &str, is_given: bool, process: &dyn Process) -> Result<Option<String>> {
    let default = default_session_dir(cwd, None, process)?;
    match is_given && !is_same_path(dir, &default, process)? {
        true => resolve(cwd, process).map(Some),
        false => Ok(None),
    }
}

/// The header of a file. One that cannot be read, or is very large without a header, is not a session. An error if no file descriptor
/// is left.
fn header_if_session(path: &Path) -> Result<Option<Header>> {
    match open::regular(path, Access::Read) {
        Err(error) if is_exhausted(&error) => Err(Error::io("open", &path.to_string_lossy(), error)),
        file => Ok(file.and_then(header_among_others).ok().flatten()),
    }
}

/// The most recently modified session file of a directory. As in pi, what cannot be read has no sessions, be it a file, a dangling link,
/// or the directory itself.
pub fn most_recent(dir: &str, filter: Option<&CwdFilter<'_>>) -> Option<String> {
    let files = ListScope::dir(dir.to_owned(), None).find("").ok()?;
    let mut files: Vec<_> =
        files.into_iter().filter_map(|file| Some((file.fingerprint?.modified_ms(), file.path))).collect();
    // Files with the same time stay in name order.
    files.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    let is_one = |path: &str| {
        header_if_session(Path::new(path)).is_ok_and(|header| header.is_some_and(|header| is_included(&header, filter)))
    };
    files.into_iter().map(|(_, path)| path).find(|path| is_one(path))
}

/// The session file of a directory whose header has exactly this id, the first in name order. What cannot be read has no sessions, as for
/// [`most_recent`].
pub fn by_id(dir: &str, id: &[u8], filter: Option<&CwdFilter<'_>>) -> Option<String> {
    let names = session_files(dir).unwrap_or_default();
    let paths: Vec<_> = names.iter().map(|name| PathBuf::from(join(dir, name))).collect();
    let (found, _) = with_headers(&paths, |header| header.id == id);
    let (at, _) = found.into_iter().find(|(_, header)| is_included(header, filter))?;
    names.get(at).map(|name| join(dir, name))
}

/// The sessions of a scope whose header has exactly this id or, if none has, those whose id begins with it; in the order of
/// their paths. A file that cannot be read is left out; an error if no file descriptor is left, for an answer would be wrong.
pub fn by_id_prefix(scope: &ListScope, prefix: &[u8], process: &dyn Process) -> Result<Vec<FoundSession>> {
    let files = scope.find(&process.cwd()?)?;
    let paths: Vec<_> = files.iter().map(|file| Path::new(&file.dir).join(&file.name)).collect();
    let (found, all) = with_headers(&paths, |header| header.id.starts_with(prefix));
    all?;
    let found = found.into_iter().filter_map(|(at, header)| {
        let path = files.get(at)?.path.clone();
        Some(FoundSession { path, id: header.id, cwd: header.cwd.unwrap_or_default() })
    });
    let mut found: Vec<_> = found.filter(|session| scope.includes(&session.cwd, process)).collect();
    if found.iter().any(|session| session.id == prefix) {
        found.retain(|session| session.id == prefix);
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(found)
}

/// The positions of the files whose header is wanted, in their order, and these headers. They are read on several threads: checking
/// what a name or the catalog says of a file costs as much. And an error if no file descriptor was left for one.
fn with_headers(paths: &[PathBuf], is_wanted: impl Fn(&Header) -> bool + Sync) -> (Vec<(usize, Header)>, Result<()>) {
    let (found, all) = (Mutex::new(Vec::new()), Mutex::new(Ok(())));
    on_threads(paths.len().div_ceil(HEADERS_PER_TASK), |_: &mut (), share| {
        for (at, path) in paths.iter().enumerate().skip(share * HEADERS_PER_TASK).take(HEADERS_PER_TASK) {
            match header_if_session(path) {
                Ok(header) => locked(&found).extend(header.filter(&is_wanted).map(|header| (at, header))),
                Err(error) => *locked(&all) = Err(error),
            }
        }
    });
    let mut found = into_inner(found);
    found.sort_unstable_by_key(|(at, _)| *at);
    (found, into_inner(all))
}

fn is_included(header: &Header, filter: Option<&CwdFilter<'_>>) -> bool {
    filter.is_none_or(|filter| filter.includes(header.cwd.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::paths::tests::Fixed;
    use std::fs;

    #[test]
    fn one_bad_file_hides_no_session() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name).to_str().expect("text").to_owned();
        fs::create_dir(at("dir.jsonl")).expect("made");
        fs::write(at("junk.jsonl"), "junk").expect("written");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/nowhere/at/all", at("dangling.jsonl")).expect("linked");
        let long = format!("{{\"type\":\"session\",\"x\":\"{}\",\"id\":\"s\",\"cwd\":\"/c\"}}\n", "x".repeat(3 << 20));
        fs::write(at("long.jsonl"), long).expect("written");
        let dir = dir.path().to_str().expect("text");
        assert_eq!(most_recent(dir, None), Some(at("long.jsonl")));
        assert_eq!(by_id(dir, b"s", None), Some(at("long.jsonl")));
        let elsewhere = CwdFilter { cwd: "/d", process: &Fixed };
        assert_eq!(most_recent(dir, Some(&elsewhere)), None);
    }

    /// Regression: a file that no descriptor was left for was taken for none with the id.
    #[cfg(unix)]
    #[test]
    fn a_search_for_an_id_fails_if_no_descriptor_is_left() {
        use crate::io::fs::faults::{with_first, InjectedFault};
        use crate::io::fs::FsCall;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, "{\"type\":\"session\",\"id\":\"s1\"}\n").expect("written");
        let scope = ListScope::dir(dir.path().to_str().expect("text").to_owned(), None);
        let find = || by_id_prefix(&scope, b"s", &Fixed).map(|found| found.len());
        assert_eq!(find().expect("found"), 1);
        let (found, _) = with_first(FsCall::Open, InjectedFault::Once(libc::EMFILE), find);
        assert_eq!(found.expect_err("no descriptor").path(), path.to_str());
        let (found, _) = with_first(FsCall::Open, InjectedFault::Once(libc::EACCES), find);
        assert_eq!(found.expect("others are found"), 0);
    }
}
