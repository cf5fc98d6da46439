//! Finding a session by its header, without reading more of any file than that.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::catalog::rows::{self, Use};
use super::catalog::{Catalog, Location, SHORT_PATIENCE};
use super::error::Result;
use super::header::Header;
use super::info::Content;
use super::listing::{absolute, on_threads};
use super::paths::{join, resolve, same, Host};
use super::skim::{HeaderLine, Skimmer};
use super::stamp::Stamp;
use super::text::shown;

/// Where a header ends at the latest, for being found among other files.
const HEADER_WITHIN: u64 = 64 << 20;

/// How far lines that are no JSON are passed over in search of one: what has no header by then is no session.
const NO_JSON_WITHIN: u64 = 1 << 20;

/// The header in the first line that parses; None if that line is something else, or there is none. No line is held in
/// memory.
pub fn header_in<R: Read>(source: R) -> io::Result<Option<Header>> {
    first_header(source, u64::MAX)
}

fn first_header<R: Read>(source: R, limit: u64) -> io::Result<Option<Header>> {
    let mut lines = Skimmer::for_header(source);
    while !lines.is_done()? {
        match lines.header_line()? {
            HeaderLine::Header(header) => return Ok(Some(header)),
            HeaderLine::Other => return Ok(None),
            HeaderLine::NoJson => {}
        }
        if !lines.pass_line_before(limit)? {
            break;
        }
    }
    Ok(None)
}

