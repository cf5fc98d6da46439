//! A search from its beginning: the files are listed, what is new in them is taken into the catalog and indexed, and
//! then the index is asked.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use super::index::Indexer;
use super::query::{Hit, Options, Query, Search};
use crate::core::catalog::fill::{lacking, take, Lacking};
use crate::core::catalog::{discard_if_broken, Catalog, Location, Outcome};
use crate::core::info::Info;
use crate::core::listing::{read_with, Candidate, Listed};

/// How long a search waits for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often what is lacking is looked up again: others may be at it, too.
const ROUNDS: usize = 3;

/// A hit with the session it is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub hit: Hit,
    /// The file's path, as a list shows it.
    pub path: String,
    pub session: Info,
}

/// Paths and infos of sessions, by the catalog's numbers.
type Sessions = HashMap<i64, (String, Info)>;

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

    /// None if it was cancelled, or if this catalog lacks something and cannot be written.
    fn run_on(&self, catalog: Catalog) -> Outcome<Option<(Vec<Found>, Catalog)>> {
        catalog.set_patience(PATIENCE)?;
        let listed: Mutex<Vec<(usize, Listed)>> = Mutex::new(Vec::new());
        let each = |at: usize, found: Option<Listed>| {
            if let Some(found) = found.filter(|found| (self.takes)(&found.info)) {
                listed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, found));
            }
        };
        let Some(mut catalog) = read_with(self.files, Some(catalog), None, self.cancelled, &each) else {
            return Ok(None);
        };
        let listed = listed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(sessions) = self.sessions(&catalog, listed)? else { return Ok(None) };
        if self.is_cancelled() || !self.complete(&mut catalog, &sessions)? {
            return Ok(None);
        }
        let mut newest: Vec<(i64, &(String, Info))> = sessions.iter().map(|(row, session)| (*row, session)).collect();
        newest.sort_by(|(_, (left, a)), (_, (right, b))| {
            let time = |info: &Info| info.active.unwrap_or(0.0);
            time(b).total_cmp(&time(a)).then_with(|| right.cmp(left))
        });
        let places = newest.into_iter().enumerate().map(|(place, (row, _))| (row, place)).collect();
        let hits = Search {
            db: catalog.db(),
            query: self.query,
            sessions: &places,
            options: self.options,
            cancelled: self.cancelled,
        }
        .run()?;
        let Some(hits) = hits else { return Ok(None) };
        let found = |hit: Hit| {
            let (path, session) = sessions.get(&hit.session)?.clone();
            Some(Found { hit, path, session })
        };
        let found = hits.into_iter().filter_map(found).collect();
        Ok(Some((found, catalog)))
    }

    /// The sessions that were listed, by the catalog's numbers. None if it could not be written and lacks one of them.
    fn sessions(&self, catalog: &Catalog, listed: Vec<(usize, Listed)>) -> Outcome<Option<Sessions>> {
        let mut rows = HashMap::new();
        let dirs: HashSet<&str> = self.files.iter().map(|file| file.dir.as_str()).collect();
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
            let Some(file) = self.files.get(at) else { continue };
            let row = rows.get(&(file.dir.as_str(), file.name.clone()));
            let is_current = row.is_some_and(|(_, state)| *state == [stamp.size as i64, end as i64, print as i64]);
            if catalog.is_read_only() && !is_current {
                return Ok(None);
            }
            // A row that another process took away meanwhile is of a file that it found gone.
            if let Some((row, _)) = row {
                sessions.insert(*row, (file.path.clone(), info));
            }
        }
        Ok(Some(sessions))
    }

    /// Takes what the sessions lack into the catalog and the index. False if that was cancelled, or cannot be.
    fn complete(&self, catalog: &mut Catalog, sessions: &Sessions) -> Outcome<bool> {
        let mut indexer = Indexer::default();
        let mut buffer = Box::default();
        let mut told = false;
        for round in 0..ROUNDS {
            let todo = self.todo(catalog, sessions)?;
            if catalog.is_read_only() {
                return Ok(todo.is_empty());
            }
            for (done, (session, lacking)) in todo.iter().enumerate() {
                if round == 0 {
                    (self.progress)(done, todo.len());
                    told = true;
                }
                if let Some(lacking) = lacking {
                    // A file that cannot be read any more has nothing to add.
                    let _ = take(catalog, lacking, &mut buffer, self.cancelled)?;
                }
                if !indexer.index(catalog, *session, self.cancelled)? {
                    return Ok(false);
                }
            }
            if round == 0 && told {
                (self.progress)(todo.len(), todo.len());
            }
            if todo.is_empty() {
                break;
            }
        }
        Ok(!self.is_cancelled())
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
