//! The files that belong to a session besides its own: the backups of migrations and repairs, and the sessions of its
//! subagents.
//!
//! A session may have any name in any directory. So a folder that only happens to have its name (`notes.jsonl`,
//! `notes/`) is the session's folder only if it contains nothing but sessions. A damaged session is one, too.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::error::{Result, WithCall};
use crate::base::paths::{absolute_text, path_text};
use crate::index::verify::Survey;
use crate::io::fs;
use crate::io::session_files::ENDING;
use crate::rewrite::backup::backups_of;
use crate::summary::header_scan::header_of;

/// The files that belong to a session.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Belongings {
    /// The backups beside the session's file.
    pub backups: Vec<String>,
    /// The session files of its subagents, in folders at any depth, damaged ones too.
    pub subagents: Vec<String>,
    /// The other content of the folder of the subagents, at any depth: files that are not sessions, and links.
    pub others: Vec<String>,
    /// The folder of the subagents, if it contains only their session files.
    pub folder: Option<String>,
}

/// The files that belong to the session file at `path`, whether or not that file exists. Symbolic links are not
/// followed. Paths that are not Unicode are omitted.
///
/// # Errors
///
/// `System`: a directory, or a file in the folder, cannot be read.
pub fn belongings(path: impl AsRef<Path>) -> Result<Belongings> {
    let path = absolute_text(path.as_ref())?;
    let backups = backups_of(Path::new(&path)).with_call("scandir", &path)?;
    let texts = |paths: Vec<PathBuf>| paths.iter().filter_map(|path| Some(path_text(path).ok()?.to_owned())).collect();
    let mut found = Belongings { backups: texts(backups), ..Belongings::default() };
    let Some(folder) = path.strip_suffix(ENDING) else { return Ok(found) };
    let FolderContent { mut sessions, mut others } = content_of(Path::new(folder))?;
    if !sessions.is_empty() {
        sessions.sort();
        others.sort();
        found.folder = Some(folder.to_owned()).filter(|_| others.is_empty());
        found.subagents = texts(sessions);
        found.others = texts(others);
    }
    Ok(found)
}

/// The content of a folder, at any depth.
#[derive(Debug, Default)]
struct FolderContent {
    sessions: Vec<PathBuf>,
    /// Files that are not sessions, and links.
    others: Vec<PathBuf>,
}

/// The content of a folder; empty if the path leads to no folder.
fn content_of(folder: &Path) -> Result<FolderContent> {
    let mut content = FolderContent::default();
    if fs::entry_at(folder).with_call("stat", &folder.to_string_lossy())?.is_none_or(|meta| !meta.is_dir()) {
        return Ok(content);
    }
    let mut waiting = vec![folder.to_owned()];
    while let Some(dir) = waiting.pop() {
        let name = dir.to_string_lossy();
        for entry in fs::list(&dir).with_call("scandir", &name)? {
            let path = dir.join(entry.file_name());
            let kind = entry.file_type().with_call("stat", &name)?;
            let has_name = entry.file_name().to_str().is_some_and(|name| name.ends_with(ENDING));
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() && has_name && is_session(&path).with_call("open", &path.to_string_lossy())? {
                content.sessions.push(path);
            } else {
                content.others.push(path);
            }
        }
    }
    Ok(content)
}

/// Whether a file is a session, or the rest of one: a header, or entries with ids. Messages without ids do not suffice
/// here, because other programs write such lines, too.
fn is_session(path: &Path) -> io::Result<bool> {
    if header_of(path)?.is_some() {
        return Ok(true);
    }
    Ok(Survey::of_beginning(path).is_ok_and(|survey| survey.other_format.is_none() && survey.has_parts_of_pi()))
}

#[cfg(test)]
mod tests;
