//! Finding a session by its header, without reading more of any file than that.

use std::collections::HashSet;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::thread;

use super::catalog::rows::{self, Use};
use super::catalog::{Catalog, Location};
use super::error::Result;
use super::header::Header;
use super::info::Content;
use super::json::is_json;
use super::lines::{LineReader, HEAD};
use super::listing::absolute;
use super::paths::{join, resolve, same, Host};
use super::stamp::Stamp;
use super::text::shown;

/// The header in the first line that parses; None if that line is something else, or there is none.
pub fn header_in<R: Read>(lines: &mut LineReader<R>) -> io::Result<Option<Header>> {
    while let Some(line) = lines.next_line()? {
        let text = line.text();
        if is_json(&text) {
            return Ok(Header::read(&text));
        }
    }
    Ok(None)
}

/// The header of the file at `path`, however long its line is.
pub fn header_of(path: &str) -> io::Result<Option<Header>> {
    header_in(&mut LineReader::new(File::open(path)?, 0, HEAD))
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
        Some((Stamp::of(&meta.ok()?).modified_ms(), name))
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
        if let Some(header) = header_of(&path).ok().flatten() {
            if matches(&header, filter)? {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// From how many files on it is worth while to ask the catalog before their headers are read.
const MANY: usize = 64;

/// The session file of a directory whose header has exactly this id. Files that have it in their name come first, then
/// those that the catalog knows; of the rest the headers are read, but for those that the catalog knows to have
/// another. `cwd` is what a relative directory starts from.
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
    let has_id = |name: &str| -> Result<bool> {
        match header_of(&join(dir, name)).ok().flatten() {
            Some(header) => Ok(header.id == id && matches(&header, filter)?),
            None => Ok(false),
        }
    };
    let ending = [b"_", id, b".jsonl"].concat();
    for name in names.iter().filter(|name| name.as_bytes().ends_with(&ending)) {
        if has_id(name)? {
            return Ok(Some(join(dir, name)));
        }
    }
    let mut others = HashSet::new();
    if let Some(catalog) = location.filter(|_| names.len() >= MANY).and_then(Catalog::open) {
        let absolute = absolute(dir, cwd);
        // A catalog that cannot be asked knows nothing.
        for name in rows::names_of_id(catalog.db(), &absolute, id).unwrap_or_default() {
            if names.binary_search(&name).is_ok() && has_id(&name)? {
                return Ok(Some(join(dir, &name)));
            }
        }
        let known = rows::in_dir(catalog.db(), &absolute, |name, row| {
            let now = fs::metadata(join(dir, &name)).ok().map(|meta| Stamp::of(&meta));
            let is_current = now.is_some_and(|now| row.use_for(&now) != Use::Nothing && now == row.stamp);
            let has_other = row.known.content.info().is_some_and(|info| info.id != id);
            if is_current && (has_other || row.known.content == Content::NoSession) {
                others.insert(name);
            }
        });
        if known.is_err() {
            others.clear();
        }
    }
    for name in names.iter().filter(|name| !others.contains(*name)) {
        if has_id(name)? {
            return Ok(Some(join(dir, name)));
        }
    }
    Ok(None)
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
