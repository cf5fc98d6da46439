//! Finding a session by its header, without reading more of any file than that.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::catalog::rows;
use super::catalog::{Catalog, Location, SHORT_PATIENCE};
use super::error::Result;
use super::header::Header;
use super::listing::{absolute, on_threads};
use super::paths::{join, resolve, same, Host};
use super::skim::{HeaderLine, Skimmer};
use super::stamp::Stamp;
use super::text::shown;

/// Where a header ends at the latest, for being found among other files.
pub const HEADER_WITHIN: u64 = 64 << 20;

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

/// What a directory says to be a session file.
struct Named {
    name: String,
    /// A file without doubt: the system need not be asked what a link leads to.
    is_file: bool,
}

impl Named {
    fn of(entry: &DirEntry) -> Option<Self> {
        let name = entry.file_name().into_string().ok().filter(|name| name.ends_with(".jsonl"))?;
        Some(Self { name, is_file: entry.file_type().is_ok_and(|kind| kind.is_file()) })
    }

    /// The header of this file among others. What cannot be read, or is very large without a header, is no session.
    fn header(&self, dir: &str) -> Option<Header> {
        let path = join(dir, &self.name);
        let file = if self.is_file { File::open(&path) } else { open_file(Path::new(&path)) };
        first_header(file.ok()?.take(HEADER_WITHIN), NO_JSON_WITHIN).ok().flatten()
    }
}

/// The session files of a directory in name order. Names that are no text cannot be asked for and are left out.
fn named(dir: &str) -> io::Result<Vec<Named>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(if dir.is_empty() { "." } else { dir })? {
        all.extend(Named::of(&entry?));
    }
    all.sort_unstable_by(|left: &Named, right: &Named| left.name.cmp(&right.name));
    Ok(all)
}

/// The session files of a directory in name order, as names.
pub fn session_files(dir: &str) -> io::Result<Vec<String>> {
    Ok(named(dir)?.into_iter().map(|named| named.name).collect())
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
fn times(entries: &[DirEntry]) -> Vec<(f64, Named)> {
    let time_of = |entry: &DirEntry| {
        let named = Named::of(entry)?;
        // Asked in its directory, the system need not walk the whole path; but a link is asked what it leads to.
        let meta = if named.is_file { entry.metadata() } else { fs::metadata(entry.path()) };
        let meta = meta.ok().filter(|meta| meta.is_file())?;
        Some((Stamp::of(&meta).modified_ms(), named))
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
    files.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.name.cmp(&right.name)));
    for (_, named) in files {
        if let Some(header) = named.header(dir) {
            if matches(&header, filter)? {
                return Ok(Some(join(dir, &named.name)));
            }
        }
    }
    Ok(None)
}

/// From how many files on it is worth while to ask the catalog before their headers are read.
const MANY: usize = 64;

/// How many headers a thread reads at once.
const SHARE: usize = 16;

/// The session file of a directory whose header has exactly this id. A file's name, or the catalog, tells which one it is;
/// but where several have one id it is the first of them in name order, so the headers before it are read, too. `cwd` is
/// what a relative directory starts from.
pub fn by_id(
    dir: &str,
    id: &[u8],
    filter: Option<&CwdFilter<'_>>,
    location: Option<&Location>,
    cwd: &str,
) -> Result<Option<String>> {
    let Ok(files) = named(dir) else {
        return Ok(None);
    };
    let header_with_id = |file: &Named| file.header(dir).filter(|header| header.id == id);
    let is_it = |file: &Named| header_with_id(file).map_or(Ok(false), |header| matches(&header, filter));
    let ending = [b"_", id, b".jsonl"].concat();
    let mut found = None;
    for (at, file) in files.iter().enumerate().filter(|(_, file)| file.name.as_bytes().ends_with(&ending)) {
        if is_it(file)? {
            found = Some(at);
            break;
        }
    }
    let asks = found.is_none() && files.len() >= MANY;
    if let Some(catalog) = location.filter(|_| asks).and_then(|location| Catalog::open_within(location, SHORT_PATIENCE))
    {
        // A catalog that cannot be asked knows nothing.
        for name in rows::names_of_id(catalog.db(), &absolute(dir, cwd), id).unwrap_or_default() {
            let Ok(at) = files.binary_search_by(|file| file.name.cmp(&name)) else { continue };
            if files.get(at).map_or(Ok(false), is_it)? {
                found = Some(at);
                break;
            }
        }
    }
    let mut before = files.get(..found.unwrap_or(files.len())).unwrap_or_default();
    // More at a time as it goes on: the one may be near.
    let mut block = MANY;
    while !before.is_empty() {
        let (now, later) = before.split_at(block.min(before.len()));
        let same = Mutex::new(BTreeMap::new());
        on_threads(now.len().div_ceil(SHARE), |_: &mut (), share| {
            for (at, file) in now.iter().enumerate().skip(share * SHARE).take(SHARE) {
                if let Some(header) = header_with_id(file) {
                    same.lock().unwrap_or_else(PoisonError::into_inner).insert(at, header);
                }
            }
        });
        for (at, header) in same.into_inner().unwrap_or_else(PoisonError::into_inner) {
            if matches(&header, filter)? {
                return Ok(now.get(at).map(|file| join(dir, &file.name)));
            }
        }
        (before, block) = (later, block * 4);
    }
    Ok(found.and_then(|at| files.get(at)).map(|file| join(dir, &file.name)))
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
