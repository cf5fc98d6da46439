//! Finding a session by its header, without reading more of any file than that.

use std::fs::{self, File};
use std::io::{self, Read};
use std::time::UNIX_EPOCH;

use super::error::Result;
use super::header::Header;
use super::json::is_json;
use super::lines::{LineReader, HEAD};
use super::paths::{join, resolve, same, Host};
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

/// The modification time of a file in ms since 1970, in the precision that JavaScript sees.
pub fn modified_ms(meta: &fs::Metadata) -> f64 {
    let since = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0.0, |since| since.as_secs() as f64 * 1e3 + f64::from(since.subsec_nanos()) / 1e6)
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

/// The session file of a directory that was modified last. Unreadable files and dangling links are passed over.
pub fn most_recent(dir: &str, filter: Option<&CwdFilter<'_>>) -> Result<Option<String>> {
    let Ok(names) = session_files(dir) else {
        return Ok(None);
    };
    let mut files: Vec<(f64, String)> = names
        .iter()
        .map(|name| join(dir, name))
        .filter_map(|path| Some((modified_ms(&fs::metadata(&path).ok()?), path)))
        .collect();
    files.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    for (_, path) in files {
        if let Some(header) = header_of(&path).ok().flatten() {
            if matches(&header, filter)? {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// The session file of a directory whose header has exactly this id.
pub fn by_id(dir: &str, id: &[u8], filter: Option<&CwdFilter<'_>>) -> Result<Option<String>> {
    let Ok(names) = session_files(dir) else {
        return Ok(None);
    };
    for name in names {
        let path = join(dir, &name);
        if let Some(header) = header_of(&path).ok().flatten() {
            if header.id == id && matches(&header, filter)? {
                return Ok(Some(path));
            }
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
        assert_eq!(by_id(dir, b"s", None).expect("found"), Some(at("long.jsonl")));
        let elsewhere = CwdFilter { cwd: "/d", host: &Fixed };
        assert_eq!(most_recent(dir, Some(&elsewhere)).expect("found"), None);
    }
}
