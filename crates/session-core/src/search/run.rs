//! A search over many sessions: newest first, on several threads, until there are enough hits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::prefilter::Prefilter;
use super::query::{Query, SearchOptions};
use super::session_search::{FoundHits, Hit, SessionFile};
use crate::base::error::{Error, Result, WithCall};
use crate::base::paths::{join, Process};
use crate::base::threads::{locked, try_on_threads};
use crate::catalog::connection::Catalog;
use crate::catalog::location::CatalogLocation;
use crate::format::header::Header;
use crate::io::fs;
use crate::io::open::{self, is_exhausted, Access};
use crate::lines::line_reader::{is_stopped, Positioned};
use crate::listing::candidates::Candidate;
use crate::listing::newest_first::sort_newest_first;
use crate::listing::scope::ListScope;
use crate::listing::subagents::subagent_files;
use crate::summary::header_scan::header_among_others;
use crate::summary::session_summary::{read_on, title_of, SummaryProgress};

/// The data of a session that its hits show. All its hits share it.
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

/// The hits of a session that are passed to the caller.
#[derive(Debug)]
pub struct SessionHits {
    /// The session.
    pub session: Arc<HitSession>,
    /// The session that owns it, if it is a subagent's session.
    pub owner: Option<Arc<HitSession>>,
    /// The wanted hits, in their order.
    pub hits: Vec<Hit>,
    /// The number of hits in the session, without copies of hits in newer sessions.
    pub count: usize,
}

/// Receives the hits of a session. If it fails, because an allocation fails, the search ends.
pub(crate) type EachSession<'a> = dyn Fn(SessionHits) -> io::Result<()> + Sync + 'a;

/// A search.
pub struct Search<'a> {
    /// The sessions that are searched.
    pub scope: &'a ListScope,
    /// The process's state: the working directory, and how paths in headers are resolved.
    pub process: &'a (dyn Process + Sync),
    /// The location of the catalog, whose rows contain when sessions were modified. With None the times of files are
    /// used.
    pub location: Option<&'a CatalogLocation>,
    /// The query.
    pub query: &'a Query,
    /// The options.
    pub options: &'a SearchOptions,
    /// Set when the hits are no longer needed.
    pub cancelled: &'a AtomicBool,
    /// Called with the number of files that were searched, and the number of files whose status could be read: first
    /// with 0, then once for each file. Calls do not overlap.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// Called with the hits of each session with hits, in the order of sessions. Calls do not overlap.
    pub each: &'a EachSession<'a>,
}

/// The hits in a file. None if it has no hits, or is not searched.
type Found = Option<FileHits>;

struct FileHits {
    session: HitSession,
    owner: Option<Arc<HitSession>>,
    hits: FoundHits,
}

/// A file that is searched.
struct SearchedFile {
    file: Candidate,
    /// The index of its owner among the owners, if it is a subagent's.
    owner: Option<usize>,
}

/// A session that has subagents.
struct Owner {
    file: Candidate,
    /// The data that hits show. The inner None: the file cannot be read. Read at the first hit in a session of its
    /// subagents.
    shown: Mutex<Option<Option<Arc<HitSession>>>>,
}

