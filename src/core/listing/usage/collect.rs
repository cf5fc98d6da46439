//! Collecting what the calls of many sessions used: from the catalog, or from their files.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;

use super::add_up::sort_sessions;
use super::report::{LeftOutFile, UsageSession};
use crate::base::error::{Error, Result};
use crate::base::paths;
use crate::base::threads::{into_inner, locked};
use crate::base::wtf8::to_string_lossy;
use crate::catalog::location::CatalogLocation;
use crate::io::fs;
use crate::io::open::{self, Access};
use crate::json::reader::{read, Raw};
use crate::json::{fields, Value};
use crate::listing::candidates::{absolute, read_fingerprints, Candidate};
use crate::listing::list::ListScope;
use crate::listing::read_all::read_all_with_usage;
use crate::summary::session_summary::{with_line, ListedSession, SessionSummary};
use crate::summary::usage::call::time;
use crate::summary::usage::session_usage::LargeEntry;

/// How many characters of the first message are the title of a session without a name.
const TITLE_CHARS: usize = 200;

/// Which sessions are added up.
pub enum UsageSource {
    Sessions(ListScope),
    /// One file.
    File(String),
}

/// What was collected.
#[derive(Debug, Default)]
pub struct Collected {
    /// The oldest first.
    pub sessions: Vec<UsageSession>,
    /// By their paths.
    pub left_out: Vec<LeftOutFile>,
}

/// Where and how sessions are collected.
pub struct Collection<'a> {
    pub source: &'a UsageSource,
    /// What a relative path starts from.
    pub cwd: &'a str,
    pub location: Option<&'a CatalogLocation>,
    /// How many of the largest entries of each session are kept.
    pub largest: usize,
    pub cancelled: &'a AtomicBool,
    /// Whether a session is added up.
    pub takes: &'a (dyn Fn(&SessionSummary) -> bool + Sync),
    /// Called with how many files were read, and how many there are.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Collection<'_> {
    /// Collects. None if it was cancelled. An error if no file descriptor is left, or if the one file cannot be read or is no
    /// session.
    pub fn run(&self) -> Result<Option<Collected>> {
        let (files, location, unreadable) = match self.source {
            UsageSource::Sessions(scope) => (scope.find(self.cwd)?, self.location, scope.unreadable_dirs()),
            // A list of its directory would take the rows of the other files for those of deleted ones.
            UsageSource::File(path) => (vec![candidate(path, self.cwd)], None, Vec::new()),
        };
        let left_out = unreadable.into_iter().map(|(path, error)| {
            let error = Error::io("scandir", &path, error).to_string();
            LeftOutFile { path, error }
        });
        let collected = Mutex::new(Collected { left_out: left_out.collect(), ..Collected::default() });
        let count = AtomicUsize::new(0);
        let each = |at: usize, listed: Option<ListedSession>| {
            let Some(file) = files.get(at) else { return };
            {
                let mut collected = locked(&collected);
                match listed {
                    Some(listed) if (self.takes)(&listed.summary) => {
                        collected.sessions.push(session(file.path.clone(), listed))
                    }
                    Some(_) => {}
                    // A directory is not a missing session.
                    None if fs::metadata(Path::new(&file.path)).is_ok_and(|meta| meta.is_dir()) => {}
                    None => {
                        collected.left_out.push(LeftOutFile { path: file.path.clone(), error: why(file).to_string() })
                    }
                }
            }
            (self.progress)(count.fetch_add(1, Ordering::Relaxed) + 1, files.len());
        };
        read_all_with_usage(&files, location, self.largest, self.cancelled, &each)?;
        if self.cancelled.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut collected = into_inner(collected);
        if let (UsageSource::File(_), Some(file), []) = (self.source, files.first(), &*collected.sessions) {
            return Err(why(file));
        }
        sort_sessions(&mut collected.sessions);
        collected.left_out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Some(collected))
    }
}

fn candidate(path: &str, cwd: &str) -> Candidate {
    let file = absolute(path, cwd);
    let (dir, name) = (paths::parent(&file), paths::file_name(&file).to_owned());
    let mut candidate = [Candidate { path: path.to_owned(), dir, name, fingerprint: None }];
    read_fingerprints(&mut candidate);
    let [candidate] = candidate;
    candidate
}

/// Why a file gave no session.
fn why(file: &Candidate) -> Error {
    match open::regular(Path::new(&file.path), Access::Read) {
        Err(error) if error.raw_os_error().is_none() && error.kind() == ErrorKind::InvalidInput => {
            Error::unusable("Not a regular file", &file.path)
        }
        Err(error) => Error::io("open", &file.path, error),
        Ok(_) => Error::not_a_session(&file.path),
    }
}

fn session(path: String, listed: ListedSession) -> UsageSession {
    let ListedSession { summary, usage, .. } = listed;
    let title = match summary.name {
        Some(name) => name,
        None => {
            let first = summary.first_message.unwrap_or_default();
            // A character takes at most four bytes.
            let beginning = first.get(..4 * TITLE_CHARS).unwrap_or(&first);
            to_string_lossy(beginning).chars().take(TITLE_CHARS).collect::<String>().into_bytes()
        }
    };
    let created = summary.created.as_ref().and_then(|json| time(json.as_bytes())).unwrap_or(f64::NAN);
    UsageSession { path, id: summary.id, cwd: summary.cwd, title, created, usage }
}

fields! {
    /// The id of an entry.
    struct IdField<V> {
        id: V = "id",
    }
}

/// The id of a large entry, WTF-8; None if its line has none, or has changed.
pub fn entry_id(session: &UsageSession, entry: &LargeEntry) -> Option<Vec<u8>> {
    let file = open::regular(Path::new(&session.path), Access::Read).ok()?;
    let from = entry.offset.0;
    let id = with_line(&file, (from, from + entry.bytes), &[], |line| {
        let fields = read::<IdField<Raw<'_>>>(line).ok()?;
        fields.id.as_ref().and_then(Value::text).map(|id| id.into_owned())
    });
    id.ok().flatten()
}
