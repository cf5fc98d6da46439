//! The session files of a directory, by their names.

use std::fs::DirEntry;
use std::io;
use std::path::Path;

use super::fs;

/// The end of every session file's name.
pub(crate) const ENDING: &str = ".jsonl";

/// The name of a directory's entry. None if it does not end with [`ENDING`], or is not Unicode: the API has no such
/// paths.
pub(crate) fn session_file_name(entry: &DirEntry) -> Option<String> {
    entry.file_name().into_string().ok().filter(|name| name.ends_with(ENDING))
}

/// The names of a directory's session files, sorted.
pub(crate) fn session_files(dir: &str) -> io::Result<Vec<String>> {
    let entries = fs::list(Path::new(if dir.is_empty() { "." } else { dir }))?;
    let mut all: Vec<_> = entries.iter().filter_map(session_file_name).collect();
    all.sort_unstable();
    Ok(all)
}