/// The tools with which a thread reads files: prefilter, buffer, flags to stop.
type Tools<'a> = (&'a Prefilter, &'a mut Box<[u8]>, &'a [&'a AtomicBool]);

impl Search<'_> {
    /// Searches the sessions, the newest first, each followed by the sessions of its subagents. In a session the best
    /// match is first, then the latest entry. A session's time is the time of its newest message, if the catalog has a
    /// row of it, else the time of its file. The search ends, without an error, when all sessions together have enough
    /// hits, or when it is cancelled. A file that cannot be read is omitted. Fails if no file descriptor or no memory
    /// is left.
    pub fn run(&self) -> Result<()> {
        let filter = Prefilter::of(&self.query.words)?;
        let (files, owners) = self.files()?;
        (self.progress)(0, files.len());
        let turns = Turns {
            over: AtomicBool::new(false),
            emitter: Mutex::new(Emitter::new(self.options.limit, files.len())),
            ended: Condvar::new(),
        };
        let stops = [self.cancelled, &turns.over];
        try_on_threads(files.len(), |buffer: &mut Box<[u8]>, at| {
            let mut turn = Turn { turns: &turns, needs_more: false };
            // Waits if there are enough results of later sessions, so that the other threads do not search all of them
            // while one thread searches a large session.
            let waits = |emitter: &mut Emitter| emitter.is_full_before(at) && !is_stopped(&stops);
            drop(turns.ended.wait_while(locked(&turns.emitter), waits));
            let Some(searched) = files.get(at).filter(|_| !is_stopped(&stops)) else { return Ok(()) };
            let owner = searched.owner.and_then(|owner| owners.get(owner));
            let found = self.search_file(&searched.file, owner, (&filter, buffer, &stops))?;
            if is_stopped(&stops) {
                return Ok(());
            }
            let needs_more = locked(&turns.emitter).add(at, found, self);
            turn.needs_more = needs_more.with_call("read", &searched.file.path)?;
            Ok(())
        })
    }

    /// The files in the order in which they are searched, and the sessions that have subagents.
    fn files(&self) -> Result<(Vec<SearchedFile>, Vec<Owner>)> {
        let start = self.scope.start(self.process)?;
        let (mut sessions, dirs) = self.scope.find_or(&start, |_| {})?;
        let mut of_session: HashMap<String, Vec<Candidate>> = HashMap::new();
        let mut alone = Vec::new();
        if self.options.subagents {
            for (file, session) in subagent_files(&sessions, &dirs, &start, &mut Vec::new())? {
                let session = session.and_then(|session| sessions.get(session));
                // If the session cannot be read, as behind a broken link, its subagents' are searched all the same.
                let files = match session.filter(|session| session.fingerprint.is_some()) {
                    Some(session) => of_session.entry(session.path.clone()).or_default(),
                    None => &mut alone,
                };
                files.extend(Some(file).filter(|file| file.fingerprint.is_some()));
            }
        }
        sessions.retain(|file| file.fingerprint.is_some());
        sessions.append(&mut alone);
        // A single session needs no order.
        let catalog = self.location.filter(|_| self.options.only.is_none()).and_then(Catalog::open);
        sort_newest_first(&mut sessions, catalog.as_ref());
        let (mut files, mut owners) = (Vec::new(), Vec::new());
        for session in sessions {
            let subagents = of_session.remove(&session.path).unwrap_or_default();
            let owner = (!subagents.is_empty()).then_some(owners.len());
            owners.extend(owner.map(|_| Owner { file: session.clone(), shown: Mutex::new(None) }));
            files.push(SearchedFile { file: session, owner: None });
            let mut subagents = subagents;
            sort_newest_first(&mut subagents, catalog.as_ref());
            files.extend(subagents.into_iter().map(|file| SearchedFile { file, owner }));
        }
        if let Some(only) = &self.options.only {
            // If it is no path of a file, it is an id, which is checked when the file is read.
            if files.iter().any(|searched| is_same_file(only, &searched.file.path)) {
                files.retain(|searched| is_same_file(only, &searched.file.path));
            }
        }
        Ok((files, owners))
    }

    /// The hits in a file. None if it has none, is not searched, or cannot be read.
    fn search_file(&self, file: &Candidate, owner: Option<&Owner>, tools: Tools<'_>) -> Result<Found> {
        without_unreadable(file, |opened| self.search_opened(file, opened, owner, tools))
    }

    fn search_opened(
        &self,
        file: &Candidate,
        opened: &File,
        owner: Option<&Owner>,
        (filter, buffer, stops): Tools<'_>,
    ) -> Result<Found, ReadError> {
        let size = fs::stat(opened)?.size;
        let header = header_among_others(Positioned::new(opened, 0, size, stops))?;
        let Some(header) = header else { return Ok(None) };
        if !self.searches(file, &header, owner, stops)? {
            return Ok(None);
        }
        let session = SessionFile { file: opened, size, version: header.version };
        let hits = session.hits((self.query, self.options, filter), buffer, stops)?;
        if hits.best.is_empty() {
            return Ok(None);
        }
        let Some(session) = shown(&file.path, opened, size, buffer, stops)? else { return Ok(None) };
        let owner = owner.map_or(Ok(None), |owner| owner.shown(buffer, stops))?;
        Ok(Some(FileHits { session, owner, hits }))
    }

    /// Whether a session is searched. For a subagent's session the owner decides, because the owner has the working
    /// directory. A subagent's session can also be searched alone.
    fn searches(
        &self,
        file: &Candidate,
        header: &Header,
        owner: Option<&Owner>,
        stops: &[&AtomicBool],
    ) -> Result<bool, ReadError> {
        let SearchOptions { excluded, only, .. } = self.options;
        let is =
            |named: &String, path: &str, header: &Header| named.as_bytes() == header.id || is_same_file(named, path);
        let is_excluded = |path: &str, header: &Header| excluded.as_ref().is_some_and(|named| is(named, path, header));
        if is_excluded(&file.path, header) || only.as_ref().is_some_and(|named| !is(named, &file.path, header)) {
            return Ok(false);
        }
        let owner = owner.filter(|_| self.scope.is_filtered() || excluded.is_some());
        let owner = owner.map_or(Ok(None), |owner| {
            let header = without_unreadable(&owner.file, |opened| {
                let size = fs::stat(opened)?.size;
                Ok(header_among_others(Positioned::new(opened, 0, size, stops))?)
            })?;
            Ok::<_, Error>(header.map(|header| (&owner.file.path, header)))
        })?;
        let cwd = |header: &Header| self.scope.includes(header.cwd.as_deref().unwrap_or_default(), self.process);
        Ok(match owner {
            Some((path, header)) => !is_excluded(path, &header) && cwd(&header),
            None => cwd(header),
        })
    }
}

impl Owner {
    fn shown(&self, buffer: &mut Box<[u8]>, stops: &[&AtomicBool]) -> Result<Option<Arc<HitSession>>> {
        let mut known = locked(&self.shown);
        if let Some(shown) = &*known {
            return Ok(shown.clone());
        }
        let read = without_unreadable(&self.file, |opened| {
            Ok(shown(&self.file.path, opened, fs::stat(opened)?.size, buffer, stops)?)
        })?;
        Ok(known.insert(read.map(Arc::new)).clone())
    }
}

