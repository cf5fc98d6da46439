//! Finds sessions: the newest, or by id. Only the header of each file is read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use super::scope::{Candidate, ListScope};
use super::subagents::subagent_files;
use crate::base::error::{Error, Result};
use crate::base::paths::{default_session_dir, is_same_path, resolve, Process};
use crate::base::threads::{into_inner, locked, on_threads};
use crate::format::header::Header;
use crate::io::open::{self, is_exhausted, Access};
use crate::summary::header_scan::header_among_others;

/// How many headers a thread reads at a time. With more than one, threads ask for the next files less often.
const HEADERS_PER_TASK: usize = 16;

/// A session that was found by its id.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundSession {
    /// The path of its file.
    pub path: String,
    /// WTF-8.
    pub id: Vec<u8>,
    /// The working directory; empty if the header has none.
    pub cwd: Vec<u8>,
}

/// The working directory by which the sessions in `dir` are filtered. A given directory that is not the default one may
/// also contain sessions of other working directories.
pub fn lookup_filter(cwd: &str, dir: &str, is_given: bool, process: &dyn Process) -> Result<Option<String>> {
    let default = default_session_dir(cwd, None, process)?;
    match is_given && !is_same_path(dir, &default, process)? {
        true => resolve(cwd, process).map(Some),
        false => Ok(None),
    }
}

/// The header of a file. None if the file cannot be read, or if it is very large without a header. Fails if no file
/// descriptor is left.
fn header_if_session(path: &Path) -> Result<Option<Header>> {
    match open::regular(path, Access::Read) {
        Err(error) if is_exhausted(&error) => Err(Error::io("open", &path.to_string_lossy(), error)),
        file => Ok(file.and_then(header_among_others).ok().flatten()),
    }
}

/// The session file of a scope that was modified last. This is the session with the newest activity, because calls that
/// add nothing to the conversation keep the time: a repair and a redaction (`Rewrite::keeps_time`), `move` and
/// `set_parent_session`. `pi-sync pull` sets the time of the last stored message, and `pi-sessions rename` restores the
/// time. A program that opens an old file migrates it and sets the time to now, as pi does.
///
/// As in pi, a file, a dangling link or a directory that cannot be read has no sessions.
pub fn most_recent(scope: &ListScope, process: &dyn Process) -> Option<String> {
    let files = scope.find("").ok()?;
    let mut files: Vec<_> =
        files.into_iter().filter_map(|file| Some((file.fingerprint?.modified_ms(), file.path))).collect();
    // Files with the same time stay sorted by name.
    files.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    let is_one = |path: &str| {
        let header = header_if_session(Path::new(path)).ok().flatten();
        header.is_some_and(|header| is_included(&header, scope, process))
    };
    files.into_iter().map(|(_, path)| path).find(|path| is_one(path))
}

/// The session file of a scope whose header has exactly this id; the first by path. None if no readable file has it.
/// Fails if none was found and no file descriptor was left for a file.
pub fn by_id(scope: &ListScope, id: &[u8], process: &dyn Process) -> Result<Option<String>> {
    let (found, all) = find(scope, process, |header| header.id == id)?;
    match found.into_iter().next() {
        Some(session) => Ok(Some(session.path)),
        None => all.map(|()| None),
    }
}

/// The sessions of a scope (and of their subagents, if wanted) with exactly this id in the header, sorted by path. If
/// there is none, the sessions whose id begins with it. A file that cannot be read is omitted. Fails if no file
/// descriptor is left, because the result would be wrong.
pub fn by_id_prefix(
    scope: &ListScope,
    prefix: &[u8],
    with_subagents: bool,
    process: &dyn Process,
) -> Result<Vec<FoundSession>> {
    let is_wanted = |header: &Header| header.id.starts_with(prefix);
    let (mut found, all) = find(scope, process, is_wanted)?;
    all?;
    if with_subagents {
        found.append(&mut of_subagents(scope, process, is_wanted)?);
        found.sort_by(|left, right| left.path.cmp(&right.path));
    }
    if found.iter().any(|session| session.id == prefix) {
        found.retain(|session| session.id == prefix);
    }
    Ok(found)
}

/// The sessions of a scope whose header is wanted, sorted by path. The error is set if no file descriptor was left for
/// a file.
fn find(
    scope: &ListScope,
    process: &dyn Process,
    is_wanted: impl Fn(&Header) -> bool + Sync,
) -> Result<(Vec<FoundSession>, Result<()>)> {
    let (files, _) = scope.find_names("", |_| {})?;
    let (found, all) = with_headers(&files, is_wanted);
    let found = found.into_iter().map(found_session);
    let mut found: Vec<_> = found.filter(|session| scope.includes(&session.cwd, process)).collect();
    found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok((found, all))
}

/// The sessions of subagents whose header is wanted. Their owner decides whether they belong to the scope, if the
/// owner's file exists.
fn of_subagents(
    scope: &ListScope,
    process: &dyn Process,
    is_wanted: impl Fn(&Header) -> bool + Sync,
) -> Result<Vec<FoundSession>> {
    let (sessions, dirs) = scope.find_names("", |_| {})?;
    let (files, owners): (Vec<_>, Vec<_>) = subagent_files(&sessions, &dirs, "", &mut Vec::new())?.into_iter().unzip();
    let owners: HashMap<_, _> = files.iter().map(|file| file.path.as_str()).zip(owners).collect();
    let (mut found, all) = with_headers(&files, is_wanted);
    all?;
    if scope.is_filtered() {
        let mut included = HashMap::new();
        let mut kept = Vec::new();
        for (path, header) in found {
            let is_kept = match owners.get(path.as_str()).copied().flatten() {
                None => is_included(&header, scope, process),
                Some(owner) => match included.get(&owner) {
                    Some(known) => *known,
                    None => {
                        let session =
                            sessions.get(owner).map_or(Ok(None), |owner| header_if_session(Path::new(&owner.path)))?;
                        let is_kept = is_included(session.as_ref().unwrap_or(&header), scope, process);
                        included.insert(owner, is_kept);
                        is_kept
                    }
                },
            };
            kept.extend(is_kept.then_some((path, header)));
        }
        found = kept;
    }
    Ok(found.into_iter().map(found_session).collect())
}

fn found_session((path, header): (String, Header)) -> FoundSession {
    FoundSession { path, id: header.id, cwd: header.cwd.unwrap_or_default() }
}

/// The paths of the files whose header is wanted, and these headers. They are read on several threads, because a check
/// of a name or of the catalog would cost as much as reading a header. The error is set if no file descriptor was left
/// for a file.
fn with_headers(
    files: &[Candidate],
    is_wanted: impl Fn(&Header) -> bool + Sync,
) -> (Vec<(String, Header)>, Result<()>) {
    let (found, all) = (Mutex::new(Vec::new()), Mutex::new(Ok(())));
    on_threads(files.len().div_ceil(HEADERS_PER_TASK), |_: &mut (), share| {
        for file in files.iter().skip(share * HEADERS_PER_TASK).take(HEADERS_PER_TASK) {
            match header_if_session(Path::new(&file.path)) {
                Ok(header) => {
                    locked(&found).extend(header.filter(&is_wanted).map(|header| (file.path.clone(), header)));
                }
                Err(error) => *locked(&all) = Err(error),
            }
        }
    });
    (into_inner(found), into_inner(all))
}

fn is_included(header: &Header, scope: &ListScope, process: &dyn Process) -> bool {
    scope.includes(header.cwd.as_deref().unwrap_or_default(), process)
}

#[cfg(test)]
mod tests;
