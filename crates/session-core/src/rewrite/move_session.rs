//! Moves a session to another working directory, after the project's folder was renamed or moved.
//!
//! The session's file, its backups and the folder of its subagents move to another session directory, and the headers
//! get the new working directory. Each step renames or replaces one file: first the headers of subagents, then the
//! renames, and last the header of the session itself. Until then the session's header has the old working directory,
//! so if a move was killed, the next move finds the session and does the remaining steps. If a step fails, the steps
//! before it are undone. All bytes except the headers stay the same, and so do the files' times.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result, WithCall};
use crate::base::memory;
use crate::base::options::Durability;
use crate::base::paths::{absolute_text, join, moved_path, path_text};
use crate::base::wtf8::to_string_lossy;
use crate::format::header::{Header, HeaderFields, ParentSession};
use crate::io::dirs::{make_dir, sync_dir_of};
use crate::io::fs;
use crate::io::session_files::ENDING;
use crate::io::temporary::taken;
use crate::json::reader::{read, Raw};
use crate::json::{quoted, ObjectText};
use crate::lines::line_reader::line_text;
use crate::locks::lock_file::SessionLockGuard;
use crate::rewrite::backup::backups_of;
use crate::rewrite::belongings::belongings;
use crate::rewrite::replace::{retried, write_lines, Backup, ReadTo, Rewrite};
use crate::storage::storage::Storage;
use crate::summary::header_scan::{first_header, header_of};

/// The old and the new path of a project's folder, and the new session directory. Paths are absolute.
#[derive(Debug, Clone, Copy)]
pub struct Move<'a> {
    /// The old path of the folder.
    pub from: &'a str,
    /// The new path of the folder.
    pub to: &'a str,
    /// The session directory to which the session moves; None if it stays.
    pub session_dir: Option<&'a str>,
}

/// Moves the session file at `path`, whose working directory is `from` or below it. Returns its new path.
///
/// Also changes the headers of subagents' sessions whose working directory is in `from`, or whose parent is the
/// session's file. Other sessions that were forked from it keep the old path of their parent: [`set_parent_session`]
/// changes that.
///
/// # Errors
///
/// `InvalidArgument`: the session's working directory is not in `from`. `SessionLocked`: another process has the
/// session's lock. `SessionInvalid`: the file is not a session. `System`: a file cannot be read, written or renamed, or
/// a name exists (`EEXIST`). The session is then unchanged; if the steps could not be undone either, a later move
/// completes it.
pub fn move_session(path: impl AsRef<Path>, what: Move<'_>) -> Result<String> {
    let path = absolute_text(path.as_ref())?;
    let header = header_of(Path::new(&path)).with_call("open", &path)?.ok_or_else(|| Error::not_a_session(&path))?;
    if new_cwd(&header, what).is_none() {
        return Err(Error::argument(format!("The session's working directory is not in {}: {path}", what.from)));
    }
    let target = target_of(&path, what)?;
    let _locks = [Some(&path), Some(&target).filter(|target| **target != path)]
        .into_iter()
        .flatten()
        .map(|path| SessionLockGuard::join(path))
        .collect::<Result<Vec<_>>>()?;
    let mut done = Done::default();
    let moved = done.all(&path, &target, what);
    if moved.is_err() {
        done.undo();
    }
    moved.map(|()| target)
}

/// Sets the parent in the header of the session file at `path`. All other bytes and the file's time stay. Returns
/// whether the parent changed.
///
/// # Errors
///
/// If the file is no session, if another process has the session lock or keeps writing to the file, and if reading or
/// writing fails.
pub fn set_parent_session(path: impl AsRef<Path>, parent: &str) -> Result<bool> {
    let path = absolute_text(path.as_ref())?;
    let _lock = SessionLockGuard::join(&path)?;
    let is_other = |now: &&ParentSession| !matches!(now, ParentSession::Path(now) if now == parent.as_bytes());
    edit_header(&path, &|header| HeaderEdit {
        parent: header.parent.as_ref().filter(is_other).map(|_| parent.to_owned()),
        ..HeaderEdit::default()
    })
}

/// The path of the session's file after the move. Creates its directory.
fn target_of(path: &str, what: Move<'_>) -> Result<String> {
    let Some(dir) = what.session_dir else { return Ok(path.to_owned()) };
    make_dir(dir, Durability::Os)?;
    let name = Path::new(path).file_name().unwrap_or_default();
    Ok(join(dir, path_text(Path::new(name))?))
}

/// The new working directory of a header; None if it does not change.
fn new_cwd(header: &Header, what: Move<'_>) -> Option<String> {
    moved_path(std::str::from_utf8(header.cwd.as_deref()?).ok()?, what.from, what.to)
}

/// A step that was done.
enum Step {
    Renamed {
        from: PathBuf,
        to: PathBuf,
    },
    /// The header of the file at this path was changed. The edit restores its old values.
    Edited(String, HeaderEdit),
}

#[derive(Default)]
struct Done(Vec<Step>);

