//! The session files of subagents. They are below a directory that has a session's name without `.jsonl`, in folders of any depth:
//! `<session>/abc/run-0/session.jsonl`. Links are not followed.

use std::collections::HashMap;
use std::path::Path;

use crate::base::error::{Error, Result};
use crate::base::paths::{join, parent};
use crate::io::fs;
use crate::io::open::is_exhausted;
use crate::io::session_files::{session_file_name, ENDING};
use crate::listing::candidates::{absolute, read_fingerprints, Candidate};

/// The session files of the subagents of these sessions, each with the position of its session. An error if no file descriptor is
/// left; those of folders that cannot be read are added to `unreadable`. `cwd` is what a relative path starts from.
pub fn subagent_files(
    sessions: &[Candidate],
    cwd: &str,
    unreadable: &mut Vec<Error>,
) -> Result<Vec<(Candidate, usize)>> {
    let mut in_dirs: HashMap<String, HashMap<&str, usize>> = HashMap::new();
    for (at, session) in sessions.iter().enumerate() {
        let Some(name) = session.name.strip_suffix(ENDING) else { continue };
        in_dirs.entry(parent(&session.path)).or_default().insert(name, at);
    }
    let mut waiting = Vec::new();
    for (dir, names) in &in_dirs {
        // One listing for all sessions of a directory: few have subagents. One that fails is missed by the list of sessions, too.
        let Ok(listing) = list(dir)? else { continue };
        let folders = listing.folders.into_iter();
        waiting.extend(folders.filter_map(|name| Some((join(dir, &name), *names.get(name.as_str())?))));
    }
    let (mut files, mut owners) = (Vec::new(), Vec::new());
    while let Some((folder, session)) = waiting.pop() {
        let listing = match list(&folder)? {
            Ok(listing) => listing,
            Err(error) => {
                unreadable.push(error);
                continue;
            }
        };
        let dir = absolute(&folder, cwd);
        for name in listing.files {
            files.push(Candidate { path: join(&folder, &name), dir: dir.clone(), name, fingerprint: None });
            owners.push(session);
        }
        waiting.extend(listing.folders.iter().map(|name| (join(&folder, name), session)));
    }
    read_fingerprints(&mut files);
    let mut files: Vec<_> = files.into_iter().zip(owners).collect();
    files.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    Ok(files)
}

/// What is in a folder. The outer error says that no file descriptor is left.
fn list(folder: &str) -> Result<Result<Listing>> {
    match fs::list(Path::new(folder)) {
        Ok(entries) => Ok(Ok(Listing::of(&entries))),
        Err(error) if is_exhausted(&error) => Err(Error::io("scandir", folder, error)),
        Err(error) => Ok(Err(Error::io("scandir", folder, error))),
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
