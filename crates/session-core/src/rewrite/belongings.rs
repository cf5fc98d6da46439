//! The files that belong to a session besides its own: the backups of migrations and repairs, and the sessions of its
//! subagents.
//!
//! A session may have any name in any directory. So a folder that only happens to have its name (`notes.jsonl`,
//! `notes/`) is the session's folder only if it contains nothing but sessions.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::error::{Result, WithCall};
use crate::base::paths::{absolute_text, path_text};
use crate::io::fs;
use crate::io::session_files::ENDING;
use crate::rewrite::backup::backups_of;
use crate::summary::header_scan::header_of;

/// The files that belong to a session.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Belongings {
    /// The backups beside the session's file.
    pub backups: Vec<String>,
    /// The session files of its subagents, in folders at any depth.
    pub subagents: Vec<String>,
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
    let FolderContent { mut sessions, has_others } = content_of(Path::new(folder))?;
    if !sessions.is_empty() {
        sessions.sort();
        found.folder = Some(folder.to_owned()).filter(|_| !has_others);
        found.subagents = texts(sessions);
    }
    Ok(found)
}

/// The content of a folder, at any depth.
#[derive(Debug, Default)]
struct FolderContent {
    sessions: Vec<PathBuf>,
    /// Whether there are other files: links, or files that are not sessions.
    has_others: bool,
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
            } else if kind.is_file()
                && has_name
                && header_of(&path).with_call("open", &path.to_string_lossy())?.is_some()
            {
                content.sessions.push(path);
            } else {
                content.has_others = true;
            }
        }
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "{\"type\":\"session\",\"id\":\"s\"}\n";

    #[test]
    fn a_folder_with_other_files_is_not_the_sessions() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| {
            let path = name.split('/').fold(dir.path().to_owned(), |path, part| path.join(part));
            path.to_str().expect("text").to_owned()
        };
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(Path::new(&at(name)).parent().expect("a directory")).expect("made");
            std::fs::write(at(name), text).expect("written");
        };
        for name in
            ["s.jsonl", "s/b/run-0/session.jsonl", "s/a.jsonl", "s.jsonl.bak", "s.jsonl.v1.bak.2", "s.jsonl.old"]
        {
            write(name, HEADER);
        }
        let want = Belongings {
            backups: vec![at("s.jsonl.bak"), at("s.jsonl.v1.bak.2")],
            subagents: vec![at("s/a.jsonl"), at("s/b/run-0/session.jsonl")],
            folder: Some(at("s")),
        };
        assert_eq!(belongings(at("s.jsonl")).expect("found"), want);
        write("s/b/data.jsonl", "{\"id\":\"x\"}\n");
        let found = belongings(at("s.jsonl")).expect("found");
        assert_eq!(found, Belongings { folder: None, ..want });
        write("other.jsonl", HEADER);
        write("other/notes.txt", "mine");
        assert_eq!(belongings(at("other.jsonl")).expect("found"), Belongings::default());
    }
}
