//! File paths as pi reads them: `~`, `file://`, paths relative to the working directory, and the session directory of a
//! working directory. Nothing here calls the file system.

use std::path::Path;

use uuid::Uuid;

use super::error::{Error, Result, WithCall};
use super::memory::copy_of;
use super::path_syntax::{drive_of, PathSyntax};

/// The state of the process that paths depend on: [`StdProcess`], or the state that JavaScript sees.
pub trait Process {
    /// The working directory.
    fn cwd(&self) -> Result<String>;
    /// The user's home directory.
    fn home(&self) -> Result<String>;
    /// An environment variable.
    fn env(&self, name: &str) -> Result<Option<String>>;
    /// Converts a `file://` URL into a path.
    fn file_url(&self, url: &str) -> Result<String>;
    /// The agent's directory, if the process has its own rule for it (a renamed build of pi); else None.
    fn agent_dir(&self) -> Result<Option<String>> {
        Ok(None)
    }
    /// Discards the error of the last call, which is not reported.
    #[doc(hidden)]
    fn discard_error(&self) {}
}

/// The process as Rust's standard library sees it. A variable that is not Unicode counts as not set; a directory that
/// is not Unicode is an error.
#[derive(Debug, Clone, Copy, Default)]
pub struct StdProcess;

impl Process for StdProcess {
    fn cwd(&self) -> Result<String> {
        let cwd = std::env::current_dir().with_call("getcwd", ".")?;
        path_text(&cwd).map(str::to_owned)
    }

    fn home(&self) -> Result<String> {
        let home =
            std::env::home_dir().ok_or_else(|| Error::invalid("The user's home directory is not known; set HOME"))?;
        path_text(&home).map(str::to_owned)
    }

    fn env(&self, name: &str) -> Result<Option<String>> {
        Ok(std::env::var(name).ok())
    }

    fn file_url(&self, url: &str) -> Result<String> {
        Err(Error::invalid(format!("File URLs are not supported here; pass a path: {url}")))
    }
}

/// The environment variable with the agent's directory.
pub(crate) const AGENT_DIR_VARIABLE: &str = "PI_CODING_AGENT_DIR";

/// The longest path in bytes, far above the limit of any system. It exists because a header may contain a working
/// directory of any length.
pub(crate) const MAX_PATH: usize = 1 << 20;

/// The longest name of a file in file systems, in bytes.
const MAX_NAME: usize = 255;

const HERE: PathSyntax = PathSyntax::HERE;

/// A path as text. Fails if it is not Unicode.
pub(crate) fn path_text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Error::invalid(format!("The path must be Unicode: {}", path.display())))
}

/// An absolute path as text, so that it stays valid if the working directory changes.
pub(crate) fn absolute_text(path: &Path) -> Result<String> {
    // Windows' own call would remove dots from the ends of names.
    let absolute = if path.is_absolute() { Ok(path.to_owned()) } else { std::path::absolute(path) };
    path_text(&absolute.with_call("getcwd", path_text(path)?)?).map(str::to_owned)
}

/// Whether a path is independent of the working directory, except for its drive.
pub(crate) fn is_absolute(path: &str) -> bool {
    HERE.is_absolute(path)
}

/// Removes `.`, `..` and repeated separators. An empty path becomes `.`.
pub(crate) fn clean(path: &str) -> String {
    HERE.resolve(&[path])
}

/// Joins and cleans two paths. Keeps a trailing separator, as `path.join` does.
pub fn join(dir: &str, name: &str) -> String {
    HERE.join(dir, name)
}

/// Makes a path absolute: a relative path starts from `dir`.
pub(crate) fn resolve_from(dir: &str, path: &str) -> String {
    HERE.resolve(&[dir, path])
}

/// The directory that contains a path.
pub fn parent(path: &str) -> String {
    HERE.resolve(&[path, ".."])
}

/// The last name of a path.
pub(crate) fn file_name(path: &str) -> &str {
    HERE.file_name(path)
}

/// Replaces `~`, a `file://` URL and a shell's drive in a path. A relative path stays relative.
pub fn normalize(path: &str, process: &dyn Process) -> Result<String> {
    if let Some(path) = HERE.of_shell(path) {
        return Ok(path);
    }
    if path == "~" {
        return process.home();
    }
    let under_home = path.strip_prefix('~').filter(|rest| rest.starts_with(|c| HERE.is_separator(c)));
    if let Some(rest) = under_home {
        return Ok(join(&process.home()?, rest.get(1..).unwrap_or_default()));
    }
    if path.starts_with("file://") {
        return process.file_url(path);
    }
    Ok(path.to_owned())
}

