//! A search over many sessions: newest first, on several threads, until there are enough hits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::prefilter::Prefilter;
use super::query::{Query, SearchOptions};
use super::session_search::{Buffers, Hit, SessionFile};
use crate::base::error::{Error, Result};
use crate::base::paths::join;
use crate::base::threads::{locked, try_on_threads};
use crate::catalog::connection::Catalog;
use crate::catalog::location::CatalogLocation;
use crate::catalog::rows::{self, CacheValidity};
use crate::format::header::Version;
use crate::io::fs;
use crate::io::line_reader::{is_stopped, Positioned};
use crate::io::open::{self, is_exhausted, Access};
use crate::listing::candidates::Candidate;
use crate::summary::header_scan::{header_before, HEADER_WITHIN};
use crate::summary::session_summary::{title_of, FileKind};
use crate::summary::signature::QueryGroups;

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
pub struct Request<'a> {
    /// The files that may be sessions.
    pub files: &'a [Candidate],
    /// Whether the sessions of a working directory are searched. It gets that of the header, WTF-8, empty if there is none.
    pub takes: &'a (dyn Fn(&[u8]) -> bool + Sync),
    pub query: &'a Query,
    pub options: &'a SearchOptions,
    /// Where the catalog is, which is only read.
    pub location: Option<&'a CatalogLocation>,
    /// Set when the hits are no longer needed.
    pub cancelled: &'a AtomicBool,
    /// Called with how many files were searched, which is one more each time, and how many there are. Calls do not overlap.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// Called with the hits of each session that has some, in their order. Calls do not overlap.
    pub each: &'a EachSession<'a>,
}

/// A session as the catalog knows it.
struct KnownSession {
    session: HitSession,
    version: Version,
}

/// What is known of a file: None if it is not a session, or cannot have a hit.
type KnownFile = Option<KnownSession>;

/// A session and its hits; None if it has none, or is not searched.
type SessionHits = Option<(Arc<HitSession>, Vec<Hit>)>;

