//! The session directory that is configured for pi: by an environment variable, or by `sessionDir` of the settings.

use std::path::Path;

use crate::base::error::Result;
use crate::base::paths::{agent_dir, clean, is_absolute, join, normalize, resolve, Process};
use crate::base::wtf8::to_string_lossy;
use crate::io::open;
use crate::json::reader::{is_json, read, Raw};
use crate::json::{fields, string_bytes};

/// The environment variable with the session directory of all working directories.
pub(crate) const SESSION_DIR_VARIABLE: &str = "PI_CODING_AGENT_SESSION_DIR";

/// Larger settings are not read. A checkout contains its own settings, which may be a link to a file of any size.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

fields! {
    /// The settings that decide where sessions are.
    struct Settings<V> {
        session_dir: V = "sessionDir",
    }
}

/// The result of the configuration.
#[derive(Debug, Default)]
pub struct ConfiguredDir {
    /// None if sessions are in the default directories.
    pub dir: Option<String>,
    /// Descriptions of settings that are ignored, with the reason.
    pub problems: Vec<String>,
}

/// The session directory in the environment, else in the settings. The project's settings (if there is a working
/// directory) override the agent's, and an empty one removes the agent's. A relative path in settings starts from the
/// working directory. As in pi, settings that cannot be read count as empty.
pub fn configured_dir(cwd: Option<&str>, process: &dyn Process) -> Result<ConfiguredDir> {
    if let Some(dir) = process.env(SESSION_DIR_VARIABLE)?.filter(|dir| !dir.is_empty()) {
        return Ok(ConfiguredDir { dir: Some(normalize(&dir, process)?), problems: Vec::new() });
    }
    let cwd = cwd.map(|cwd| resolve(cwd, process)).transpose()?;
    let mut files = vec![join(&agent_dir(process)?, "settings.json")];
    files.extend(cwd.as_deref().map(|cwd| join(cwd, ".pi/settings.json")));
    let mut configured = ConfiguredDir::default();
    for file in files {
        match session_dir_in(&file) {
            Ok(None) => {}
            Ok(dir) => configured.dir = dir,
            Err(problem) => configured.problems.push(problem),
        }
    }
    if let Some(dir) = configured.dir.take().filter(|dir| !dir.is_empty()) {
        let dir = normalize(&dir, process)?;
        configured.dir = Some(match cwd {
            Some(cwd) if !is_absolute(&dir) => join(&cwd, &dir),
            _ => clean(&dir),
        });
    }
    Ok(configured)
}

/// `sessionDir` of a settings file. Fails if the file exists and cannot be used.
fn session_dir_in(file: &str) -> std::result::Result<Option<String>, String> {
    let unreadable =
        |why: &dyn std::fmt::Display| format!("Settings are ignored because they cannot be read: {file}: {why}");
    let bytes = match open::read_small(Path::new(file), MAX_SETTINGS_BYTES) {
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None)
        }
        bytes => bytes.map_err(|error| unreadable(&error))?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.is_empty() {
        return Ok(None);
    }
    if !is_json(text) {
        return Err(unreadable(&"it is not valid JSON"));
    }
    // A value that is not an object has no settings.
    let Some(dir) = read::<Settings<Raw<'_>>>(text).and_then(|settings| settings.session_dir) else {
        return Ok(None);
    };
    match string_bytes(dir.get()).map_err(|error| unreadable(&error))? {
        Some(dir) => Ok(Some(to_string_lossy(&dir).into_owned())),
        None => Err(format!("{file}: sessionDir is not a string and is ignored")),
    }
}

#[cfg(test)]
mod tests;
