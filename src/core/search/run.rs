//! A search over many sessions: newest first, on several threads, until there are enough hits.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::prefilter::Prefilter;
use super::query::{Query, SearchOptions};
use super::session_search::{Hit, SessionFile};
use crate::base::error::{Error, Result, WithCall};
use crate::base::paths::{join, Process};
use crate::base::threads::{locked, try_on_threads};
use crate::format::header::Header;
use crate::io::fs;
use crate::io::line_reader::{is_stopped, Positioned};
use crate::io::open::{self, is_exhausted, Access};
use crate::listing::candidates::Candidate;
use crate::listing::scope::ListScope;
use crate::summary::header_scan::header_among_others;
use crate::summary::session_summary::{read_on, title_of, SummaryProgress};

/// What a hit shows of its session; shared by all hits in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitSession {
    /// The file's path, as a list shows it.
    pub path: String,
    /// Its id, WTF-8.
    pub id: Vec<u8>,
    /// Its working directory, WTF-8; empty if its header has none.
    pub cwd: Vec<u8>,
    /// Its name, WTF-8.
    pub name: Option<Vec<u8>>,
    /// The beginning of its first message.
    pub title: Option<Vec<u8>>,
}

/// Takes the hits of a session. An error, for lack of memory, ends the search.
pub type EachSession<'a> = dyn Fn(&Arc<HitSession>, Vec<Hit>) -> io::Result<()> + Sync + 'a;

/// A search.
pub struct Search<'a> {
    /// The sessions that are searched.
    pub scope: &'a ListScope,
    /// What says what the working directory is, and how a path in a header is to be read.
    pub process: &'a (dyn Process + Sync),
    /// What is searched for.
    pub query: &'a Query,
    /// Which texts are searched, and how many hits are wanted.
    pub options: &'a SearchOptions,
    /// Set when the hits are no longer needed.
    pub cancelled: &'a AtomicBool,
    /// Called with how many files were searched, and how many there are whose status could be read: with 0 first, then once for each
    /// file. Calls do not overlap.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// Called with the hits of each session that has some, in their order. Calls do not overlap.
    pub each: &'a EachSession<'a>,
}

/// A session and its hits; None if it has none, or is not searched.
type SessionHits = Option<(Arc<HitSession>, Vec<Hit>)>;

impl Search<'_> {
    /// Searches the sessions, the newest file first; in a session the best match first, then the latest entry. It ends, without
    /// an error, when there are enough hits in all sessions together, or when it is cancelled. An error if no file descriptor is left for a file, or if reading one fails.
    pub fn run(&self) -> Result<()> {
        let filter = Prefilter::of(&self.query.words)?;
        let mut files = self.scope.find(&self.scope.start(self.process)?)?;
        files.retain(|file| file.fingerprint.is_some());
        let modified = |file: &Candidate| file.fingerprint.map(|fingerprint| fingerprint.modified);
        files.sort_by(|a, b| modified(b).cmp(&modified(a)).then_with(|| b.path.cmp(&a.path)));
        (self.progress)(0, files.len());
        // Set when there are enough hits, and when a thread failed.
        let over = AtomicBool::new(false);
        let emitter = Mutex::new(Emitter::new(self.options.limit, files.len()));
        let stops = [self.cancelled, &over];
        try_on_threads(files.len(), |buffer: &mut Box<[u8]>, at| {
            // While one thread searches a large session, the others do not search all later ones.
            while locked(&emitter).is_full_before(at) && !is_stopped(&stops) {
                thread::sleep(LOOK_AGAIN);
            }
            let Some(file) = files.get(at).filter(|_| !is_stopped(&stops)) else { return Ok(()) };
            let unfinished = Unfinished(&over);
            let found = self.search_file(file, &filter, buffer, &stops)?;
            if is_stopped(&stops) {
                return Ok(());
            }
            let needs_more = locked(&emitter).add(at, found, self);
            if needs_more.with_call("read", &file.path)? {
                std::mem::forget(unfinished);
            }
            Ok(())
        })
    }

    /// The hits in a file; None if it has none, or is not searched. A file that cannot be opened is not.
    fn search_file(
        &self,
        file: &Candidate,
        filter: &Prefilter,
        buffer: &mut Box<[u8]>,
        stops: &[&AtomicBool],
    ) -> Result<SessionHits> {
        let path = join(&file.dir, &file.name);
        let opened = match open::regular(Path::new(&path), Access::Read) {
            // The error says nothing about this file: an answer without it would be wrong.
            Err(error) if is_exhausted(&error) => return Err(Error::io("open", &path, error)),
            opened => opened.ok(),
        };
        let Some(opened) = opened else { return Ok(None) };
        match self.search_opened(&file.path, &opened, filter, buffer, stops) {
            Err(_) if is_stopped(stops) => Ok(None),
            Err(error) => Err(Error::io("read", &path, error)),
            Ok(found) => Ok(found),
        }
    }

    fn search_opened(
        &self,
        path: &str,
        opened: &File,
        filter: &Prefilter,
        buffer: &mut Box<[u8]>,
        stops: &[&AtomicBool],
    ) -> io::Result<SessionHits> {
        let size = fs::stat(opened)?.size;
        let header = header_among_others(Positioned::new(opened, 0, size, stops))?;
        let Some(header) = header.filter(|header| self.searches(path, header)) else { return Ok(None) };
        let session = SessionFile { file: opened, size, version: header.version };
        let hits = session.hits((self.query, self.options, filter), buffer, stops)?;
        if hits.is_empty() {
            return Ok(None);
        }
        let read = read_on(opened, size, SummaryProgress::default(), buffer, stops, &mut |_| Ok(()))?;
        let Some(summary) = read.and_then(|progress| progress.kind.into_summary()) else { return Ok(None) };
        let session = HitSession {
            path: path.to_owned(),
            id: summary.id,
            cwd: summary.cwd,
            name: summary.name,
            title: summary.first_message.as_deref().map(title_of),
        };
        Ok(Some((Arc::new(session), hits)))
    }

    fn searches(&self, path: &str, header: &Header) -> bool {
        let is_excluded =
            |excluded: &String| excluded.as_bytes() == header.id || Path::new(excluded) == Path::new(path);
        let cwd = header.cwd.as_deref().unwrap_or_default();
        !self.options.excluded.as_ref().is_some_and(is_excluded) && self.scope.includes(cwd, self.process)
    }
}