impl Request<'_> {
    /// Searches the sessions, the newest file first; in a session the best match first, then the latest entry. It ends, without
    /// an error, when there are enough hits in all sessions together, or when it is cancelled. An error if no file descriptor is left for a file, or if reading one fails.
    pub fn run(&self) -> Result<()> {
        let filter = Prefilter::of(&self.query.words)?;
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        let modified = |at: &usize| self.files.get(*at).and_then(|file| Some((file.fingerprint?.modified, &file.path)));
        order.retain(|at| modified(at).is_some());
        order.sort_by_cached_key(|at| Reverse(modified(at)));
        let known = self.known_files();
        (self.progress)(0, order.len());
        // Set when there are enough hits, and when a thread failed.
        let over = AtomicBool::new(false);
        let emitter = Mutex::new(Emitter::new(self.options.limit, order.len()));
        let stops = [self.cancelled, &over];
        try_on_threads(order.len(), |buffers: &mut Buffers, at| {
            // While one thread searches a large session, the others do not search all later ones.
            while locked(&emitter).is_full_before(at) && !is_stopped(&stops) {
                thread::sleep(LOOK_AGAIN);
            }
            let Some(file) = order.get(at).and_then(|at| self.files.get(*at)).filter(|_| !is_stopped(&stops)) else {
                return Ok(());
            };
            let unfinished = Unfinished(&over);
            let found = self.search_file(file, &known, &filter, buffers, &stops)?;
            if is_stopped(&stops) {
                return Ok(());
            }
            let needs_more = locked(&emitter).add(at, found, self);
            let needs_more = needs_more.map_err(|error| Error::io("read", &file.path, error))?;
            if needs_more {
                std::mem::forget(unfinished);
            }
            Ok(())
        })
    }

    /// The files whose rows in the catalog are valid, by their paths.
    fn known_files(&self) -> HashMap<PathBuf, KnownFile> {
        let mut known = HashMap::new();
        let groups = QueryGroups::of(&self.query.words).filter(|_| self.options.scopes.is_within_default());
        let Some(catalog) = self.location.and_then(Catalog::open) else { return known };
        let mut by_dir: HashMap<&str, HashMap<&str, &Candidate>> = HashMap::new();
        for file in self.files {
            by_dir.entry(&file.dir).or_default().insert(&file.name, file);
        }
        for (dir, files) in by_dir {
            let read = rows::in_dir(catalog.db(), dir, groups.is_some(), |name, row, signature| {
                let Some(file) = files.get(&*name) else { return };
                let is_valid = |now| row.validity(now) == CacheValidity::Valid;
                if !file.fingerprint.as_ref().is_some_and(is_valid) {
                    return;
                }
                let is_denied =
                    groups.as_ref().zip(signature).is_some_and(|(groups, packed)| !groups.may_be_in(packed));
                let session = match row.progress.kind {
                    FileKind::Session(version, summary) if !is_denied => {
                        let session = HitSession {
                            path: file.path.clone(),
                            id: summary.id,
                            cwd: summary.cwd,
                            name: summary.name,
                            title: summary.first_message.as_deref().map(title_of),
                        };
                        Some(KnownSession { session, version })
                    }
                    _ => None,
                };
                known.insert(PathBuf::from(join(dir, &name)), session);
            });
            if let Err(error) = read {
                catalog.discard_if_corrupt(&error);
                return HashMap::new();
            }
        }
        known
    }

    /// The hits in a file; None if it has none, or is not searched. A file that cannot be opened is not.
    fn search_file(
        &self,
        file: &Candidate,
        known: &HashMap<PathBuf, KnownFile>,
        filter: &Prefilter,
        buffers: &mut Buffers,
        stops: &[&AtomicBool],
    ) -> Result<SessionHits> {
        let path = PathBuf::from(join(&file.dir, &file.name));
        let known = known.get(&path);
        match known {
            Some(None) => return Ok(None),
            Some(Some(known)) if !self.searches(&known.session) => return Ok(None),
            _ => {}
        }
        let opened = match open::regular(&path, Access::Read) {
            // The error says nothing about this file: an answer without it would be wrong.
            Err(error) if is_exhausted(&error) => return Err(Error::io("open", &path.to_string_lossy(), error)),
            opened => opened.ok(),
        };
        let Some(opened) = opened else { return Ok(None) };
        match self.search_opened(file, &opened, known, filter, buffers, stops) {
            Err(_) if is_stopped(stops) => Ok(None),
            Err(error) => Err(Error::io("read", &path.to_string_lossy(), error)),
            Ok(found) => Ok(found),
        }
    }

    fn search_opened(
        &self,
        file: &Candidate,
        opened: &File,
        known: Option<&KnownFile>,
        filter: &Prefilter,
        buffers: &mut Buffers,
        stops: &[&AtomicBool],
    ) -> io::Result<SessionHits> {
        let stat = fs::stat(opened)?;
        let size = stat.size;
        // Its row says nothing about a file that took its place, or that grew.
        let known = known.filter(|_| file.fingerprint == Some(stat.fingerprint()));
        let (mut session, version) = match known {
            Some(Some(KnownSession { session, version })) => (session.clone(), *version),
            _ => {
                let header = header_before(Positioned::new(opened, 0, size, stops), HEADER_WITHIN)?;
                let Some(header) = header else { return Ok(None) };
                let cwd = header.cwd.unwrap_or_default();
                let session = HitSession { path: file.path.clone(), id: header.id, cwd, name: None, title: None };
                if !self.searches(&session) {
                    return Ok(None);
                }
                (session, header.version)
            }
        };
        let opened = SessionFile { file: opened, size, version };
        let hits = opened.hits((self.query, self.options, filter), buffers, stops)?;
        if hits.is_empty() {
            return Ok(None);
        }
        if known.is_none() {
            session.name = opened.name(buffers, stops)?;
            session.title = opened.title(buffers, stops)?;
        }
        Ok(Some((Arc::new(session), hits)))
    }

    fn searches(&self, session: &HitSession) -> bool {
        let is_excluded =
            |excluded: &String| excluded.as_bytes() == session.id || Path::new(excluded) == Path::new(&session.path);
        !self.options.excluded.as_ref().is_some_and(is_excluded) && (self.takes)(&session.cwd)
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
    fn add(&mut self, at: usize, found: SessionHits, request: &Request<'_>) -> io::Result<bool> {
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
    use crate::base::memory::push;
    use crate::io::fs::faults::{with, InjectedFault};
    use crate::io::fs::FsCall;
    use crate::listing::read_all::read_all;
    use crate::search::scope::{Scope, Scopes};
    use crate::testing::tests::{wait_for_next_file_time, SessionsDir};
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Condvar, PoisonError};

    fn session(id: &str, text: &str) -> String {
        format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":\"/{id}\"}}\n\
             {{\"type\":\"session_info\",\"id\":\"n\",\"name\":\"name of {id}\"}}\n\
             {{\"type\":\"message\",\"id\":\"m\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    }

    /// Regression: the hits in a file that was replaced after its row was read were shown with the session of the row.
    #[test]
    fn a_row_says_nothing_about_a_file_that_replaced_the_one_it_was_made_of() {
        let sessions = SessionsDir::new();
        let path = sessions.dir.path().join("a.jsonl");
        std::fs::write(&path, session("old", "needle")).expect("written");
        wait_for_next_file_time();
        let files = sessions.files();
        let cancelled = AtomicBool::new(false);
        drop(read_all(&files, Some(&sessions.location), &cancelled, &|_, _| {}).expect("read"));
        let found = Mutex::new(Vec::new());
        Request {
            files: &files,
            takes: &|_| true,
            query: &Query::of("needle", false).expect("a query"),
            options: &SearchOptions::default(),
            location: Some(&sessions.location),
            cancelled: &cancelled,
            // At first it says that nothing was searched: then rows have been read.
            progress: &|searched, _| {
                if searched == 0 {
                    std::fs::write(path.with_extension("new"), session("new", "new needle")).expect("written");
                    std::fs::rename(path.with_extension("new"), &path).expect("renamed");
                }
            },
            each: &|session, hits| Ok(push(&mut locked(&found), (HitSession::clone(session), hits.len()))?),
        }
        .run()
        .expect("searched");
        let found = locked(&found);
        let [(session, 1)] = found.as_slice() else { panic!("one hit") };
        let shown = (&*session.id, &*session.cwd, session.name.as_deref());
        assert_eq!(shown, (&b"new"[..], &b"/new"[..], Some(&b"name of new"[..])));
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
        Request {
            files: &sessions.files(),
            takes: &|_| true,
            query: &Query::of("needle", false).expect("a query"),
            options: &SearchOptions::default(),
            location: None,
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

    /// A rare word opens only the sessions that can have it.
    #[test]
    fn a_session_whose_signature_lacks_the_words_is_not_opened() {
        let sessions = SessionsDir::new();
        let path = sessions.dir.path().join("a.jsonl");
        let tool = r#"{"type":"message","id":"t","message":{"role":"toolResult","content":"haystack"}}"#;
        std::fs::write(&path, format!("{}{tool}\n", session("a", "a needle \\u006fver there"))).expect("written");
        wait_for_next_file_time();
        let cancelled = AtomicBool::new(false);
        let list =
            || drop(read_all(&sessions.files(), Some(&sessions.location), &cancelled, &|_, _| {}).expect("read"));
        // How many hits there are, and whether the session was opened: the catalog is opened as often each time.
        let search = |query: &str, phrase: bool, scope: Option<Scope>| {
            let scopes = scope.map_or_else(Scopes::default, |scope| Scopes::NONE.with(scope));
            let count = AtomicUsize::new(0);
            let request = Request {
                files: &sessions.files(),
                takes: &|_| true,
                query: &Query::of(query, phrase).expect("a query"),
                options: &SearchOptions { scopes, ..SearchOptions::default() },
                location: Some(&sessions.location),
                cancelled: &cancelled,
                progress: &|_, _| {},
                each: &|_, hits| {
                    count.fetch_add(hits.len(), Ordering::Relaxed);
                    Ok(())
                },
            };
            let (searched, made) = with(usize::MAX, InjectedFault::Once(0), || request.run());
            searched.expect("searched");
            (count.into_inner(), made.calls.iter().filter(|call| **call == FsCall::Open).count())
        };
        list();
        let opened = search("needle", false, None).1;
        let denied = (0, opened - 1);
        assert_eq!(search("haystack", false, None), denied);
        assert_eq!(search("needle haystack", false, None), denied);
        assert_eq!(search("haystack", false, Some(Scope::Tool)), (1, opened));
        assert_eq!(search("needle over", true, None), (1, opened));
        assert_eq!(search("needle under", true, None), denied);
        assert_eq!(search("name of a", true, Some(Scope::Name)), (1, opened));
        // Too short to tell.
        assert_eq!(search("hays", false, None), (0, opened));
        // What is new is found before the next list and after it, which reads on where the row ends.
        let append = |line: &str| {
            let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("opened");
            std::io::Write::write_all(&mut file, line.as_bytes()).expect("written");
            wait_for_next_file_time();
        };
        append("{\"type\":\"label\",\"id\":\"l\",\"label\":\"HAYSTACK\"}\n");
        append("{\"type\":\"message\",\"id\":\"e\",\"message\":{\"role\":\"assistant\",\"errorMessage\":\"429 overloaded\"}}\n");
        assert_eq!(search("haystack", false, None), (1, opened));
        list();
        assert_eq!(search("haystack", false, None), (1, opened));
        assert_eq!(search("needle", false, None), (1, opened));
        assert_eq!(search("overloaded", false, None), (1, opened));
        assert_eq!(search("unheard", false, None), denied);
        // What no signature is made of may say anything: a very long text, and a line that the scanner cannot take apart.
        let long = format!("{} endlessly", "many words ".repeat(200_000));
        append(&format!(
            "{{\"type\":\"message\",\"id\":\"e\",\"message\":{{\"role\":\"assistant\",\"content\":\"{long}\"}}}}\n"
        ));
        list();
        assert_eq!(search("endlessly", false, None), (1, opened));
        append("{\"type\":\"compaction\",\"id\":\"c\",\"s\\u0075mmary\":\"unheard of\"}\n");
        list();
        assert_eq!(search("unheard", false, None), (1, opened));
        assert_eq!(search("nothing like it", false, None), (0, opened));
    }
}
