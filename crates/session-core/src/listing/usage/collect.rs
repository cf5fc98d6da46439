//! Collects the usage of many sessions: from the catalog, or from their files.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use super::add_up::{owners, sort_sessions, with_owners};
use super::named_subagents::{self, id_in};
use super::report::{LeftOutFile, UsageSession};
use crate::base::error::{Error, ErrorCode, Result};
use crate::base::memory::insert_into;
use crate::base::paths::{self, resolve_from, Process};
use crate::base::threads::{into_inner, locked};
use crate::catalog::location::CatalogLocation;
use crate::index::verify::Survey;
use crate::io::fs;
use crate::io::open::{self, Access};
use crate::io::session_files::{session_files, ENDING};
use crate::listing::candidates::{read_fingerprints, Candidate};
use crate::listing::read_all::read_all;
use crate::listing::scope::ListScope;
use crate::listing::subagents::subagent_files;
use crate::summary::line_scanner::{FileLines, KeptTexts, ScannedLine};
use crate::summary::session_summary::{title_of, ListedSession};
use crate::summary::usage::call::short_text;
use crate::summary::usage::session_usage::LargeEntry;

/// The sessions that are added up.
pub enum UsageSource {
    /// The sessions of a list, and the sessions of their subagents.
    Sessions(ListScope),
    /// One file.
    File(String),
}

/// The collected sessions. They include sessions of subagents, each with the path of its owner.
#[derive(Debug, Default)]
pub struct Collected {
    /// The sessions, the oldest first.
    pub sessions: Vec<UsageSession>,
    /// The files that are not among them, sorted by path.
    pub left_out: Vec<LeftOutFile>,
}

/// The request for a collection.
pub struct Collection<'a> {
    /// The sessions.
    pub source: &'a UsageSource,
    /// The process's state: the working directory, and how paths in headers are resolved.
    pub process: &'a dyn Process,
    /// The location of the catalog, which caches the results. With None every file is read.
    pub location: Option<&'a CatalogLocation>,
    /// How many of the largest entries of each session are kept. With more than 100 the catalog is not used, because it
    /// keeps no more.
    pub largest: usize,
    /// Set when the sums are no longer needed.
    pub cancelled: &'a AtomicBool,
    /// Called with the number of files that were read, and the number of all files.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Collection<'_> {
    /// Collects the sessions. None if it was cancelled. Fails if no file descriptor is left, if there is no working
    /// directory, or if the one file cannot be read or is not a session.
    pub fn run(&self) -> Result<Option<Collected>> {
        let cwd = &self.process.cwd()?;
        let mut reading =
            Reading { collection: self, cwd, done: 0, unreadable: Vec::new(), collected: Collected::default() };
        match self.source {
            UsageSource::Sessions(scope) => {
                let (files, dirs) = scope.find_or(cwd, |error| reading.unreadable.push(error))?;
                reading.read(files, &dirs, self.location)?;
            }
            UsageSource::File(path) => reading.read_one(path)?,
        }
        let Reading { unreadable, collected: Collected { mut sessions, mut left_out }, .. } = reading;
        if self.cancelled.load(Ordering::Relaxed) {
            return Ok(None);
        }
        sort_sessions(&mut sessions);
        named_subagents::link(&mut sessions, cwd)?;
        let owners = owners(&sessions);
        let mut is_taken = Vec::with_capacity(sessions.len());
        for at in 0..sessions.len() {
            is_taken.push(match self.source {
                // The filter is applied to the owner, because a subagent's session often has a working directory of its
                // own.
                UsageSource::Sessions(scope) => with_owners(&owners, at)
                    .last()
                    .and_then(|root| sessions.get(root))
                    .is_some_and(|root| scope.includes(&root.cwd, self.process)),
                UsageSource::File(path) => {
                    with_owners(&owners, at).any(|at| sessions.get(at).is_some_and(|session| session.path == *path))
                }
            });
        }
        let mut is_taken = is_taken.into_iter();
        sessions.retain(|_| is_taken.next().unwrap_or_default());
        if let UsageSource::File(path) = self.source {
            // A file that is added up alone has no owner.
            sessions.iter_mut().filter(|session| session.path == *path).for_each(|session| session.owner = None);
        }
        left_out.extend(unreadable.into_iter().map(LeftOutFile::from));
        left_out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Some(Collected { sessions, left_out }))
    }
}

/// The results so far.
struct Reading<'a> {
    collection: &'a Collection<'a>,
    cwd: &'a str,
    /// The number of files that were read.
    done: usize,
    unreadable: Vec<Error>,
    collected: Collected,
}

