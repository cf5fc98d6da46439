use super::*;
use std::collections::BTreeMap;
use std::fs as std_fs;
use std::time::{Duration, SystemTime};

const REST: &str = "{\"type\":\"message\",\"id\":\"m\",\"cwd\":\"/old\"}\ntorn";

fn time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

/// A directory in the syntax of this system.
fn dir_of(path: &str) -> String {
    if cfg!(windows) {
        format!("C:{}", path.replace('/', "\\"))
    } else {
        path.to_owned()
    }
}

/// A session with a backup and two sessions of subagents, one below the other.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { dir: tempfile::tempdir().expect("a directory") };
        scene.write("a/s.jsonl", "/old", None);
        scene.write("a/s/x/one.jsonl", "/old/sub", Some("a/s.jsonl"));
        scene.write("a/s/x/one/two.jsonl", "/elsewhere", Some("a/s/x/one.jsonl"));
        std_fs::write(scene.at("a/s/notes.txt"), "x").expect("written");
        std_fs::write(scene.at("a/s.jsonl.v1.bak"), "before").expect("written");
        scene
    }

    fn at(&self, name: &str) -> String {
        let path = name.split('/').fold(self.dir.path().to_owned(), |path, part| path.join(part));
        path.to_str().expect("text").to_owned()
    }

    fn text(&self, cwd: &str, parent: Option<&str>) -> String {
        let parent = parent.map_or(String::new(), |parent| format!(",\"parentSession\":{:?}", self.at(parent)));
        format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":{:?},\"kept\":1.50{parent}}}\n{REST}",
            dir_of(cwd)
        )
    }

    fn write(&self, name: &str, cwd: &str, parent: Option<&str>) {
        let path = self.at(name);
        std_fs::create_dir_all(Path::new(&path).parent().expect("a directory")).expect("made");
        std_fs::write(&path, self.text(cwd, parent)).expect("written");
        std_fs::File::options().append(true).open(&path).and_then(|file| file.set_modified(time())).expect("set");
    }

    fn run(&self, path: &str) -> Result<String> {
        let dir = self.at("b");
        let [from, to] = ["/old", "/new/place"].map(dir_of);
        move_session(self.at(path), Move { from: &from, to: &to, session_dir: Some(&dir) })
    }

    /// All files with their texts, by name.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut waiting = vec![self.dir.path().to_owned()];
        while let Some(dir) = waiting.pop() {
            for entry in std_fs::read_dir(dir).expect("read").flatten() {
                match entry.file_type().expect("a kind").is_dir() {
                    true => waiting.push(entry.path()),
                    false => {
                        let path = entry.path();
                        let name = path.strip_prefix(self.dir.path()).expect("inside").to_str().expect("text");
                        files.insert(name.replace('\\', "/"), std_fs::read_to_string(path).expect("read"));
                    }
                }
            }
        }
        files.retain(|name, _| !name.ends_with(".tmp") && !name.ends_with(".lock"));
        files
    }

    fn moved(&self) -> BTreeMap<String, String> {
        let owned = |(name, text): (&str, String)| (name.to_owned(), text);
        [
            ("b/s.jsonl", self.text("/new/place", None)),
            ("b/s/x/one.jsonl", self.text("/new/place/sub", Some("b/s.jsonl"))),
            ("b/s/x/one/two.jsonl", self.text("/elsewhere", Some("b/s/x/one.jsonl"))),
            ("b/s/notes.txt", "x".to_owned()),
            ("b/s.jsonl.v1.bak", "before".to_owned()),
        ]
        .map(owned)
        .into()
    }
}

#[test]
fn a_session_is_moved_with_all_that_belongs_to_it() {
    let scene = Scene::new();
    assert_eq!(scene.run("a/s.jsonl").expect("moved"), scene.at("b/s.jsonl"));
    assert_eq!(scene.files(), scene.moved());
    for name in ["b/s.jsonl", "b/s/x/one.jsonl"] {
        assert_eq!(std_fs::metadata(scene.at(name)).and_then(|meta| meta.modified()).expect("a time"), time());
    }
    assert!(set_parent_session(scene.at("b/s/x/one.jsonl"), "/p").expect("set"));
    assert!(!set_parent_session(scene.at("b/s.jsonl"), "/p").expect("nothing to set"));
    assert!(scene.files()["b/s/x/one.jsonl"].contains("\"parentSession\":\"/p\"}\n"));
}

#[test]
fn a_name_that_is_taken_is_left_alone() {
    for taken in ["b/s.jsonl", "b/s", "b/s.jsonl.v1.bak"] {
        let scene = Scene::new();
        std_fs::create_dir(scene.at("b")).expect("made");
        std_fs::write(scene.at(taken), "theirs").expect("written");
        let before = scene.files();
        let error = scene.run("a/s.jsonl").expect_err("taken");
        assert_eq!(error.path(), Some(&*scene.at(taken)));
        assert_eq!(scene.files(), before);
    }
    let scene = Scene::new();
    scene.write("a/other.jsonl", "/older", None);
    assert!(scene.run("a/other.jsonl").is_err(), "it is not in the directory");
}

/// The process ends at each step in turn: no later call is made.
#[test]
#[cfg(unix)]
fn a_move_that_was_killed_is_completed_by_the_next() {
    use crate::io::fs::faults::{with, InjectedFault};
    for at in 0.. {
        let scene = Scene::new();
        let (_, made) = with(at, InjectedFault::Always(libc::EIO), || scene.run("a/s.jsonl"));
        let left = ["a/s.jsonl", "b/s.jsonl"].into_iter().filter(|name| Path::new(&scene.at(name)).exists());
        let [left] = *Vec::from_iter(left) else { panic!("step {at}: the session is there once") };
        if std_fs::read_to_string(scene.at(left)).expect("read").contains("/old\",\"kept") {
            scene.run(left).unwrap_or_else(|error| panic!("step {at}: {error}"));
        }
        assert_eq!(scene.files(), scene.moved(), "step {at}");
        if !made.hit {
            assert!(at > 50, "{at} steps");
            break;
        }
    }
}

/// Each step in turn fails once.
#[test]
#[cfg(unix)]
fn a_move_that_fails_changes_nothing() {
    use crate::io::fs::faults::{with, InjectedFault};
    let mut failed = 0;
    for at in 0.. {
        let scene = Scene::new();
        let before = scene.files();
        let (moved, made) = with(at, InjectedFault::Once(libc::EIO), || scene.run("a/s.jsonl"));
        match moved {
            Ok(_) => assert_eq!(scene.files(), scene.moved(), "step {at}"),
            Err(_) => {
                failed += 1;
                assert_eq!(scene.files(), before, "step {at}");
            }
        }
        if !made.hit {
            break;
        }
    }
    assert!(failed > 20, "{failed} steps failed");
}
