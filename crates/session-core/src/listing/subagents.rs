//! The session files of subagents. They are below a directory that has a session's name without `.jsonl`, in folders at
//! any depth: `<session>/abc/run-0/session.jsonl`. Links are not followed.
//!
//! pi deletes a session's file and leaves its folder. Then the sessions in the folder are found by themselves.

use std::collections::{HashMap, HashSet};
use std::fs::FileType;
use std::path::Path;

use crate::base::error::{Error, Result};
use crate::base::paths::{join, parent, resolve_from};
use crate::io::fs;
use crate::io::open::is_exhausted;
use crate::io::session_files::{session_file_name, ENDING};
use crate::listing::candidates::{read_fingerprints, Candidate};

/// The session files of the subagents of these sessions, each with the index of its session. In `dirs`, also of
/// sessions whose file is missing; they have no index. For that `sessions` must contain every session file of these
/// directories. Fails if no file descriptor is left. The errors of folders that cannot be read are added to
/// `unreadable`. A relative path starts from `cwd`.
pub(crate) fn subagent_files(
    sessions: &[Candidate],
    dirs: &[String],
    cwd: &str,
    unreadable: &mut Vec<Error>,
) -> Result<Vec<(Candidate, Option<usize>)>> {
    let mut in_dirs: HashMap<String, HashMap<&str, usize>> = HashMap::new();
    // The directories as in the paths of their files.
    let whole: HashSet<String> = dirs.iter().map(|dir| parent(&join(dir, ENDING))).collect();
    in_dirs.extend(whole.iter().map(|dir| (dir.clone(), HashMap::new())));
    for (at, session) in sessions.iter().enumerate() {
        let Some(name) = session.name.strip_suffix(ENDING) else { continue };
        in_dirs.entry(parent(&session.path)).or_default().insert(name, at);
    }
    let mut waiting = Vec::new();
    for (dir, names) in &in_dirs {
        // One listing for all sessions of a directory, because few have subagents. If it fails, the list of sessions
        // fails there too.
        let Ok([_, folders]) = list(dir)? else { continue };
        let is_whole = whole.contains(dir);
        waiting.extend(folders.into_iter().filter_map(|name| match names.get(name.as_str()) {
            None if !is_whole || !has_name_of_session(&name) => None,
            session => Some((join(dir, &name), session.copied())),
        }));
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

/// Whether a folder has the name that pi gives to session files: a time and an id. If the session's file is missing,
/// only the name tells that a folder belongs to a session, because packages of subagents also have folders for other
/// files beside the sessions.
fn has_name_of_session(name: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00-00-00-000Z_";
    let is_like = |(byte, form): (u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == *form };
    name.len() > FORM.len() && name.bytes().zip(FORM).all(is_like)
}

/// The names of the session files in a folder, and of its folders. The outer error means that no file descriptor is
/// left.
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