impl Reading<'_> {
    /// Reads files and the sessions of their subagents in the folders below them. `dirs` are directories of which
    /// `files` contains every session file.
    fn read(&mut self, mut files: Vec<Candidate>, dirs: &[String], location: Option<&CatalogLocation>) -> Result<()> {
        let Collection { largest, cancelled, progress, .. } = *self.collection;
        let (subagents, owners): (Vec<Candidate>, Vec<Option<usize>>) =
            subagent_files(&files, dirs, self.cwd, &mut self.unreadable)?.into_iter().unzip();
        let owned = files.len();
        files.extend(subagents);
        let total = self.done + files.len();
        let read = Mutex::new((self.done, files.iter().map(|_| None).collect::<Vec<Option<ListedSession>>>()));
        let each = |at: usize, listed: Option<ListedSession>| {
            // Counted and reported under one lock, so that progress never goes backwards.
            let (count, places) = &mut *locked(&read);
            if let Some(place) = places.get_mut(at) {
                *place = listed;
            }
            *count += 1;
            progress(*count, total);
        };
        read_all(&files, location, Some(largest), cancelled, &each)?;
        self.done = total;
        let (_, read) = into_inner(read);
        let is_read: Vec<bool> = read.iter().take(owned).map(Option::is_some).collect();
        for ((at, file), listed) in files.iter().enumerate().zip(read) {
            if cancelled.load(Ordering::Relaxed) {
                return Ok(());
            }
            let owner = at.checked_sub(owned).and_then(|subagent| owners.get(subagent).copied().flatten());
            let Some(listed) = listed else {
                self.collected.left_out.extend(left_out(file, at >= owned));
                continue;
            };
            // If the owner could not be read, the subagent's session counts as a session of its own.
            let owner = owner.filter(|owner| is_read.get(*owner) == Some(&true)).and_then(|owner| files.get(owner));
            let owner = owner.map(|owner| owner.path.clone());
            self.collected.sessions.push(UsageSession { owner, ..session(file.path.clone(), listed) });
        }
        Ok(())
    }

    /// Reads one file, and the sessions beside it that tool results name. The catalog is not used, because a list with
    /// only this file would treat the rows of the directory's other files as rows of deleted files.
    fn read_one(&mut self, path: &str) -> Result<()> {
        let file = candidate(path, self.cwd);
        let dir = file.dir.clone();
        let mut known = HashSet::from([file.name.clone()]);
        self.read(vec![file.clone()], &[], None)?;
        let is_cancelled = || self.collection.cancelled.load(Ordering::Relaxed);
        if !is_cancelled() && !self.collected.sessions.iter().any(|session| session.path == path) {
            return Err(why(&file));
        }
        loop {
            let mut named = HashSet::new();
            for one in self.collected.sessions.iter().flat_map(|session| &session.usage.named_sessions) {
                insert_into(&mut named, file_name_of(&one.name))?;
            }
            if named.is_empty() || self.collection.cancelled.load(Ordering::Relaxed) {
                return Ok(());
            }
            let is_named = |name: &str| {
                let id = id_in(name).or(name.strip_suffix(ENDING));
                named.contains(name.as_bytes()) || id.is_some_and(|id| named.contains(id.as_bytes()))
            };
            let names = session_files(&dir).unwrap_or_default().into_iter();
            let names: Vec<String> = names.filter(|name| is_named(name) && !known.contains(name)).collect();
            if names.is_empty() {
                return Ok(());
            }
            known.extend(names.iter().cloned());
            let files = names.iter().map(|name| candidate(&paths::join(&dir, name), self.cwd)).collect();
            self.read(files, &[], None)?;
        }
    }
}

/// The last name of a path. An id is returned unchanged.
fn file_name_of(name: &[u8]) -> &[u8] {
    std::str::from_utf8(name).map_or(name, |name| paths::file_name(name).as_bytes())
}

/// The reason why a file is not added up. None if nothing is missing: it is a directory, or below a session a file of
/// another kind.
fn left_out(file: &Candidate, is_below: bool) -> Option<LeftOutFile> {
    if fs::metadata(Path::new(&file.path)).is_ok_and(|meta| meta.is_dir()) {
        return None;
    }
    let why = why(file);
    let is_invalid = why.code() == ErrorCode::SessionInvalid;
    let other_format = || Survey::of_beginning(Path::new(&file.path)).ok().and_then(|survey| survey.other_format);
    (!(is_below && is_invalid))
        .then(|| LeftOutFile { other_format: is_invalid.then(other_format).flatten(), ..why.into() })
}

fn candidate(path: &str, cwd: &str) -> Candidate {
    let file = resolve_from(cwd, path);
    let (dir, name) = (paths::parent(&file), paths::file_name(&file).to_owned());
    let mut candidate = Candidate { path: path.to_owned(), dir, name, fingerprint: None };
    read_fingerprints(slice::from_mut(&mut candidate));
    candidate
}

/// The error for which a file is not a session.
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
    UsageSession {
        path,
        id: summary.id,
        cwd: summary.cwd,
        title,
        created,
        usage,
        owner: None,
        in_subagents: HashMap::new(),
    }
}

/// The id of a large entry, WTF-8. None if its line has no id, or has changed.
pub fn large_entry_id(session: &UsageSession, entry: &LargeEntry) -> Option<Vec<u8>> {
    let file = open::regular(Path::new(&session.path), Access::Read).ok()?;
    let from = entry.offset;
    let mut line = ScannedLine::default();
    FileLines::new(&file, from, from + entry.bytes, &[], Box::default()).next_line(KeptTexts::None, &mut line).ok()?;
    short_text(&line.id).filter(|_| line.is_object).map(|id| id.into_owned())
}

#[cfg(test)]
mod tests;
