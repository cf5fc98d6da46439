//! Collecting what the calls of many sessions used: from the catalog, or from their files.

use std::io::ErrorKind;
use std::path::Path;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use super::add_up::sort_sessions;
use super::report::{LeftOutFile, UsageSession};
use super::subagents::subagent_files;
use crate::base::error::{Error, ErrorCode, Result};
use crate::base::paths::{self, resolve_from, Process};
use crate::base::threads::{into_inner, locked};
use crate::catalog::location::CatalogLocation;
use crate::io::fs;
use crate::io::open::{self, Access};
use crate::listing::candidates::{read_fingerprints, Candidate};
use crate::listing::read_all::read_all;
use crate::listing::scope::ListScope;
use crate::summary::line_scanner::{FileLines, KeptTexts, ScannedLine};
use crate::summary::session_summary::{title_of, ListedSession};
use crate::summary::usage::call::short_text;
use crate::summary::usage::session_usage::LargeEntry;

/// Which sessions are added up.
pub enum UsageSource {
    /// The sessions of a list, and those of their subagents.
    Sessions(ListScope),
    /// One file.
    File(String),
}

/// What was collected. The sessions of subagents are among the sessions, each with that of its owner.
#[derive(Debug, Default)]
pub struct Collected {
    /// The oldest first.
    pub sessions: Vec<UsageSession>,
    /// By their paths.
    pub left_out: Vec<LeftOutFile>,
}

/// Where and how sessions are collected.
pub struct Collection<'a> {
    /// The sessions.
    pub source: &'a UsageSource,
    /// What says what the working directory is, and how a path in a header is to be read.
    pub process: &'a dyn Process,
    /// Where the catalog is, which keeps what was read; None reads every file.
    pub location: Option<&'a CatalogLocation>,
    /// How many of the largest entries of each session are kept. With more than 100 the catalog is not used, which has no more.
    pub largest: usize,
    /// Set when the sums are no longer needed.
    pub cancelled: &'a AtomicBool,
    /// Called with how many files were read, and how many there are.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Collection<'_> {
    /// Collects. None if it was cancelled. An error if no file descriptor is left, if there is no working directory, or if the one file
    /// cannot be read or is not a session.
    pub fn run(&self) -> Result<Option<Collected>> {
        let mut unreadable = Vec::new();
        let cwd = &self.process.cwd()?;
        let (mut files, location) = match self.source {
            UsageSource::Sessions(scope) => (scope.find_or(cwd, |error| unreadable.push(error))?, self.location),
            // A list of its directory would take the rows of the other files for those of deleted ones.
            UsageSource::File(path) => (vec![candidate(path, cwd)], None),
        };
        let subagents = subagent_files(&files, cwd, &mut unreadable)?;
        let owned = files.len();
        let (subagents, owners): (Vec<Candidate>, Vec<usize>) = subagents.into_iter().unzip();
        files.extend(subagents);
        let read = Mutex::new((0, files.iter().map(|_| None).collect::<Vec<Option<ListedSession>>>()));
        let each = |at: usize, listed: Option<ListedSession>| {
            // Counted and told in one step, so that progress never goes backwards.
            let (count, places) = &mut *locked(&read);
            if let Some(place) = places.get_mut(at) {
                *place = listed;
            }
            *count += 1;
            (self.progress)(*count, files.len());
        };
        read_all(&files, location, Some(self.largest), self.cancelled, &each)?;
        if self.cancelled.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (_, read) = into_inner(read);
        let takes = |listed: &ListedSession| match self.source {
            UsageSource::Sessions(scope) => scope.includes(&listed.summary.cwd, self.process),
            UsageSource::File(_) => true,
        };
        // Of each session: whether it is added up; None if it cannot be read.
        let is_taken: Vec<Option<bool>> = read.iter().take(owned).map(|listed| listed.as_ref().map(takes)).collect();
        let unreadable = unreadable.into_iter().map(LeftOutFile::from);
        let mut collected = Collected { left_out: unreadable.collect(), ..Collected::default() };
        for ((at, file), listed) in files.iter().enumerate().zip(read) {
            let owner = at.checked_sub(owned).and_then(|subagent| owners.get(subagent));
            let Some(listed) = listed else {
                collected.left_out.extend(left_out(file, owner.is_some()));
                continue;
            };
            // Without its owner a subagent's session is one by itself.
            let owner = owner.and_then(|owner| Some((files.get(*owner)?, is_taken.get(*owner).copied()??)));
            if owner.map_or_else(|| takes(&listed), |(_, is_taken)| is_taken) {
                let owner = owner.map(|(owner, _)| owner.path.clone());
                collected.sessions.push(UsageSession { owner, ..session(file.path.clone(), listed) });
            }
        }
        if let (UsageSource::File(_), Some(file), Some(None)) = (self.source, files.first(), is_taken.first()) {
            return Err(why(file));
        }
        sort_sessions(&mut collected.sessions);
        collected.left_out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Some(collected))
    }
}

