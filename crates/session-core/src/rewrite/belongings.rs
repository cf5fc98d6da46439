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

/// Whether a file is a session, or what is left of one: a header, or entries with ids. Messages without ids do not
/// suffice here, because other programs write such lines, too.
fn is_session(path: &Path) -> io::Result<bool> {
    if header_of(path)?.is_some() {
        return Ok(true);
    }
    Ok(Survey::of_beginning(path).is_ok_and(|survey| survey.other_format.is_none() && survey.has_parts_of_pi()))
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
            others: Vec::new(),
            folder: Some(at("s")),
        };
        assert_eq!(belongings(at("s.jsonl")).expect("found"), want);
        write("s/b/data.jsonl", "{\"id\":\"x\"}\n");
        write("s/b/page.html", "<p>");
        let found = belongings(at("s.jsonl")).expect("found");
        let others = vec![at("s/b/data.jsonl"), at("s/b/page.html")];
        assert_eq!(found, Belongings { folder: None, others, ..want });
        write("other.jsonl", HEADER);
        write("other/notes.txt", "mine");
        assert_eq!(belongings(at("other.jsonl")).expect("found"), Belongings::default());
        // Regression: a subagent's session with a torn header kept the folder, and stayed after a deletion.
        write("torn.jsonl", HEADER);
        write("torn/a/session.jsonl", "{\"type\":\"sess\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
        let (subagents, folder) = (vec![at("torn/a/session.jsonl")], Some(at("torn")));
        assert_eq!(
            belongings(at("torn.jsonl")).expect("found"),
            Belongings { subagents, folder, ..Belongings::default() }
        );
    }

    /// Regression: files of other programs were deleted with the session, because a line in them was like a message of
    /// version 1.
    #[test]
    fn messages_without_ids_do_not_make_a_session() {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path().join("s");
        std::fs::create_dir(&folder).expect("made");
        std::fs::write(folder.join("a.jsonl"), HEADER).expect("written");
        let message = |more: &str| {
            format!("{{\"type\":\"message\"{more},\"message\":{{\"role\":\"user\",\"content\":\"hi\"}}}}\n")
        };
        let others = [
            ("chat", message("")),
            ("claude", message(",\"parentUuid\":null,\"isSidechain\":true")),
            ("events", format!("{{\"type\":\"agent_start\"}}\n{}", message(",\"timestamp\":\"2026\""))),
            ("timed", message(",\"timestamp\":\"2026\"")),
        ];
        for (name, text) in &others {
            let path = folder.join(name).with_extension("jsonl");
            std::fs::write(&path, text).expect("written");
            let is_other = crate::index::verify::verify(&path).expect("read").other_format.is_some();
            assert_eq!(is_other, *name != "timed", "{name}");
        }
        let found = belongings(dir.path().join("s.jsonl")).expect("found");
        assert_eq!((found.subagents.len(), found.others.len(), found.folder), (1, others.len(), None));
    }
}
