//! The session files of subagents. They are below a directory that has a session's name without `.jsonl`, in folders of any depth:
//! `<session>/abc/run-0/session.jsonl`. Links are not followed.

use std::collections::HashMap;
use std::fs::FileType;
use std::path::Path;

use crate::base::error::{Error, Result};
use crate::base::paths::{join, parent, resolve_from};
use crate::io::fs;
use crate::io::open::is_exhausted;
use crate::io::session_files::{session_file_name, ENDING};
use crate::listing::candidates::{read_fingerprints, Candidate};

/// The session files of the subagents of these sessions, each with the position of its session. An error if no file descriptor is
/// left; those of folders that cannot be read are added to `unreadable`. `cwd` is what a relative path starts from.
pub(crate) fn subagent_files(
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
        let Ok([_, folders]) = list(dir)? else { continue };
        waiting.extend(folders.into_iter().filter_map(|name| Some((join(dir, &name), *names.get(name.as_str())?))));
    }
    let (mut files, mut owners) = (Vec::new(), Vec::new());
    while let Some((folder, session)) = waiting.pop() {
        let [names, folders] = match list(&folder)? {
            Ok(found) => found,
            Err(error) => {
                unreadable.push(error);
                continue;
            }
        };
        let dir = resolve_from(cwd, &folder);
        for name in names {
            files.push(Candidate { path: join(&folder, &name), dir: dir.clone(), name, fingerprint: None });
            owners.push(session);
        }
        waiting.extend(folders.iter().map(|name| (join(&folder, name), session)));
    }
    read_fingerprints(&mut files);
    let mut files: Vec<_> = files.into_iter().zip(owners).collect();
    files.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    Ok(files)
}

/// The names of the session files in a folder, and of its folders. The outer error says that no file descriptor is left.
fn list(folder: &str) -> Result<Result<[Vec<String>; 2]>> {
    let entries = match fs::list(Path::new(folder)) {
        Ok(entries) => entries,
        Err(error) if is_exhausted(&error) => return Err(Error::io("scandir", folder, error)),
        Err(error) => return Ok(Err(Error::io("scandir", folder, error))),
    };
    let of_kind =
        |is: fn(&FileType) -> bool| entries.iter().filter(move |entry| entry.file_type().is_ok_and(|kind| is(&kind)));
    let files = of_kind(FileType::is_file).filter_map(session_file_name).collect();
    let folders = of_kind(FileType::is_dir).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    Ok(Ok([files, folders]))
}
