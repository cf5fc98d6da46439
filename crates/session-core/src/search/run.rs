//! A search over many sessions: newest first, on several threads, until there are enough hits.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

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
    /// an error, when there are enough hits in all sessions together, or when it is cancelled. A file that cannot be read is left out. An
    /// error if no file descriptor or no memory is left.
    pub fn run(&self) -> Result<()> {
        let filter = Prefilter::of(&self.query.words)?;
        let mut files = self.scope.find(&self.scope.start(self.process)?)?;
        files.retain(|file| file.fingerprint.is_some());
        let modified = |file: &Candidate| file.fingerprint.map(|fingerprint| fingerprint.modified);
        files.sort_by(|a, b| modified(b).cmp(&modified(a)).then_with(|| b.path.cmp(&a.path)));
        (self.progress)(0, files.len());
        let turns = Turns {
            over: AtomicBool::new(false),
            emitter: Mutex::new(Emitter::new(self.options.limit, files.len())),
            ended: Condvar::new(),
        };
        let stops = [self.cancelled, &turns.over];
        try_on_threads(files.len(), |buffer: &mut Box<[u8]>, at| {
            let mut turn = Turn { turns: &turns, needs_more: false };
            // While one thread searches a large session, the others do not search all later ones.
            let waits = |emitter: &mut Emitter| emitter.is_full_before(at) && !is_stopped(&stops);
            drop(turns.ended.wait_while(locked(&turns.emitter), waits));
            let Some(file) = files.get(at).filter(|_| !is_stopped(&stops)) else { return Ok(()) };
            let found = self.search_file(file, &filter, buffer, &stops)?;
            if is_stopped(&stops) {
                return Ok(());
            }
            let needs_more = locked(&turns.emitter).add(at, found, self);
            turn.needs_more = needs_more.with_call("read", &file.path)?;
            Ok(())
        })
    }

    /// The hits in a file; None if it has none, is not searched, or cannot be read.
    fn search_file(
        &self,
        file: &Candidate,
        filter: &Prefilter,
        buffer: &mut Box<[u8]>,
        stops: &[&AtomicBool],
    ) -> Result<SessionHits> {
        let path = join(&file.dir, &file.name);
        let opened = open::regular(Path::new(&path), Access::Read);
        match opened.and_then(|opened| self.search_opened(&file.path, &opened, filter, buffer, stops)) {
            // The error says nothing about this file: an answer without it would be wrong.
            Err(error) if is_exhausted(&error) || error.kind() == io::ErrorKind::OutOfMemory => {
                Err(Error::io("open", &path, error))
            }
            found => Ok(found.ok().flatten()),
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

/// What the threads of a search share.
struct Turns {
    /// Set when there are enough hits, and when a session has no result, because of an error or a panic: others would wait for it for ever.
    over: AtomicBool,
    emitter: Mutex<Emitter>,
    /// Notified when a turn has ended.
    ended: Condvar,
}

/// The search of one session. It wakes those who wait when it is dropped, and unless more is needed the search is over.
struct Turn<'a> {
    turns: &'a Turns,
    needs_more: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.needs_more {
            self.turns.over.store(true, Ordering::Relaxed);
        }
        // Under the lock nobody is between his look at `over` and his wait.
        let _waits = locked(&self.turns.emitter);
        self.turns.ended.notify_all();
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
    use std::sync::PoisonError;
    use std::time::Duration;

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
                let waited = changed.wait_timeout_while(locked(all), Duration::from_millis(5), waits);
                waited.unwrap_or_else(PoisonError::into_inner).0.push((searched, total));
                changed.notify_all();
            },
            each: &|_, _| Ok(()),
        }
        .run()
        .expect("searched");
        assert_eq!(*locked(&told.0), Vec::from_iter((0..=20).map(|searched| (searched, 20))));
    }

    /// Regression: an error of one file ended the search, and later sessions were not searched.
    #[test]
    #[cfg(unix)]
    fn a_file_that_cannot_be_read_is_left_out() {
        use crate::io::fs::faults::{with, with_first, InjectedFault};
        use crate::io::fs::FsCall;
        let sessions = SessionsDir::new();
        let path = sessions.dir.path().join("s.jsonl");
        // Of one file: every call is on this thread.
        let search = || {
            std::fs::write(&path, session("s", "needle")).expect("written");
            let found = Mutex::new(0);
            let done = Search {
                scope: &sessions.scope(),
                process: &Fixed,
                query: &Query::new("needle").expect("a query"),
                options: &SearchOptions::default(),
                cancelled: &AtomicBool::new(false),
                progress: &|_, _| {},
                each: &|_, hits| {
                    *locked(&found) += hits.len();
                    Ok(())
                },
            }
            .run();
            done.map(|()| *locked(&found))
        };
        let mut lost = 0;
        for at in 0.. {
            let (found, made) = with(at, InjectedFault::Once(libc::EIO), search);
            lost += usize::from(found.expect("the search goes on") == 0);
            if !made.hit {
                break;
            }
        }
        assert!(lost > 2, "{lost} times the file was not read");
        let (found, _) = with_first(FsCall::Open, InjectedFault::Once(libc::EMFILE), search);
        assert_eq!(found.expect_err("no descriptor").path(), path.to_str());
    }
}
