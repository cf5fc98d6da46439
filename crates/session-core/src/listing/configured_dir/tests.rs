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

/// Regression: if a checkout's settings were a large sparse file, reading them used all memory.
#[test]
#[cfg(unix)]
fn settings_that_are_too_large_are_a_problem() {
    let agent = tempfile::tempdir().expect("a directory");
    let file = agent.path().join("settings.json");
    let process = WithAgent(agent.path().to_str().expect("text").to_owned());
    std::fs::File::create(&file).expect("created").set_len(1 << 40).expect("sparse");
    let found = configured_dir(Some("/dir"), &process).expect("read");
    let problem =
        format!("Settings are ignored because they cannot be read: {}: it has more than 1048576 bytes", file.display());
    assert_eq!((found.dir, found.problems), (None, vec![problem]));
    std::fs::remove_file(&file).expect("removed");
    #[cfg(target_os = "linux")]
    {
        std::os::unix::fs::symlink("/proc/self/pagemap", &file).expect("linked");
        assert_eq!(configured_dir(Some("/dir"), &process).expect("read").problems.len(), 1);
    }
}