impl Done {
    fn all(&mut self, path: &str, target: &str, what: Move<'_>) -> Result<()> {
        let folders = path.strip_suffix(ENDING).zip(target.strip_suffix(ENDING));
        let new_parent = |parent: &str| match parent == path {
            true => Some(target.to_owned()),
            false => folders.and_then(|(old, new)| moved_path(parent, old, new)),
        };
        let edit = |header: &Header| HeaderEdit {
            cwd: new_cwd(header, what),
            parent: match &header.parent {
                Some(ParentSession::Path(parent)) if path != target => {
                    std::str::from_utf8(parent).ok().and_then(new_parent)
                }
                _ => None,
            },
        };
        for file in belongings(path)?.subagents {
            self.edit(&file, &edit)?;
        }
        if path != target {
            self.rename_all(path, target)?;
        }
        self.edit(target, &edit)
    }

    /// Renames every file of the session into the other directory, the session's own file last.
    fn rename_all(&mut self, path: &str, target: &str) -> Result<()> {
        let (old, new) = (Path::new(path), Path::new(target));
        let mut all = backups_of(old).with_call("scandir", path)?;
        if let Some(folder) = path.strip_suffix(ENDING).map(PathBuf::from) {
            let meta = fs::entry_at(&folder).with_call("stat", path)?;
            all.extend(Some(folder).filter(|_| meta.is_some_and(|meta| meta.is_dir())));
        }
        all.push(old.to_owned());
        let renamed = |from: PathBuf| (new.with_file_name(from.file_name().unwrap_or_default()), from);
        let renames: Vec<_> = all.into_iter().map(renamed).collect();
        // Checked before anything is renamed.
        for (to, _) in &renames {
            if fs::entry_at(to).with_call("stat", target)?.is_some() {
                return Err(Error::io("rename", &to.to_string_lossy(), taken()));
            }
        }
        for (to, from) in renames {
            fs::rename_new(&from, &to).with_call("rename", &from.to_string_lossy())?;
            self.0.push(Step::Renamed { from, to });
        }
        sync_dir_of(new).with_call("fsync", target)
    }

    fn edit(&mut self, path: &str, edit: &dyn Fn(&Header) -> HeaderEdit) -> Result<()> {
        let Some(header) = header_of(Path::new(path)).with_call("open", path)? else { return Ok(()) };
        if edit(&header).is_empty() {
            return Ok(());
        }
        let parent = match header.parent {
            Some(ParentSession::Path(parent)) => Some(to_string_lossy(&parent).into_owned()),
            _ => None,
        };
        let cwd = header.cwd.map(|cwd| to_string_lossy(&cwd).into_owned());
        // Recorded before the edit, because an edit that fails may have changed the file.
        self.0.push(Step::Edited(path.to_owned(), HeaderEdit { cwd, parent }));
        edit_header(path, edit).map(drop)
    }

    /// Undoes the steps, from the last to the first. Ignores errors, because the error that caused the undo is
    /// reported.
    fn undo(self) {
        for step in self.0.into_iter().rev() {
            match step {
                Step::Edited(path, before) => drop(edit_header(&path, &|_| before.clone())),
                Step::Renamed { from, to } => drop(fs::rename_new(&to, &from)),
            }
        }
    }
}

/// The new values of a header; None keeps a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct HeaderEdit {
    cwd: Option<String>,
    parent: Option<String>,
}

impl HeaderEdit {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Changes the header of a session file. Keeps the file's time. Returns whether the header changed.
fn edit_header(path: &str, edit: &dyn Fn(&Header) -> HeaderEdit) -> Result<bool> {
    retried(path, "its header is changed", |original| {
        let Some(header) = first_header(original.storage())? else { return Err(Error::not_a_session(path)) };
        let edit = edit(&header);
        if edit.is_empty() {
            return Ok(Some(false));
        }
        let mut rewrite = HeaderRewrite { edit, is_done: false };
        Ok(original.replace(Backup::None, &mut rewrite)?.map(|_| true))
    })
}

struct HeaderRewrite {
    edit: HeaderEdit,
    is_done: bool,
}

impl Rewrite for HeaderRewrite {
    fn write(&mut self, old: &dyn Storage, out: &mut dyn Write) -> Result<ReadTo> {
        self.is_done = false;
        write_lines(old, out, false, |line| match line.skipped {
            Some(_) => Ok(None),
            None if self.is_done => Ok(None),
            None => self.header_line(line.bytes),
        })
    }
}

impl HeaderRewrite {
    /// The new header; None for a line before it.
    fn header_line(&mut self, line: &[u8]) -> memory::Result<Option<Vec<u8>>> {
        let text = line_text(line)?;
        let Some(mut object) = ObjectText::read(&text)?.filter(|_| read::<HeaderFields<Raw<'_>>>(&text).is_some())
        else {
            return Ok(None);
        };
        self.is_done = true;
        if let Some(cwd) = &self.edit.cwd {
            object.set("cwd", quoted(cwd.as_bytes())?)?;
        }
        if let Some(parent) = &self.edit.parent {
            let key = if object.get("parentSession").is_some() { "parentSession" } else { "branchedFrom" };
            object.set(key, quoted(parent.as_bytes())?)?;
        }
        object.text().map(Some)
    }
}

#[cfg(test)]
mod tests;
