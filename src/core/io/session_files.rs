//! The files in a directory that have the name of a session file.

use std::fs::{DirEntry, File};
use std::io;
use std::path::Path;

use super::fs;
use super::open::{self, Access};

/// A session file's name in its directory.
pub struct SessionFileName {
    pub name: String,
    /// Whether the directory lists it as a file. If not, it may be a link, and only `stat` tells what it leads to.
    pub is_file: bool,
}

impl SessionFileName {
    /// The name of a directory's entry; None if it does not end as session files do, or is not Unicode.
    pub fn of(entry: &DirEntry) -> Option<Self> {
        let name = entry.file_name().into_string().ok().filter(|name| name.ends_with(".jsonl"))?;
        Some(Self { name, is_file: entry.file_type().is_ok_and(|kind| kind.is_file()) })
    }

    /// Opens the file to read it.
    pub fn open(&self, dir: &str) -> io::Result<File> {
        open::regular(&Path::new(dir).join(&self.name), Access::Read)
    }
}

/// The session files of a directory, in name order. Names that are not Unicode cannot be given to the API and are left out.
pub fn session_files(dir: &str) -> io::Result<Vec<SessionFileName>> {
    let entries = fs::list(Path::new(if dir.is_empty() { "." } else { dir }))?;
    let mut all: Vec<_> = entries.iter().filter_map(SessionFileName::of).collect();
    all.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    Ok(all)
}
