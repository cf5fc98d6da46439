//! A whole list of sessions: finds, sorts and reads the files, and sends the caller an event for each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Mutex;
use std::time::Duration;

use super::candidates::Candidate;
use super::read_all::read_all;
use super::scope::ListScope;
use crate::base::error::Result;
use crate::base::paths::{join, StdProcess};
use crate::base::threads::{into_inner, locked};
use crate::catalog::location::CatalogLocation;
use crate::summary::session_summary::ListedSession;

/// When a list publishes a partial list: as pi does.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct PartialLists {
    is_all: bool,
    loaded: usize,
    has_first: bool,
}

impl PartialLists {
    /// The partial lists for a list of this scope.
    pub fn of(scope: &ListScope) -> Self {
        Self { is_all: scope.is_all(), ..Self::default() }
    }

    /// How many sessions are between two partial lists, of one directory and of all directories.
    const EVERY: usize = 10;
    const EVERY_OF_ALL: usize = 100;

    /// Counts the file at this index. Returns whether a partial list is published after it.
    pub fn add(&mut self, at: usize, total: usize) -> bool {
        self.loaded += 1;
        self.has_first |= at == 0;
        let is_last = self.loaded == total;
        match self.is_all {
            false => self.loaded == 1 || self.loaded.is_multiple_of(Self::EVERY) || is_last,
            true => self.has_first && (at == 0 || self.loaded.is_multiple_of(Self::EVERY_OF_ALL) || is_last),
        }
    }

    /// The number of files that were counted.
    pub fn loaded(&self) -> usize {
        self.loaded
    }
}

/// A listed session.
#[derive(Debug)]
pub struct ListedFile {
    /// The path: the scope's directory and the file's name.
    pub path: String,
    /// The absolute path.
    pub file: String,
    /// The name of the file.
    pub name: String,
    /// When the file changed, in ms since 1970, if the list sorts files by that, because its scope has several
    /// directories. Otherwise 0.
    pub file_time: f64,
    /// The index of the file in the order in which files were found. In one directory that is the order of the names'
    /// bytes.
    pub found_at: u32,
    /// The data of the session. Its `summary` contains the name and the times.
    pub listed: ListedSession,
}

/// An event of a list.
#[derive(Debug)]
pub enum ListEvent {
    /// The number of files.
    Found(usize),
    /// A date of the file at this index that only JavaScript can parse, as JSON. It is sent before the file itself.
    #[doc(hidden)]
    Date(usize, String),
    /// The file at this index was read; None if it is not a session.
    Read(usize, Option<Box<ListedFile>>),
}

/// The sessions of a scope. If the scope has several directories, the newest file is first; then they are sorted by
/// name, descending, in the order of the names' bytes. Files that are not sessions, or cannot be read, are omitted; a
/// directory that does not exist has none. A relative path starts from the working directory. Dates of messages that
/// are not ISO do not count as activity. Use [`list_events`] for long lists. `listing::usage::collect` collects the
/// usage of sessions.
///
/// `location` is the location of the catalog, which caches the data of files: `catalog_location(&StdProcess)` returns
/// the one that the addon uses too. With None every file is read.
///
/// # Errors
///
/// `System`: no file descriptor is left, or the scope is relative and the working directory does not exist any more.
pub fn list(scope: &ListScope, location: Option<&CatalogLocation>) -> Result<Vec<ListedFile>> {
    let files = Mutex::new(Vec::new());
    list_events(scope, &scope.start(&StdProcess)?, location, &AtomicBool::new(false), &|event| match event {
        ListEvent::Read(at, Some(file)) if scope.includes(&file.listed.summary.cwd, &StdProcess) => {
            locked(&files).push((at, *file));
        }
        _ => {}
    })?;
    let mut files = into_inner(files);
    files.sort_unstable_by_key(|(at, _)| *at);
    Ok(files.into_iter().map(|(_, file)| file).collect())
}

/// Lists the sessions of a scope and sends events: [`ListEvent::Found`], then [`ListEvent::Read`] for each file, in any
/// order and from several threads at once. An index is the index in the sorted list. Sessions of other working
/// directories than the scope's are sent too; [`ListScope::includes`] distinguishes them. Events that this
/// documentation does not name are for the addon: ignore them.
///
/// `cwd` must be the process's working directory as an absolute path; only a relative scope uses it. `location` is as
/// in [`list`]. If `cancelled` is set the list ends early, without an error. A directory that does not exist has no
/// files.
///
/// # Errors
///
/// `System`: no file descriptor is left.
pub fn list_events(
    scope: &ListScope,
    cwd: &str,
    location: Option<&CatalogLocation>,
    cancelled: &AtomicBool,
    send: &(dyn Fn(ListEvent) + Sync),
) -> Result<()> {
    let mut found: Vec<(u32, Candidate)> = (0..).zip(scope.find(cwd)?).collect();
    if found.is_empty() {
        // The catalog may still contain sessions that were here before.
        read_all(&[], location, None, cancelled, &|_, _| {})?;
    }
    found.sort_by(|(_, left), (_, right)| {
        file_time(scope, right).total_cmp(&file_time(scope, left)).then_with(|| right.name.cmp(&left.name))
    });
    let (places, files): (Vec<u32>, Vec<Candidate>) = found.into_iter().unzip();
    send(ListEvent::Found(files.len()));
    if files.is_empty() {
        return Ok(());
    }
    let each = |at: usize, listed: Option<ListedSession>| {
        let read = listed.zip(files.get(at)).zip(places.get(at)).map(|((mut listed, file), found_at)| {
            let dates = std::mem::take(&mut listed.summary.unparsed_dates);
            dates.into_iter().for_each(|date| send(ListEvent::Date(at, date)));
            Box::new(ListedFile {
                path: file.path.clone(),
                file: join(&file.dir, &file.name),
                name: file.name.clone(),
                file_time: file_time(scope, file),
                found_at: *found_at,
                listed,
            })
        });
        send(ListEvent::Read(at, read));
    };
    read_all(&files, location, None, cancelled, &each)
}

/// The time by which a list of several directories sorts a file, in ms; 0 in a list of one directory.
fn file_time(scope: &ListScope, file: &Candidate) -> f64 {
    match scope.is_all() {
        true => file.fingerprint.map_or(f64::NEG_INFINITY, |fingerprint| fingerprint.modified_ms()),
        false => 0.0,
    }
}

/// The answer of JavaScript. None if it does not answer, or if the list is cancelled.
#[doc(hidden)]
pub fn received<T>(answer: &Receiver<T>, cancelled: &AtomicBool) -> Option<T> {
    loop {
        match answer.recv_timeout(Duration::from_millis(20)) {
            Ok(answer) => return Some(answer),
            Err(RecvTimeoutError::Timeout) if !cancelled.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests;
