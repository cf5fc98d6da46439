//! The files in a directory that have the name of a session file.

use std::fs::DirEntry;
use std::io;
use std::path::Path;

use super::fs;

/// How every session file's name ends.
pub(crate) const ENDING: &str = ".jsonl";

/// The name of a directory's entry; None if it does not end as session files do, or is not Unicode: then it cannot be given to the API.
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
