//! A list of sessions from its beginning: files are found, sorted and read, and the caller gets an event for each.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::candidates::{dirs_in, in_all_dirs, in_dir, Candidate};
use super::find_session::CwdFilter;
use super::locale_sort::{sort, Order, SortKey};
use super::read_all::read_all;
use crate::base::error::{Error, Result};
use crate::base::paths::{join, Process};
use crate::base::unparsed_dates::UnparsedDates;
use crate::catalog::location::CatalogLocation;
use crate::io::open::is_exhausted;
use crate::io::session_files::session_files;
use crate::summary::session_summary::ListedSession;

/// Which sessions are listed.
#[derive(Debug, Clone)]
pub struct ListScope {
    dir: String,
    /// Only sessions of this working directory.
    filter: Option<String>,
    /// The directory holds directories of sessions.
    is_all: bool,
}

impl ListScope {
    /// The sessions in one directory.
    pub fn dir(dir: String, filter: Option<String>) -> Self {
        Self { dir, filter, is_all: false }
    }

    /// The sessions in every directory under the sessions directory.
    pub fn all(sessions_dir: String) -> Self {
        Self { dir: sessions_dir, filter: None, is_all: true }
    }

    /// The files that may be sessions; none if the directory cannot be read. An error if no file descriptor is left. `cwd` is
    /// what a relative path starts from.
    pub fn find(&self, cwd: &str) -> Result<Vec<Candidate>> {
        let found = if self.is_all { in_all_dirs(&self.dir, cwd) } else { in_dir(&self.dir, cwd) };
        match found {
            Err(error) if is_exhausted(&error) => Err(Error::io("scandir", &self.dir, error)),
            found => Ok(found.unwrap_or_default()),
        }
    }

    /// The directories that are there and cannot be read, and why. [`ListScope::find`] skips them.
    pub fn unreadable_dirs(&self) -> Vec<(String, io::Error)> {
        let dirs = if self.is_all { dirs_in(&self.dir) } else { Ok(vec![self.dir.clone()]) };
        let mut unreadable = match dirs {
            Ok(dirs) => {
                dirs.into_iter().filter_map(|dir| session_files(&dir).err().map(|error| (dir, error))).collect()
            }
            Err(error) => vec![(self.dir.clone(), error)],
        };
        unreadable.retain(|(_, error)| !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory));
        unreadable
    }

    /// Whether only sessions of one working directory are listed.
    pub fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether a session with this working directory is listed.
    pub fn includes(&self, cwd: &[u8], process: &dyn Process) -> bool {
        self.filter.as_deref().is_none_or(|filter| CwdFilter { cwd: filter, process }.includes(Some(cwd)))
    }

    /// When partial lists are published.
    pub fn partial_lists(&self) -> PartialLists {
        PartialLists { is_all: self.is_all, ..PartialLists::default() }
    }
}

/// When a list publishes what it has so far, as the reference does.
#[derive(Debug, Default)]
pub struct PartialLists {
    is_all: bool,
    loaded: usize,
    has_first: bool,
}

impl PartialLists {
    /// How many sessions come between two partial lists of one directory, and of all.
    const EVERY: usize = 10;
    const EVERY_OF_ALL: usize = 100;

    /// Counts the file at this position. Returns whether a partial list is published after it.
    pub fn add(&mut self, at: usize, total: usize) -> bool {
        self.loaded += 1;
        self.has_first |= at == 0;
        let is_last = self.loaded == total;
        match self.is_all {
            false => self.loaded == 1 || self.loaded.is_multiple_of(Self::EVERY) || is_last,
            true => self.has_first && (at == 0 || self.loaded.is_multiple_of(Self::EVERY_OF_ALL) || is_last),
        }
    }

    /// How many files were counted.
    pub fn loaded(&self) -> usize {
        self.loaded
    }
}

/// A listed session.
#[derive(Debug)]
pub struct ListedFile {
    /// As the list names it.
    pub path: String,
    /// The same, made absolute.
    pub file: String,
    pub listed: ListedSession,
}

/// An event of a list.
#[derive(Debug)]
pub enum ListEvent {
    /// Names have to be sorted by JavaScript's `localeCompare`.
    Sort(SortRequest),
    /// How many files there are.
    Found(usize),
    /// Dates of the file at this position that only JavaScript can parse, a JSON array. They come before the file itself.
    Dates(usize, String),
    /// The file at this position was read; None if it is not a session.
    Read(usize, Option<Box<ListedFile>>),
}

/// Files to be sorted by JavaScript.
#[derive(Debug)]
pub struct SortRequest {
    pub keys: Vec<SortKey>,
    /// Their positions, in the order of the names' bytes.
    pub order: Vec<u32>,
    /// Takes the sorted positions.
    pub answer: Sender<Vec<u32>>,
}

