//! Finding sessions: the newest, or by their ids. Of each file only the header is read.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::scope::ListScope;
use crate::base::error::Result;
use crate::base::paths::{default_session_dir, is_same_path, join, resolve, Process, MAX_PATH};
use crate::base::threads::{into_inner, locked, on_threads};
use crate::base::wtf8::to_string_lossy;
use crate::format::header::Header;
use crate::io::open::{self, Access};
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

/// The header of a file. One that cannot be read, or is very large without a header, is not a session.
fn header_if_session(path: &Path) -> Option<Header> {
    header_among_others(open::regular(path, Access::Read).ok()?).ok().flatten()
}

/// The most recently modified session file of a directory. As in pi, what cannot be read has no sessions, be it a file, a dangling link,
/// or the directory itself.
pub fn most_recent(dir: &str, filter: Option<&CwdFilter<'_>>) -> Option<String> {
    let files = ListScope::dir(dir.to_owned(), None).find("").ok()?;
    let mut files: Vec<_> =
        files.into_iter().filter_map(|file| Some((file.fingerprint?.modified_ms(), file.path))).collect();
    // Files with the same time stay in name order.
    files.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    let is_one = |path: &str| header_if_session(Path::new(path)).is_some_and(|header| is_included(&header, filter));
    files.into_iter().map(|(_, path)| path).find(|path| is_one(path))
}

/// The session file of a directory whose header has exactly this id, the first in name order. What cannot be read has no sessions, as for
/// [`most_recent`].
pub fn by_id(dir: &str, id: &[u8], filter: Option<&CwdFilter<'_>>) -> Option<String> {
    let names = session_files(dir).unwrap_or_default();
    let paths: Vec<_> = names.iter().map(|name| PathBuf::from(join(dir, name))).collect();
    let found = with_headers(&paths, |header| header.id == id);
    let (at, _) = found.into_iter().find(|(_, header)| is_included(header, filter))?;
    names.get(at).map(|name| join(dir, name))
}

/// The sessions of a scope whose header has exactly this id or, if none has, those whose id begins with it; in the order of
/// their paths. `cwd` is what a relative path starts from. An error if no file descriptor is left: an answer would be wrong.
pub fn by_id_prefix(scope: &ListScope, prefix: &[u8], cwd: &str, process: &dyn Process) -> Result<Vec<FoundSession>> {
    let files = scope.find(cwd)?;
    let paths: Vec<_> = files.iter().map(|file| Path::new(&file.dir).join(&file.name)).collect();
    let found = with_headers(&paths, |header| header.id.starts_with(prefix)).into_iter().filter_map(|(at, header)| {
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
/// what a name or the catalog says of a file costs as much.
fn with_headers(paths: &[PathBuf], is_wanted: impl Fn(&Header) -> bool + Sync) -> Vec<(usize, Header)> {
    let found = Mutex::new(Vec::new());
    on_threads(paths.len().div_ceil(HEADERS_PER_TASK), |_: &mut (), share| {
        for (at, path) in paths.iter().enumerate().skip(share * HEADERS_PER_TASK).take(HEADERS_PER_TASK) {
            if let Some(header) = header_if_session(path).filter(&is_wanted) {
                locked(&found).push((at, header));
            }
        }
    });
    let mut found = into_inner(found);
    found.sort_unstable_by_key(|(at, _)| *at);
    found
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
}
