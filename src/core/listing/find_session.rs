//! Finding one session: the newest, or by its id. Of each file only the header is read.

use std::fs::DirEntry;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use crate::base::error::Result;
use crate::base::paths::{default_session_dir, is_same_path, join, resolve, Process};
use crate::base::threads::{into_inner, locked, on_threads};
use crate::base::wtf8::to_string_lossy;
use crate::format::header::Header;
use crate::io::fs;
use crate::io::session_files::{session_files, SessionFileName};
use crate::summary::header_scan::header_among_others;

/// The header of a file in a directory. A file that cannot be read, or is very large without a header, is not a session.
fn header_in_dir(file: &SessionFileName, dir: &str) -> Option<Header> {
    header_among_others(file.open(dir).ok()?).ok().flatten()
}

/// Selects sessions by the working directory in their header.
pub struct CwdFilter<'a> {
    pub cwd: &'a str,
    pub process: &'a dyn Process,
}

impl CwdFilter<'_> {
    /// Whether a header's working directory is this one. An absent, empty or invalid one is not.
    pub fn takes(&self, cwd: Option<&[u8]>) -> bool {
        let Some(cwd) = cwd.map(to_string_lossy).filter(|cwd| !cwd.is_empty()) else { return false };
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

/// How many files' times a thread reads at once.
const STATS_PER_TASK: usize = 64;

/// The session files among these entries, with their modification times.
fn modified_times(entries: &[DirEntry]) -> Vec<(f64, SessionFileName)> {
    let time_of = |entry: &DirEntry| {
        let named = SessionFileName::of(entry)?;
        // An entry's status needs no walk of the whole path, but does not follow links.
        let stat = if named.is_file { fs::stat_entry(entry).ok() } else { fs::stat_path(&entry.path()).ok()? };
        let stat = stat.filter(|stat| stat.is_file)?;
        Some((stat.fingerprint().modified_ms(), named))
    };
    let files = Mutex::new(Vec::with_capacity(entries.len()));
    on_threads(entries.len().div_ceil(STATS_PER_TASK), |_: &mut (), share| {
        let some: Vec<_> =
            entries.iter().skip(share * STATS_PER_TASK).take(STATS_PER_TASK).filter_map(time_of).collect();
        locked(&files).extend(some);
    });
    into_inner(files)
}

/// The most recently modified session file of a directory. Unreadable files and dangling links are skipped.
pub fn most_recent(dir: &str, filter: Option<&CwdFilter<'_>>) -> Option<String> {
    let entries = fs::list(Path::new(if dir.is_empty() { "." } else { dir })).ok()?;
    let mut files = modified_times(&entries);
    // Files with the same time in name order.
    files.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.name.cmp(&right.name)));
    let is_one = |named: &SessionFileName| header_in_dir(named, dir).is_some_and(|header| matches(&header, filter));
    files.iter().find(|(_, named)| is_one(named)).map(|(_, named)| join(dir, &named.name))
}

/// How many headers a thread reads at once.
const HEADERS_PER_TASK: usize = 16;

/// The session file of a directory whose header has exactly this id, the first in name order. Headers are read, on several
/// threads: checking what a name or the catalog says of a file costs as much.
pub fn by_id(dir: &str, id: &[u8], filter: Option<&CwdFilter<'_>>) -> Option<String> {
    let files = session_files(dir).unwrap_or_default();
    let mut rest = files.as_slice();
    loop {
        let (at, header) = first_with_id(dir, rest, id)?;
        if matches(&header, filter) {
            return rest.get(at).map(|file| join(dir, &file.name));
        }
        rest = rest.get(at + 1..).unwrap_or_default();
    }
}

/// The first of these files whose header has this id.
fn first_with_id(dir: &str, files: &[SessionFileName], id: &[u8]) -> Option<(usize, Header)> {
    let first = AtomicUsize::new(usize::MAX);
    let found = Mutex::new(None);
    on_threads(files.len().div_ceil(HEADERS_PER_TASK), |_: &mut (), share| {
        for (at, file) in files.iter().enumerate().skip(share * HEADERS_PER_TASK).take(HEADERS_PER_TASK) {
            if at > first.load(Ordering::Relaxed) {
                break;
            }
            if let Some(header) = header_in_dir(file, dir).filter(|header| header.id == id) {
                let mut found = locked(&found);
                if at < first.fetch_min(at, Ordering::Relaxed) {
                    *found = Some((at, header));
                }
                break;
            }
        }
    });
    into_inner(found)
}

fn matches(header: &Header, filter: Option<&CwdFilter<'_>>) -> bool {
    filter.is_none_or(|filter| filter.takes(header.cwd.as_deref()))
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