/// Lists sessions.
pub fn list(
    scope: &ListScope,
    cwd: &str,
    location: Option<&CatalogLocation>,
    cancelled: &AtomicBool,
    send: &(dyn Fn(ListEvent) + Sync),
) -> Result<()> {
    let candidates = scope.find(cwd)?;
    let Some(order) = order_of(scope, &candidates, cancelled, send) else { return Ok(()) };
    send(ListEvent::Found(candidates.len()));
    if candidates.is_empty() {
        return Ok(());
    }
    let mut candidates: Vec<_> = candidates.into_iter().map(Some).collect();
    let files: Vec<Candidate> =
        order.into_iter().filter_map(|at| candidates.get_mut(at as usize).and_then(Option::take)).collect();
    let each = |at: usize, listed: Option<ListedSession>| {
        let read = listed.zip(files.get(at)).map(|(mut listed, file)| {
            batches(&std::mem::take(&mut listed.summary.unparsed_dates), |dates| send(ListEvent::Dates(at, dates)));
            Box::new(ListedFile { path: file.path.clone(), file: join(&file.dir, &file.name), listed })
        });
        send(ListEvent::Read(at, read));
    };
    read_all(&files, location, cancelled, &each).map(drop)
}

/// The files' positions in the order in which they are read. None if the list was cancelled.
fn order_of(
    scope: &ListScope,
    files: &[Candidate],
    cancelled: &AtomicBool,
    send: &(dyn Fn(ListEvent) + Sync),
) -> Option<Vec<u32>> {
    let time = |file: &Candidate| match scope.is_all {
        true => file.fingerprint.map_or(f64::NEG_INFINITY, |fingerprint| fingerprint.modified_ms()),
        false => 0.0,
    };
    let keys: Vec<_> = files.iter().map(|file| SortKey { time: time(file), name: file.name.clone() }).collect();
    match sort(&keys) {
        Order::Final(order) => Some(order),
        Order::ByBytes(order) => {
            let (answer, sorted) = channel();
            send(ListEvent::Sort(SortRequest { keys, order, answer }));
            received(&sorted, cancelled)
        }
    }
}

/// JavaScript's answer; None if it gives none.
pub fn received<T>(answer: &Receiver<T>, cancelled: &AtomicBool) -> Option<T> {
    loop {
        match answer.recv_timeout(Duration::from_millis(20)) {
            Ok(answer) => return Some(answer),
            Err(RecvTimeoutError::Timeout) if !cancelled.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    }
}

/// How many of a file's dates, and how many bytes of them, JavaScript parses at once: its thread has other work.
const DATES_AT_ONCE: usize = 64;
const DATE_BYTES_AT_ONCE: usize = 8 << 10;

/// Hands on dates as JSON arrays.
fn batches(dates: &UnparsedDates, mut send: impl FnMut(String)) {
    let (mut some, mut count) = (String::new(), 0);
    let mut send = |some: &mut String| send(format!("[{}]", std::mem::take(some)));
    for date in dates.iter() {
        if count == DATES_AT_ONCE || count > 0 && some.len() + date.len() > DATE_BYTES_AT_ONCE {
            send(&mut some);
            count = 0;
        }
        if count > 0 {
            some.push(',');
        }
        some.push_str(date);
        count += 1;
    }
    if count > 0 {
        send(&mut some);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: all unparsed dates of a file were asked for at once.
    #[test]
    fn unparsed_dates_of_a_file_are_asked_for_in_batches() {
        let mut dates = UnparsedDates::default();
        (0..1_000).for_each(|n| dates.add(&format!("\"Jan {n} 2025\"")));
        dates.add(&format!("\"{}\"", "x".repeat(3 * DATE_BYTES_AT_ONCE)));
        let (mut count, mut longest) = (0, 0);
        batches(&dates, |some| {
            let some: Vec<String> = serde_json::from_str(&some).expect("an array");
            count += some.len();
            longest = longest.max(some.len());
        });
        assert_eq!((count, longest), (1_001, DATES_AT_ONCE));
        batches(&UnparsedDates::default(), |_| panic!("there are none"));
    }

    #[test]
    fn partial_lists_come_as_in_the_reference() {
        let published = |scope: &ListScope, order: &[usize]| {
            let mut partial = scope.partial_lists();
            order.iter().map(|at| partial.add(*at, order.len())).collect::<Vec<_>>()
        };
        let one = ListScope::dir("/d".into(), None);
        let want: Vec<bool> = (1..=12).map(|loaded| matches!(loaded, 1 | 10 | 12)).collect();
        assert_eq!(published(&one, &(0..12).collect::<Vec<_>>()), want);
        // A list of all directories publishes nothing before the first file.
        let all = ListScope::all("/d".into());
        assert_eq!(published(&all, &[1, 2, 0, 3]), [false, false, true, true]);
    }
}