/// Makes a path absolute and clean. A text that is too long for a path stays unchanged.
pub fn resolve(path: &str, process: &dyn Process) -> Result<String> {
    if path.len() > MAX_PATH {
        return Ok(copy_of(path)?);
    }
    let path = normalize(path, process)?;
    absolute(&path, process)
}

fn absolute(path: &str, process: &dyn Process) -> Result<String> {
    if HERE.is_complete(path) {
        return Ok(clean(path));
    }
    // Windows keeps a working directory for each drive.
    let drive = if cfg!(windows) { drive_of(path) } else { None };
    let of_drive = drive.map_or(Ok(None), |drive| process.env(&format!("={drive}")))?;
    Ok(HERE.resolve(&[&of_drive.unwrap_or_default(), &process.cwd()?, path]))
}

/// Whether two paths are equal after they are resolved. Links are not followed.
pub fn is_same_path(left: &str, right: &str, process: &dyn Process) -> Result<bool> {
    let (left, right) = (absolute(left, process)?, absolute(right, process)?);
    Ok(if cfg!(windows) { left.to_lowercase() == right.to_lowercase() } else { left == right })
}

/// Whether a path is a directory, or is in it. Both are absolute, and links are not followed.
pub(crate) fn is_in(path: &str, dir: &str) -> bool {
    place_in(&clean(path), &clean(dir)).is_some()
}

/// The part of a path after a directory; None if the path is not in it. Both are clean.
fn place_in<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    let (start, rest) = path.split_at_checked(dir.len())?;
    let is_same = if cfg!(windows) { start.to_lowercase() == dir.to_lowercase() } else { start == dir };
    let is_below = rest.is_empty() || rest.starts_with(|c| HERE.is_separator(c)) || dir.ends_with(HERE.separator());
    Some(rest).filter(|_| is_same && is_below)
}

/// The new path of a file or directory after the directory `from` was moved to `to`; None if it is neither `from` nor
/// in it. The paths are absolute.
pub(crate) fn moved_path(path: &str, from: &str, to: &str) -> Option<String> {
    let path = clean(path);
    let rest = place_in(&path, &clean(from))?;
    Some(if rest.is_empty() { clean(to) } else { join(to, rest) })
}

/// The agent's directory: by the process's own rule, else by the environment variable, else `~/.pi/agent`.
pub fn agent_dir(process: &dyn Process) -> Result<String> {
    if let Some(dir) = process.agent_dir()? {
        return Ok(dir);
    }
    match process.env(AGENT_DIR_VARIABLE)?.filter(|dir| !dir.is_empty()) {
        Some(dir) => normalize(&dir, process),
        None => Ok(join(&process.home()?, ".pi/agent")),
    }
}

/// The directory that contains the session directories of all working directories.
pub fn sessions_dir(process: &dyn Process) -> Result<String> {
    Ok(join(&agent_dir(process)?, "sessions"))
}

/// The session directory of a working directory, in the agent directory `agent` (None: the process's).
pub fn default_session_dir(cwd: &str, agent: Option<&str>, process: &dyn Process) -> Result<String> {
    let agent = match agent {
        Some(agent) => agent.to_owned(),
        None => agent_dir(process)?,
    };
    let sessions = join(&resolve(&agent, process)?, "sessions");
    Ok(join(&sessions, &dir_name(&resolve(cwd, process)?)))
}

/// The name of a working directory's session directory. A name that is too long for a file system is truncated, and
/// ends with a hash to keep it unique.
pub(super) fn dir_name(cwd: &str) -> String {
    let flat = |text: &str| text.replace(['/', '\\', ':'], "-");
    let tail = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd);
    if tail.len() + "----".len() <= MAX_NAME {
        return format!("--{}--", flat(tail));
    }
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, cwd.as_bytes()).simple().to_string();
    let room = MAX_NAME - "---".len() - hash.len() - "--".len();
    let cut = (0..=room).rev().find(|&at| tail.is_char_boundary(at)).unwrap_or(0);
    format!("--{}-{hash}--", flat(tail.get(..cut).unwrap_or_default()))
}

#[cfg(test)]
pub mod tests;