/// Why a file is not added up; None if it is nothing that is missed: a directory, or below a session a file of another kind.
fn left_out(file: &Candidate, is_below: bool) -> Option<LeftOutFile> {
    if fs::metadata(Path::new(&file.path)).is_ok_and(|meta| meta.is_dir()) {
        return None;
    }
    let why = why(file);
    let is_other = is_below && why.code() == ErrorCode::SessionInvalid;
    (!is_other).then(|| why.into())
}

fn candidate(path: &str, cwd: &str) -> Candidate {
    let file = resolve_from(cwd, path);
    let (dir, name) = (paths::parent(&file), paths::file_name(&file).to_owned());
    let mut candidate = Candidate { path: path.to_owned(), dir, name, fingerprint: None };
    read_fingerprints(slice::from_mut(&mut candidate));
    candidate
}

/// Why a file gave no session.
fn why(file: &Candidate) -> Error {
    match open::regular(Path::new(&file.path), Access::Read) {
        Err(error) if error.raw_os_error().is_none() && error.kind() == ErrorKind::InvalidInput => {
            Error::of_file(ErrorCode::SessionInvalid, "Not a regular file", &file.path)
        }
        Err(error) => Error::io("open", &file.path, error),
        Ok(_) => Error::not_a_session(&file.path),
    }
}

fn session(path: String, listed: ListedSession) -> UsageSession {
    let created = listed.created().unwrap_or(f64::NAN);
    let ListedSession { summary, usage, .. } = listed;
    let title = summary.name.unwrap_or_else(|| title_of(&summary.first_message.unwrap_or_default()));
    UsageSession { path, id: summary.id, cwd: summary.cwd, title, created, usage, owner: None }
}

/// The id of a large entry, WTF-8; None if its line has none, or has changed.
pub fn large_entry_id(session: &UsageSession, entry: &LargeEntry) -> Option<Vec<u8>> {
    let file = open::regular(Path::new(&session.path), Access::Read).ok()?;
    let from = entry.offset;
    let mut line = ScannedLine::default();
    FileLines::new(&file, from, from + entry.bytes, &[], Box::default()).next_line(KeptTexts::None, &mut line).ok()?;
    short_text(&line.id).filter(|_| line.is_object).map(|id| id.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::paths::tests::Fixed;

    /// Regression: the caller had to leave out the sessions of other working directories.
    #[test]
    fn the_sessions_of_a_working_directory_are_those_of_its_list() {
        let dir = tempfile::tempdir().expect("a directory");
        for cwd in ["here", "there"] {
            let header = format!(r#"{{"type":"session","version":3,"id":"{cwd}","cwd":"/{cwd}"}}"#);
            std::fs::write(dir.path().join(format!("{cwd}.jsonl")), header + "\n").expect("written");
        }
        let ids = |cwd: Option<&str>| {
            let dir = dir.path().to_str().expect("text").to_owned();
            let collection = Collection {
                source: &UsageSource::Sessions(ListScope::dir(dir, cwd.map(str::to_owned))),
                process: &Fixed,
                location: None,
                largest: 0,
                cancelled: &AtomicBool::new(false),
                progress: &|_, _| {},
            };
            let collected = collection.run().expect("read").expect("not cancelled");
            collected.sessions.into_iter().map(|session| session.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(None), [b"here".to_vec(), b"there".to_vec()]);
        assert_eq!(ids(Some("/there")), [b"there".to_vec()]);
    }
}