/// How many hits of later sessions wait at least before no further session is searched.
const MOST_WAITING: usize = 1_000;

/// How long a thread waits before it looks again whether that session was searched.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Ends the search when it is dropped: there are enough hits, or a session has no result, because of an error or a panic, and the
/// other threads would wait for it for ever.
struct Unfinished<'a>(&'a AtomicBool);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Passes hits on in the order of their sessions.
struct Emitter {
    /// The next session.
    next: usize,
    /// Results of later sessions.
    waiting: BTreeMap<usize, SessionHits>,
    /// How many hits they have, and with how many no further session is searched.
    held: usize,
    most_held: usize,
    /// The copies that were passed on.
    seen: HashSet<u128>,
    /// How many more hits are wanted.
    left: usize,
    /// How many sessions were searched, and how many there are.
    searched: usize,
    total: usize,
}

impl Emitter {
    fn new(limit: usize, total: usize) -> Self {
        let most_held = limit.saturating_mul(2).max(MOST_WAITING);
        let (waiting, seen) = (BTreeMap::new(), HashSet::new());
        Self { next: 0, waiting, held: 0, most_held, seen, left: limit, searched: 0, total }
    }

    /// Whether a session is to wait for the next one, which waits for none.
    fn is_full_before(&self, at: usize) -> bool {
        self.held >= self.most_held && at != self.next
    }

    /// Takes what was found in a session, says how many were searched, and passes on what is next. False if there are enough hits.
    fn add(&mut self, at: usize, found: SessionHits, request: &Search<'_>) -> io::Result<bool> {
        self.searched += 1;
        (request.progress)(self.searched, self.total);
        self.held += found.as_ref().map_or(0, |(_, hits)| hits.len());
        self.waiting.insert(at, found);
        while let Some(found) = self.waiting.remove(&self.next).filter(|_| self.left > 0) {
            self.next += 1;
            let Some((session, mut hits)) = found else { continue };
            self.held -= hits.len();
            if request.options.dedupe {
                hits.retain(|hit| hit.copies_key.is_none_or(|key| !self.seen.contains(&key)));
            }
            hits.truncate(self.left);
            self.left -= hits.len();
            self.seen.try_reserve(hits.len())?;
            self.seen.extend(hits.iter().filter_map(|hit| hit.copies_key));
            if !hits.is_empty() {
                (request.each)(&session, hits)?;
            }
        }
        Ok(self.left > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::paths::tests::Fixed;
    use crate::testing::tests::SessionsDir;
    use std::sync::{Condvar, PoisonError};

    fn session(id: &str, text: &str) -> String {
        format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":\"/{id}\"}}\n\
             {{\"type\":\"session_info\",\"id\":\"n\",\"name\":\"name of {id}\"}}\n\
             {{\"type\":\"message\",\"id\":\"m\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    }

    /// Regression: a thread that had counted its file was overtaken by another before it said so.
    #[test]
    fn progress_goes_forward_one_file_at_a_time() {
        let sessions = SessionsDir::new();
        for n in 0..20 {
            let path = sessions.dir.path().join(format!("{n}.jsonl"));
            std::fs::write(path, session(&n.to_string(), "needle")).expect("written");
        }
        let told = (Mutex::new(Vec::new()), Condvar::new());
        Search {
            scope: &sessions.scope(),
            process: &Fixed,
            query: &Query::new("needle").expect("a query"),
            options: &SearchOptions::default(),
            cancelled: &AtomicBool::new(false),
            progress: &|searched, total| {
                let (all, changed) = &told;
                // Another thread has time to overtake this one.
                let before = locked(all).len();
                let waits = |all: &mut Vec<_>| searched % 2 == 1 && all.len() == before;
                let waited = changed.wait_timeout_while(locked(all), LOOK_AGAIN, waits);
                waited.unwrap_or_else(PoisonError::into_inner).0.push((searched, total));
                changed.notify_all();
            },
            each: &|_, _| Ok(()),
        }
        .run()
        .expect("searched");
        assert_eq!(*locked(&told.0), Vec::from_iter((0..=20).map(|searched| (searched, 20))));
    }
}