/// Opens a file to read it. A pipe, a socket or a device is an error: it would keep whoever opens it waiting.
pub fn open_file(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    match kind.is_file() || kind.is_dir() {
        true => File::open(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// The header of the file at `path`, however long its line is.
pub fn header_of(path: &str) -> io::Result<Option<Header>> {
    header_in(open_file(Path::new(path))?)
}

/// The header of a file among others. What cannot be read, or is very large without a header, is no session.
fn discovered(path: &str) -> Option<Header> {
    let file = open_file(Path::new(path)).ok()?;
    first_header(file.take(HEADER_WITHIN), NO_JSON_WITHIN).ok().flatten()
}

/// The session files of a directory in name order, as names. Names that are no text cannot be asked for and are left
/// out.
pub fn session_files(dir: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(if dir.is_empty() { "." } else { dir })? {
        if let Ok(name) = entry?.file_name().into_string() {
            if name.ends_with(".jsonl") {
                names.push(name);
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Only sessions whose header names this working directory.
pub struct CwdFilter<'a> {
    pub cwd: &'a str,
    pub host: &'a dyn Host,
}

impl CwdFilter<'_> {
    /// Whether a header's working directory is the one. An absent or empty one never is.
    pub fn takes(&self, cwd: Option<&[u8]>) -> Result<bool> {
        match cwd.map(shown).filter(|cwd| !cwd.is_empty()) {
            Some(cwd) => same(&resolve(&cwd, self.host)?, self.cwd, self.host),
            None => Ok(false),
        }
    }
}

/// From how many files on their times are asked for on several threads.
const CROWD: usize = 256;

/// The session files among these, each with the time it was modified last.
fn times(entries: &[DirEntry]) -> Vec<(f64, String)> {
    let time_of = |entry: &DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| name.ends_with(".jsonl"))?;
        // Asked in its directory, the system need not walk the whole path; but a link is asked what it leads to.
        let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
        let meta = if is_link { fs::metadata(entry.path()) } else { entry.metadata() };
        let meta = meta.ok().filter(|meta| meta.is_file())?;
        Some((Stamp::of(&meta).modified_ms(), name))
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get()).clamp(1, 4);
    if entries.len() < CROWD || threads == 1 {
        return entries.iter().filter_map(time_of).collect();
    }
    thread::scope(|scope| {
        let mut files = Vec::with_capacity(entries.len());
        let mut shares = entries.chunks(entries.len().div_ceil(threads));
        let own = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|share| {
                let work = move || share.iter().filter_map(time_of).collect::<Vec<_>>();
                (share, thread::Builder::new().spawn_scoped(scope, work))
            })
            .collect();
        files.extend(own.iter().filter_map(time_of));
        for (share, other) in others {
            // A share whose thread could not be had is done here.
            match other.ok().and_then(|thread| thread.join().ok()) {
                Some(done) => files.extend(done),
                None => files.extend(share.iter().filter_map(time_of)),
            }
        }
        files
    })
}

/// The session file of a directory that was modified last. Unreadable files and dangling links are passed over.
pub fn most_recent(dir: &str, filter: Option<&CwdFilter<'_>>) -> Result<Option<String>> {
    let Ok(entries) = fs::read_dir(if dir.is_empty() { "." } else { dir }) else {
        return Ok(None);
    };
    let entries: Vec<DirEntry> = entries.flatten().collect();
    let mut files = times(&entries);
    // Those of one time in name order, as they would be found there.
    files.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    for (_, name) in files {
        let path = join(dir, &name);
        if let Some(header) = discovered(&path) {
            if matches(&header, filter)? {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// From how many files on it is worth while to ask the catalog before their headers are read.
const MANY: usize = 64;

/// How many headers a thread reads at once.
const SHARE: usize = 64;

/// The session file of a directory whose header has exactly this id; where several have it, the first of them in name
/// order. A file's name, then the catalog, tell one that has it; of the files before that one, those whose headers the
/// catalog does not know are read. `cwd` is what a relative directory starts from.
pub fn by_id(
    dir: &str,
    id: &[u8],
    filter: Option<&CwdFilter<'_>>,
    location: Option<&Location>,
    cwd: &str,
) -> Result<Option<String>> {
    let Ok(names) = session_files(dir) else {
        return Ok(None);
    };
    let header_with_id = |name: &str| discovered(&join(dir, name)).filter(|header| header.id == id);
    let is_it = |name: &str| header_with_id(name).map_or(Ok(false), |header| matches(&header, filter));
    let ending = [b"_", id, b".jsonl"].concat();
    let mut found = None;
    for (at, name) in names.iter().enumerate().filter(|(_, name)| name.as_bytes().ends_with(&ending)) {
        if is_it(name)? {
            found = Some(at);
            break;
        }
    }
    let mut known = HashMap::new();
    let catalog = location.filter(|_| found.is_none() && names.len() >= MANY);
    if let Some(catalog) = catalog.and_then(|location| Catalog::open_within(location, SHORT_PATIENCE)) {
        let absolute = absolute(dir, cwd);
        // A catalog that cannot be asked knows nothing.
        for name in rows::names_of_id(catalog.db(), &absolute, id).unwrap_or_default() {
            if let (Ok(at), true) = (names.binary_search(&name), is_it(&name)?) {
                found = Some(at);
                break;
            }
        }
        let read = rows::in_dir(catalog.db(), &absolute, |name, row| {
            if row.known.content.info().map_or(row.known.content == Content::NoSession, |info| info.id != id) {
                known.insert(name, row);
            }
        });
        if read.is_err() {
            known.clear();
        }
    }
    let has_other = |name: &str| {
        known.get(name).is_some_and(|row| {
            let now = fs::metadata(join(dir, name)).map(|meta| Stamp::of(&meta));
            now.is_ok_and(|now| now == row.stamp && row.use_for(&now) != Use::Nothing)
        })
    };
    let before = names.get(..found.unwrap_or(names.len())).unwrap_or_default();
    let also = Mutex::new(BTreeMap::new());
    on_threads(before.len().div_ceil(SHARE), |_: &mut (), share| {
        for (at, name) in before.iter().enumerate().skip(share * SHARE).take(SHARE) {
            if let Some(header) = Some(name).filter(|name| !has_other(name)).and_then(|name| header_with_id(name)) {
                also.lock().unwrap_or_else(PoisonError::into_inner).insert(at, header);
            }
        }
    });
    for (at, header) in also.into_inner().unwrap_or_else(PoisonError::into_inner) {
        if matches(&header, filter)? {
            found = Some(at);
            break;
        }
    }
    Ok(found.and_then(|at| names.get(at)).map(|name| join(dir, name)))
}

fn matches(header: &Header, filter: Option<&CwdFilter<'_>>) -> Result<bool> {
    filter.map_or(Ok(true), |filter| filter.takes(header.cwd.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::paths::tests::Fixed;

    #[test]
    fn one_bad_file_hides_no_session() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name).to_str().expect("text").to_owned();
        fs::create_dir(at("dir.jsonl")).expect("made");
        fs::write(at("junk.jsonl"), "junk").expect("written");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/nowhere/at/all", at("dangling.jsonl")).expect("linked");
        let long = format!("{{\"type\":\"session\",\"x\":\"{}\",\"id\":\"s\",\"cwd\":\"/c\"}}\n", "x".repeat(3 << 20));
        fs::write(at("long.jsonl"), long).expect("written");
        let dir = dir.path().to_str().expect("text");
        assert_eq!(most_recent(dir, None).expect("found"), Some(at("long.jsonl")));
        assert_eq!(by_id(dir, b"s", None, None, "/").expect("found"), Some(at("long.jsonl")));
        let elsewhere = CwdFilter { cwd: "/d", host: &Fixed };
        assert_eq!(most_recent(dir, Some(&elsewhere)).expect("found"), None);
    }
}
