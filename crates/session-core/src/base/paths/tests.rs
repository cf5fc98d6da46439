use super::*;

/// A process with a fixed answer to everything.
pub(crate) struct Fixed;

impl Process for Fixed {
    fn cwd(&self) -> Result<String> {
        Ok("/home/me/here".into())
    }
    fn home(&self) -> Result<String> {
        Ok("/home/me".into())
    }
    fn env(&self, _name: &str) -> Result<Option<String>> {
        Ok(Some("~/agent".into()))
    }
    fn file_url(&self, url: &str) -> Result<String> {
        Ok(url.replacen("file://", "", 1))
    }
}

#[test]
fn the_standard_library_gives_the_process_as_it_is() {
    let here = std::env::current_dir().expect("a directory");
    assert_eq!(resolve("x", &StdProcess).expect("a path"), here.join("x").to_str().expect("text"));
    assert!(default_session_dir("x", None, &StdProcess).expect("a path").contains("--"));
    assert_eq!(StdProcess.env("NEVER_SET_BY_ANYBODY").expect("asked"), None);
    assert!(resolve("file:///x", &StdProcess).is_err());
}

#[test]
fn home_and_urls_are_understood() {
    let resolve = |path: &str| resolve(path, &Fixed).expect("a path").replace(HERE.separator(), "/");
    assert_eq!(resolve("~"), "/home/me");
    assert_eq!(resolve("~/x/../y"), "/home/me/y");
    assert_eq!(resolve("~x"), "/home/me/here/~x");
    assert_eq!(resolve("file:///a"), "/a");
    assert_eq!(resolve("../b"), "/home/me/b");
}

#[test]
fn a_path_in_a_directory_that_was_moved_has_another_one() {
    let moved =
        |path: &str, from: &str, to: &str| moved_path(path, from, to).map(|path| path.replace(HERE.separator(), "/"));
    assert_eq!(moved("/a/b", "/a/b", "/c").as_deref(), Some("/c"));
    assert_eq!(moved("/a/b/x/y", "/a/b/", "/c/d").as_deref(), Some("/c/d/x/y"));
    assert_eq!(moved("/a/bc", "/a/b", "/c"), None);
    assert_eq!(moved("/a", "/a/b", "/c"), None);
    assert_eq!(moved("/x/y", "/", "/c").as_deref(), Some("/c/x/y"));
}

#[test]
fn a_session_directory_is_named_after_the_working_directory() {
    let dir = |cwd: &str| default_session_dir(cwd, None, &Fixed).expect("a path").replace(HERE.separator(), "/");
    assert_eq!(dir("/ab/c:d"), "/home/me/agent/sessions/--ab-c-d--");
    assert_eq!(dir("/"), "/home/me/agent/sessions/----");
    let long = |end: char| format!("/{}{end}", "é/".repeat(120));
    assert!(file_name(&dir(&long('a'))).len() <= MAX_NAME);
    assert_ne!(dir(&long('a')), dir(&long('b')));
}
