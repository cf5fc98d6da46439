//! A search from its beginning: files are listed, new texts are ingested and indexed, and the index is searched. Sessions that
//! the catalog does not have are searched in their files.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use super::file_search::{search_files, SearchFile};
use super::hits::Hit;
use super::index_lookup::Search;
use super::query::{Query, SearchOptions};
use crate::base::error::{Error, Result};
use crate::base::threads::{into_inner, locked};
use crate::catalog::connection::{discard_if_corrupt, Catalog};
use crate::catalog::error::{is_corrupt, CatalogResult};
use crate::catalog::fts::build::build;
use crate::catalog::fts::index::Indexer;
use crate::catalog::ingest::{begin, pending, PendingSession};
use crate::catalog::ingest_lock::IngestLock;
use crate::catalog::location::CatalogLocation;
use crate::io::file_fingerprint::FileFingerprint;
use crate::listing::candidates::Candidate;
use crate::listing::read_all::read_with;
use crate::summary::session_summary::{ListedSession, SessionSummary};

/// How long a search waits for another process that writes. The exit of this process may wait that long.
const BUSY_TIMEOUT: Duration = Duration::from_millis(1_500);

/// How many sessions are ingested at once.
const AT_ONCE: usize = 64;

/// A hit and its session.
#[derive(Debug, Clone, PartialEq)]
pub struct TextMatch {
    pub hit: Hit,
    pub session: Arc<HitSession>,
}

/// What a hit shows of its session; shared by all hits in it.
#[derive(Debug, PartialEq)]
pub struct HitSession {
    /// The file's path, as a list shows it.
    pub path: String,
    pub id: Vec<u8>,
    pub cwd: Vec<u8>,
    pub name: Option<Vec<u8>>,
}

/// A listed session.
#[derive(Debug, Clone)]
struct SearchedSession {
    /// Its path as a list shows it, and made absolute.
    path: String,
    file: PathBuf,
    listed: ListedSession,
    /// The id of its row in the catalog, if that is for this state of the file.
    row: Option<i64>,
}