/// An error of the file that is read, or an error that ends the search.
enum ReadError {
    OfFile(io::Error),
    Other(Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::OfFile(error)
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// The result of `read`. None if the file cannot be read.
fn without_unreadable<T>(
    file: &Candidate,
    read: impl FnOnce(&File) -> Result<Option<T>, ReadError>,
) -> Result<Option<T>> {
    let path = join(&file.dir, &file.name);
    let opened = open::regular(Path::new(&path), Access::Read).map_err(ReadError::OfFile);
    match opened.and_then(|opened| read(&opened)) {
        Err(ReadError::Other(error)) => Err(error),
        // The error is not about this file, and a result without the file would be wrong.
        Err(ReadError::OfFile(error)) if is_exhausted(&error) || error.kind() == io::ErrorKind::OutOfMemory => {
            Err(Error::io("open", &path, error))
        }
        found => Ok(found.ok().flatten()),
    }
}

/// Reads the data of a session that its hits show.
fn shown(
    path: &str,
    opened: &File,
    size: u64,
    buffer: &mut Box<[u8]>,
    stops: &[&AtomicBool],
) -> io::Result<Option<HitSession>> {
    let read = read_on(opened, size, SummaryProgress::default(), buffer, stops, &mut |_| Ok(()))?;
    let Some(summary) = read.and_then(|progress| progress.kind.into_summary()) else { return Ok(None) };
    Ok(Some(HitSession {
        path: path.to_owned(),
        id: summary.id,
        cwd: summary.cwd,
        name: summary.name,
        title: summary.first_message.as_deref().map(title_of),
    }))
}

fn is_same_file(named: &str, path: &str) -> bool {
    Path::new(named) == Path::new(path)
}

/// When at least this many hits of later sessions wait, no further session is searched.
const MOST_WAITING: usize = 1_000;

/// The shared state of a search's threads.
struct Turns {
    /// Set when there are enough hits, and when a session has no result because of an error or a panic, because the
    /// other threads would wait for it forever.
    over: AtomicBool,
    emitter: Mutex<Emitter>,
    /// Notified when a turn has ended.
    ended: Condvar,
}

/// The search of one session. When it is dropped it wakes the waiting threads, and ends the search unless `needs_more`.
struct Turn<'a> {
    turns: &'a Turns,
    needs_more: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.needs_more {
            self.turns.over.store(true, Ordering::Relaxed);
        }
        // Under the lock no thread is between its check of `over` and its wait.
        let _waits = locked(&self.turns.emitter);
        self.turns.ended.notify_all();
    }
}

/// Passes hits to the caller in the order of their sessions.
struct Emitter {
    /// The index of the next session.
    next: usize,
    /// The results of later sessions, by index.
    waiting: BTreeMap<usize, Found>,
    /// The number of their hits, and the number from which on no further session is searched.
    held: usize,
    most_held: usize,
    /// The keys of all hits in the sessions that were passed on.
    seen: HashSet<u128>,
    /// The number of hits that are still wanted.
    left: usize,
    /// The number of sessions that were searched, and the number of all sessions.
    searched: usize,
    total: usize,
}

impl Emitter {
    fn new(limit: usize, total: usize) -> Self {
        let most_held = limit.saturating_mul(2).max(MOST_WAITING);
        let (waiting, seen) = (BTreeMap::new(), HashSet::new());
        Self { next: 0, waiting, held: 0, most_held, seen, left: limit, searched: 0, total }
    }

    /// Whether a session must wait for the next one in order, which never waits.
    fn is_full_before(&self, at: usize) -> bool {
        self.held >= self.most_held && at != self.next
    }

    /// Adds the result of a session, reports progress, and passes on the results that are next. False if there are
    /// enough hits.
    fn add(&mut self, at: usize, found: Found, request: &Search<'_>) -> io::Result<bool> {
        self.searched += 1;
        (request.progress)(self.searched, self.total);
        self.held += found.as_ref().map_or(0, |found| found.hits.best.len());
        self.waiting.insert(at, found);
        while let Some(found) = self.waiting.remove(&self.next).filter(|_| self.left > 0) {
            self.next += 1;
            let Some(FileHits { session, owner, hits: FoundHits { mut best, keys, without_key } }) = found else {
                continue;
            };
            self.held -= best.len();
            best.retain(|hit| {
                hit.copies_key.filter(|_| request.options.dedupe).is_none_or(|key| !self.seen.contains(&key))
            });
            best.truncate(self.left.min(request.options.per_session));
            self.left -= best.len();
            let seen = self.seen.len();
            self.seen.try_reserve(keys.len())?;
            self.seen.extend(keys);
            if !best.is_empty() {
                let count = without_key + (self.seen.len() - seen);
                (request.each)(SessionHits { session: Arc::new(session), owner, hits: best, count })?;
            }
        }
        Ok(self.left > 0)
    }
}

#[cfg(all(test, feature = "lists"))]
mod tests;
