//! A search from its beginning: the files are listed, what is new in them is taken into the catalog and indexed, and
//! then the index is asked.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use super::index::Indexer;
use super::query::{Hit, Options, Query, Search};
use crate::core::catalog::fill::{lacking, take, Lacking, Taken};
use crate::core::catalog::{discard_if_broken, Catalog, Location, Outcome};
use crate::core::info::Info;
use crate::core::listing::{read_with, stamp_all, Candidate, Listed};

/// How long a search waits for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often everything is looked at again if other processes changed it meanwhile. After that a temporary catalog is
/// used, in which nobody else writes.
const ROUNDS: usize = 8;

/// A hit with the session it is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub hit: Hit,
    /// The file's path, as a list shows it.
    pub path: String,
    pub session: Info,
}

/// A session that was listed.
#[derive(Debug, Clone)]
struct Session {
    path: String,
    info: Info,
    /// Where the whole lines end that were listed.
    end: u64,
}

/// Sessions by the catalog's numbers.
type Sessions = HashMap<i64, Session>;

/// What is searched.
pub struct Request<'a> {
    /// The files that may be sessions.
    pub files: &'a [Candidate],
    /// Whether a session counts.
    pub takes: &'a (dyn Fn(&Info) -> bool + Sync),
    pub query: &'a Query,
    pub options: &'a Options,
    /// Where the catalog is. Without one, or one that cannot be written, a temporary one is made and filled.
    pub location: Option<&'a Location>,
    pub cancelled: &'a AtomicBool,
    /// Told how many sessions of how many are indexed that were not.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Request<'_> {
    /// The hits, the best first, and the catalog they are from, to be tidied when they were given. None if it was cancelled.
    pub fn run(&self) -> Outcome<Option<(Vec<Found>, Catalog)>> {
        if let Some(location) = self.location {
            match Catalog::open(location).or_else(|| Catalog::make(location)).map(|catalog| self.run_on(catalog)) {
                Some(Ok(Some(found))) => return Ok(Some(found)),
                Some(Err(error)) => discard_if_broken(location, &error),
                Some(Ok(None)) | None => {}
            }
        }
        if self.is_cancelled() {
            return Ok(None);
        }
        self.run_on(Catalog::temporary()?)
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// None if it was cancelled, or if this catalog lacks something and cannot be written, or does not come to rest.
    fn run_on(&self, mut catalog: Catalog) -> Outcome<Option<(Vec<Found>, Catalog)>> {
        catalog.set_patience(PATIENCE)?;
        let mut indexer = Indexer::default();
        let mut files = Cow::Borrowed(self.files);
        for round in 0..ROUNDS {
            if round > 0 {
                stamp_all(files.to_mut());
            }
            let Some((listed, open)) = self.list(&files, catalog) else { return Ok(None) };
            catalog = open;
            let Some(sessions) = self.sessions(&catalog, &files, &listed)? else { return Ok(None) };
            if self.is_cancelled() {
                return Ok(None);
            }
            let Some(unreadable) = self.complete(&mut catalog, &sessions, &mut indexer, round == 0)? else {
                return Ok(None);
            };
            // One view: what is seen to be there is what is asked.
            let view = catalog.db().unchecked_transaction()?;
            if !is_complete(&view, &sessions, &unreadable)? {
                continue;
            }
            let hits = self.ask(&view, &sessions)?;
            drop(view);
            let Some(hits) = hits else { return Ok(None) };
            let found = |hit: Hit| {
                let Session { path, info, .. } = sessions.get(&hit.session)?.clone();
                Some(Found { hit, path, session: info })
            };
            let found = hits.into_iter().filter_map(found).collect();
            return Ok(Some((found, catalog)));
        }
        Ok(None)
    }

    /// What a list shows of the sessions that count, each with its file's place.
    fn list(&self, files: &[Candidate], catalog: Catalog) -> Option<(Vec<(usize, Listed)>, Catalog)> {
        let listed: Mutex<Vec<(usize, Listed)>> = Mutex::new(Vec::new());
        let each = |at: usize, found: Option<Listed>| {
            if let Some(found) = found.filter(|found| (self.takes)(&found.info)) {
                listed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, found));
            }
        };
        let catalog = read_with(files, Some(catalog), None, self.cancelled, &each)?;
        Some((listed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()), catalog))
    }

    fn ask(&self, db: &Connection, sessions: &Sessions) -> Outcome<Option<Vec<Hit>>> {
        let mut newest: Vec<(i64, &Session)> = sessions.iter().map(|(row, session)| (*row, session)).collect();
        newest.sort_by(|(_, left), (_, right)| {
            let time = |info: &Info| info.active.unwrap_or(0.0);
            time(&right.info).total_cmp(&time(&left.info)).then_with(|| right.path.cmp(&left.path))
        });
        let places = newest.into_iter().enumerate().map(|(place, (row, _))| (row, place)).collect();
        Search { db, query: self.query, sessions: &places, options: self.options, cancelled: self.cancelled }.run()
    }

    /// The sessions that were listed, by the catalog's numbers. None if it could not be written and lacks one of them.
    fn sessions(
        &self,
        catalog: &Catalog,
        files: &[Candidate],
        listed: &[(usize, Listed)],
    ) -> Outcome<Option<Sessions>> {
        let mut rows = HashMap::new();
        let dirs: HashSet<&str> = files.iter().map(|file| file.dir.as_str()).collect();
        let mut statement =
            catalog.db().prepare_cached("SELECT name, id, size, read_to, print FROM session WHERE dir = ?1")?;
        for dir in dirs {
            let mut found = statement.query([dir])?;
            while let Some(row) = found.next()? {
                let state: [i64; 3] = [row.get(2)?, row.get(3)?, row.get(4)?];
                rows.insert((dir, row.get::<_, String>(0)?), (row.get::<_, i64>(1)?, state));
            }
        }
        let mut sessions = HashMap::new();
        for (at, Listed { info, stamp, end, print }) in listed {
            let Some(file) = files.get(*at) else { continue };
            let row = rows.get(&(file.dir.as_str(), file.name.clone()));
            let is_current = row.is_some_and(|(_, state)| *state == [stamp.size as i64, *end as i64, *print as i64]);
            if catalog.is_read_only() && !is_current {
                return Ok(None);
            }
            // A row that another process took away meanwhile has no number; none is ever 0 or less.
            let row = row.map_or(-(*at as i64), |(row, _)| *row);
            sessions.insert(row, Session { path: file.path.clone(), info: info.clone(), end: *end });
        }
        Ok(Some(sessions))
    }

    /// Takes what the sessions lack into the catalog and the index. Gives those whose files cannot be read any more;
    /// None if it was cancelled, or cannot be.
    fn complete(
        &self,
        catalog: &mut Catalog,
        sessions: &Sessions,
        indexer: &mut Indexer,
        tells: bool,
    ) -> Outcome<Option<HashSet<i64>>> {
        let mut buffer = Box::default();
        let mut unreadable = HashSet::new();
        let todo = self.todo(catalog, sessions)?;
        if catalog.is_read_only() {
            return Ok(todo.is_empty().then_some(unreadable));
        }
        for (done, (session, lacking)) in todo.iter().enumerate() {
            if tells {
                (self.progress)(done, todo.len());
            }
            if let Some(lacking) = lacking {
                match take(catalog, lacking, &mut buffer, self.cancelled)? {
                    // Whether it is there, or must be looked at again, is seen when all are done.
                    Ok(Taken::All | Taken::Changed | Taken::Cancelled) => {}
                    // A file that cannot be read any more has nothing to add.
                    Err(_) => {
                        unreadable.insert(*session);
                    }
                }
            }
            if !indexer.index(catalog, *session, self.cancelled)? {
                return Ok(None);
            }
        }
        if tells && !todo.is_empty() {
            (self.progress)(todo.len(), todo.len());
        }
        Ok((!self.is_cancelled()).then_some(unreadable))
    }

    /// The sessions that lack something, those first that were changed longest ago.
    fn todo(&self, catalog: &Catalog, sessions: &Sessions) -> Outcome<Vec<(i64, Option<Lacking>)>> {
        let mut todo: Vec<_> = lacking(catalog.db(), None)?
            .into_iter()
            .filter(|lacking| sessions.contains_key(&lacking.session))
            .map(|lacking| (lacking.session, Some(lacking)))
            .collect();
        let known: HashSet<i64> = todo.iter().map(|(session, _)| *session).collect();
        let mut statement = catalog.db().prepare_cached(
            "SELECT id FROM session AS s
             WHERE EXISTS (SELECT 1 FROM text WHERE session = s.id AND is_indexed = 0) ORDER BY modified, dir, name",
        )?;
        let unindexed: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<Outcome<_>>()?;
        todo.extend(
            unindexed
                .into_iter()
                .filter(|session| sessions.contains_key(session) && !known.contains(session))
                .map(|session| (session, None)),
        );
        Ok(todo)
    }
}

/// Whether all that was listed is in the index: other processes may have put other rows in the place of some.
fn is_complete(db: &Connection, sessions: &Sessions, unreadable: &HashSet<i64>) -> Outcome<bool> {
    let mut statement = db.prepare_cached(
        "SELECT texts_to, EXISTS (SELECT 1 FROM text WHERE session = ?1 AND is_indexed = 0) FROM session WHERE id = ?1",
    )?;
    for (row, session) in sessions.iter().filter(|(row, _)| !unreadable.contains(row)) {
        let found = statement.query_row([row], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, bool>(1)?)));
        match found.optional()? {
            Some((taken, false)) if taken >= session.end => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}
