//! The session files of subagents. They are below a directory that has a session's name without `.jsonl`, in folders of any depth:
//! `<session>/abc/run-0/session.jsonl`. Links are not followed.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::report::LeftOutFile;
use crate::base::error::{Error, Result};
use crate::base::paths::{join, parent};
use crate::io::fs;
use crate::io::open::is_exhausted;
use crate::io::session_files::session_file_name;
use crate::listing::candidates::{absolute, read_fingerprints, Candidate};

/// How session files end.
const ENDING: &str = ".jsonl";

/// The session files of subagents.
#[derive(Default)]
pub struct SubagentFiles {
    /// Each with the position of the session that it belongs to.
    pub files: Vec<(Candidate, usize)>,
    /// Folders that cannot be read.
    pub unreadable: Vec<LeftOutFile>,
}

impl SubagentFiles {
    /// Those of these sessions. An error if no file descriptor is left. `cwd` is what a relative path starts from.
    pub fn of(sessions: &[Candidate], cwd: &str) -> Result<Self> {
        let mut in_dirs: HashMap<String, HashMap<&str, usize>> = HashMap::new();
        for (at, session) in sessions.iter().enumerate() {
            let Some(name) = session.name.strip_suffix(ENDING) else { continue };
            in_dirs.entry(parent(&session.path)).or_default().insert(name, at);
        }
        let mut found = Self::default();
        let mut files = Vec::new();
        for (dir, names) in &in_dirs {
            // One listing for all sessions of a directory: few have subagents. One that fails is missed by the list of sessions, too.
            let Ok(listing) = list(dir)? else { continue };
            for name in listing.folders {
                if let Some(session) = names.get(name.as_str()) {
                    found.below(join(dir, &name), *session, cwd, &mut files)?;
                }
            }
        }
        let (mut candidates, owners): (Vec<Candidate>, Vec<usize>) = files.into_iter().unzip();
        read_fingerprints(&mut candidates);
        found.files = candidates.into_iter().zip(owners).collect();
        found.files.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Finds the session files below a folder.
    fn below(&mut self, folder: String, session: usize, cwd: &str, files: &mut Vec<(Candidate, usize)>) -> Result<()> {
        let mut waiting = vec![folder];
        while let Some(folder) = waiting.pop() {
            let listing = match list(&folder)? {
                Ok(listing) => listing,
                Err(error) => {
                    let error = Error::io("scandir", &folder, error).to_string();
                    self.unreadable.push(LeftOutFile { path: folder, error });
                    continue;
                }
            };
            let dir = absolute(&folder, cwd);
            files.extend(listing.files.into_iter().map(|name| {
                (Candidate { path: join(&folder, &name), dir: dir.clone(), name, fingerprint: None }, session)
            }));
            waiting.extend(listing.folders.iter().map(|name| join(&folder, name)));
        }
        Ok(())
    }
}

/// What is in a folder. The outer error says that no file descriptor is left.
fn list(folder: &str) -> Result<io::Result<Listing>> {
    match fs::list(Path::new(folder)) {
        Ok(entries) => Ok(Ok(Listing::of(&entries))),
        Err(error) if is_exhausted(&error) => Err(Error::io("scandir", folder, error)),
        Err(error) => Ok(Err(error)),
    }
}

/// What a folder holds.
struct Listing {
    files: Vec<String>,
    folders: Vec<String>,
}

impl Listing {
    fn of(entries: &[std::fs::DirEntry]) -> Self {
        let is_file = |entry: &&std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
        let files = entries.iter().filter(is_file).filter_map(session_file_name);
        let is_folder = |entry: &&std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let folders = entries.iter().filter(is_folder).filter_map(|entry| entry.file_name().into_string().ok());
        Self { files: files.collect(), folders: folders.collect() }
    }
}