/// A search.
pub struct Request<'a> {
    /// The files that may be sessions.
    pub files: &'a [Candidate],
    /// Whether a session is searched.
    pub takes: &'a (dyn Fn(&SessionSummary) -> bool + Sync),
    pub query: &'a Query,
    pub options: &'a SearchOptions,
    /// Where the catalog is. Without one, the files are searched.
    pub location: Option<&'a CatalogLocation>,
    pub cancelled: &'a Arc<AtomicBool>,
    /// Called with how many sessions have been indexed or searched, and how many there are that were not indexed.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Request<'_> {
    /// The hits, the best first, and the catalog, if there is one that works. None if it was cancelled. The only error is that
    /// no file descriptor is left for a file.
    pub fn run(&self) -> Result<Option<(Vec<TextMatch>, Option<Catalog>)>> {
        // A corrupt catalog is deleted in the first round and created in the second.
        for _ in 0..2 {
            let Some(location) = self.location else { break };
            let Some(catalog) = Catalog::open(location).or_else(|| Catalog::create(location)) else { break };
            let file = catalog.file().clone();
            match self.run_on(catalog, location) {
                Ok(found) => return Ok(found),
                Err(_) if self.is_cancelled() => return Ok(None),
                Err(error) => {
                    discard_if_corrupt(&file, &error);
                    if !is_corrupt(&error) {
                        break;
                    }
                }
            }
        }
        let answer = self.list(None).and_then(|(sessions, _)| {
            let hits = self.merged(None, &sessions, &|_| true)?;
            Ok((found(hits, sessions), None))
        });
        match answer {
            _ if self.is_cancelled() => Ok(None),
            answer => answer.map(Some),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn run_on(
        &self,
        catalog: Catalog,
        location: &CatalogLocation,
    ) -> CatalogResult<Option<(Vec<TextMatch>, Option<Catalog>)>> {
        catalog.set_busy_timeout(BUSY_TIMEOUT)?;
        let (mut sessions, open) = self.list(Some(catalog)).map_err(without_handles)?;
        let was_written = open.is_some();
        // What was read is used even if it could not be written.
        let Some(mut catalog) = open.or_else(|| Catalog::open(location)) else {
            return Err(rusqlite::Error::InvalidQuery);
        };
        catalog.set_busy_timeout(BUSY_TIMEOUT)?;
        self.find_rows(&catalog, &mut sessions)?;
        if was_written && !self.is_cancelled() {
            self.complete((&mut catalog, location), &sessions)?;
        }
        if self.is_cancelled() {
            return Ok(None);
        }
        // One snapshot for what is ready and for the search.
        let view = catalog.db().unchecked_transaction()?;
        let ready = ready(&view, &sessions)?;
        let rows = sessions.iter().enumerate().filter(|(at, _)| ready.contains(at));
        let rows = rows.filter_map(|(at, session)| Some((session.row?, at))).collect();
        let search =
            Search { db: &view, query: self.query, sessions: &rows, options: self.options, cancelled: self.cancelled };
        let Some(hits) = search.run()? else { return Ok(None) };
        drop(view);
        // A file that changed meanwhile, or could not be ingested, is searched without the index.
        let hits = self.merged(Some(hits), &sessions, &|at| !ready.contains(&at)).map_err(without_handles)?;
        Ok((!self.is_cancelled()).then(|| (found(hits, sessions), Some(catalog))))
    }

    /// The sessions that are searched, the newest first.
    fn list(&self, catalog: Option<Catalog>) -> Result<(Vec<SearchedSession>, Option<Catalog>)> {
        let sessions: Mutex<Vec<SearchedSession>> = Mutex::new(Vec::new());
        let each = |at: usize, found: Option<ListedSession>| {
            let Some((file, mut listed)) = self.files.get(at).zip(found.filter(|found| (self.takes)(&found.summary)))
            else {
                return;
            };
            // It may be large, and hits do not show it.
            listed.summary.first_message = None;
            let whole = PathBuf::from(crate::base::paths::join(&file.dir, &file.name));
            let session = SearchedSession { path: file.path.clone(), file: whole, listed, row: None };
            locked(&sessions).push(session);
        };
        let catalog = read_with(self.files, catalog, None, self.cancelled, &each)?;
        let mut sessions = into_inner(sessions);
        sessions.sort_by(|left, right| {
            let time = |session: &SearchedSession| session.listed.summary.active.unwrap_or(0.0);
            time(right).total_cmp(&time(left)).then_with(|| right.path.cmp(&left.path))
        });
        Ok((sessions, catalog))
    }

    /// The hits of the catalog, and those in the files of sessions that it does not have.
    fn merged(
        &self,
        known: Option<Vec<Hit>>,
        sessions: &[SearchedSession],
        is_missing: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<Hit>> {
        let pending = sessions.iter().enumerate().filter(|(at, _)| is_missing(*at));
        let pending: Vec<SearchFile<'_>> =
            pending.map(|(at, session)| SearchFile { session: at, path: &session.file }).collect();
        let found = search_files(&pending, self.query, self.options, self.cancelled, self.progress)?;
        let mut hits = known.unwrap_or_default();
        if !found.is_empty() {
            hits.extend(found);
            hits.sort_by(|left, right| left.rank.compare(&right.rank).then_with(|| left.session.cmp(&right.session)));
            hits.truncate(self.options.limit);
        }
        Ok(hits)
    }

    /// Sets the ids of the rows that were read from the files as they are. A row of an older state stays where the catalog
    /// cannot be written.
    fn find_rows(&self, catalog: &Catalog, sessions: &mut [SearchedSession]) -> CatalogResult<()> {
        let mut rows = HashMap::new();
        let dirs: HashSet<&str> = self.files.iter().map(|file| file.dir.as_str()).collect();
        let mut statement = catalog.db().prepare_cached(
            "SELECT name, id, device, inode, size, modified, read_to, head_tail_hash FROM session WHERE dir = ?1",
        )?;
        for dir in dirs {
            let mut found = statement.query([dir])?;
            while let Some(row) = found.next()? {
                let state: [i64; 6] = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?];
                let file = PathBuf::from(crate::base::paths::join(dir, &row.get::<_, String>(0)?));
                rows.insert(file, (row.get::<_, i64>(1)?, state));
            }
        }
        for session in sessions {
            let ListedSession { fingerprint, end, head_tail_hash, .. } = &session.listed;
            let FileFingerprint { device, inode, size, modified, .. } = *fingerprint;
            let [device, inode, size] = [device, inode, size].map(|number| number as i64);
            let state = [device, inode, size, modified, *end as i64, *head_tail_hash as i64];
            session.row = rows.get(&session.file).filter(|(_, of)| *of == state).map(|(row, _)| *row);
        }
        Ok(())
    }

    /// Ingests and indexes what the sessions lack, as far as the catalog can be written.
    fn complete(
        &self,
        (catalog, location): (&mut Catalog, &CatalogLocation),
        sessions: &[SearchedSession],
    ) -> CatalogResult<()> {
        if catalog.is_read_only() {
            return Ok(());
        }
        let rows: HashSet<i64> = sessions.iter().filter_map(|session| session.row).collect();
        let todo = rows_to_index(catalog, &rows)?;
        if todo.is_empty() {
            return Ok(());
        }
        let tell = |count: usize| (self.progress)(count, todo.len());
        tell(0);
        match self.ingest_all((catalog, location), &todo, &tell) {
            Ok(()) if !self.is_cancelled() => tell(todo.len()),
            Err(error) if is_corrupt(&error) => return Err(error),
            // Locked, or a full disk: what the catalog has can be searched.
            Ok(()) | Err(_) => {}
        }
        Ok(())
    }

    fn ingest_all(
        &self,
        (catalog, location): (&mut Catalog, &CatalogLocation),
        todo: &[(i64, Option<PendingSession>)],
        tell: &dyn Fn(usize),
    ) -> CatalogResult<()> {
        let mut indexer = Indexer::default();
        let mut count = 0;
        for some in todo.chunks(AT_ONCE) {
            let Some(_lock) = IngestLock::wait(&location.path, self.cancelled) else { return Ok(()) };
            let mut starts = Vec::new();
            for (row, pending) in some {
                // Texts ingested after a list are not indexed yet.
                if !indexer.index(catalog, *row, self.cancelled)? {
                    return Ok(());
                }
                if let Some(pending) = pending {
                    starts.extend(begin(catalog, pending)?);
                }
            }
            build(catalog, &mut indexer, &starts, self.cancelled, &|built| tell(count + built))?;
            count += some.len();
        }
        Ok(())
    }
}

/// Makes the search go on without the catalog, whose connection holds file descriptors.
fn without_handles(_: Error) -> rusqlite::Error {
    rusqlite::Error::InvalidQuery
}

fn found(hits: Vec<Hit>, sessions: Vec<SearchedSession>) -> Vec<TextMatch> {
    let shown = |SearchedSession { path, listed, .. }: SearchedSession| {
        let SessionSummary { id, cwd, name, .. } = listed.summary;
        Arc::new(HitSession { path, id, cwd, name })
    };
    let sessions: Vec<Arc<HitSession>> = sessions.into_iter().map(shown).collect();
    let found = |hit: Hit| Some(TextMatch { session: sessions.get(hit.session)?.clone(), hit });
    hits.into_iter().filter_map(found).collect()
}

/// The rows with texts to ingest or to index, the least recently modified first.
fn rows_to_index(catalog: &Catalog, rows: &HashSet<i64>) -> CatalogResult<Vec<(i64, Option<PendingSession>)>> {
    let mut todo: Vec<_> = pending(catalog.db())?
        .into_iter()
        .filter(|pending| rows.contains(&pending.session))
        .map(|pending| (pending.session, Some(pending)))
        .collect();
    let known: HashSet<i64> = todo.iter().map(|(session, _)| *session).collect();
    let mut statement = catalog.db().prepare_cached(
        "SELECT id FROM session AS s
         WHERE EXISTS (SELECT 1 FROM text WHERE session = s.id AND is_indexed = 0) ORDER BY modified, dir, name",
    )?;
    let unindexed: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<CatalogResult<_>>()?;
    let unindexed = unindexed.into_iter().filter(|session| rows.contains(session) && !known.contains(session));
    todo.extend(unindexed.map(|session| (session, None)));
    Ok(todo)
}

/// The positions of the sessions whose texts are all indexed. Other processes may have replaced some rows meanwhile.
fn ready(db: &Connection, sessions: &[SearchedSession]) -> CatalogResult<HashSet<usize>> {
    let mut statement = db.prepare_cached(
        "SELECT texts_to, EXISTS (SELECT 1 FROM text WHERE session = ?1 AND is_indexed = 0) FROM session WHERE id = ?1",
    )?;
    let mut ready = HashSet::new();
    for (at, session) in sessions.iter().enumerate() {
        let Some(row) = session.row else { continue };
        let found = statement.query_row([row], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, bool>(1)?)));
        // A last line without a newline may have a text, which is not ingested.
        let ListedSession { fingerprint, end, .. } = &session.listed;
        if matches!(found.optional()?, Some((to, false)) if to >= *end && *end == fingerprint.size) {
            ready.insert(at);
        }
    }
    Ok(ready)
}

#[cfg(test)]
mod tests;
