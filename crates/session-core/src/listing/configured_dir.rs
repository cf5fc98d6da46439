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
mod tests {
    use super::*;
    use crate::base::paths::tests::Fixed;

    struct WithAgent(String);

    impl Process for WithAgent {
        fn cwd(&self) -> Result<String> {
            Fixed.cwd()
        }
        fn home(&self) -> Result<String> {
            Fixed.home()
        }
        fn env(&self, _name: &str) -> Result<Option<String>> {
            Ok(None)
        }
        fn file_url(&self, url: &str) -> Result<String> {
            Fixed.file_url(url)
        }
        fn agent_dir(&self) -> Result<Option<String>> {
            Ok(Some(self.0.clone()))
        }
    }

    #[test]
    fn the_environment_comes_before_settings() {
        assert_eq!(configured_dir(Some("/c"), &Fixed).expect("read").dir, Some(join("/home/me", "agent")));
    }

    #[test]
    fn settings_are_read_as_pi_reads_them() {
        let agent = tempfile::tempdir().expect("a directory");
        let file = agent.path().join("settings.json");
        let process = WithAgent(agent.path().to_str().expect("text").to_owned());
        for (text, dir, problem) in [
            ("", None, false),
            ("\u{feff}{\"sessionDir\": \"~/kept\"}", Some("/home/me/kept"), false),
            (r#"{"sessionDir": "own/./x", "theme": {}}"#, Some("/dir/own/x"), false),
            (r#"{"sessionDir": "a", "sessionDir": "\u002fbb"}"#, Some("/bb"), false),
            ("{\"sessionDir\": \"\"}", None, false),
            ("[]", None, false),
            ("null", None, false),
            ("{\"sessionDir\": 7}", None, true),
            ("{ not JSON", None, true),
        ] {
            std::fs::write(&file, text).expect("written");
            let found = configured_dir(Some("/dir"), &process).expect("read");
            let found_dir = found.dir.map(|dir| dir.replace('\\', "/"));
            assert_eq!((found_dir.as_deref(), !found.problems.is_empty()), (dir, problem), "{text}");
        }
    }

    /// Regression: a checkout whose settings are a large sparse file took all memory.
    #[test]
    #[cfg(unix)]
    fn settings_that_are_too_large_are_a_problem() {
        let agent = tempfile::tempdir().expect("a directory");
        let file = agent.path().join("settings.json");
        let process = WithAgent(agent.path().to_str().expect("text").to_owned());
        std::fs::File::create(&file).expect("created").set_len(1 << 40).expect("sparse");
        let found = configured_dir(Some("/dir"), &process).expect("read");
        let problem = format!(
            "Settings are ignored because they cannot be read: {}: it has more than 1048576 bytes",
            file.display()
        );
        assert_eq!((found.dir, found.problems), (None, vec![problem]));
        std::fs::remove_file(&file).expect("removed");
        #[cfg(target_os = "linux")]
        {
            std::os::unix::fs::symlink("/proc/self/pagemap", &file).expect("linked");
            assert_eq!(configured_dir(Some("/dir"), &process).expect("read").problems.len(), 1);
        }
    }
}
