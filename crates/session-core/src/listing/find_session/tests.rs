use super::*;
use crate::base::paths::tests::Fixed;
use std::fs;

/// Regression: only the files beside the project directories were searched.
#[test]
fn an_id_is_found_in_pis_layout() {
    let sessions = tempfile::tempdir().expect("a directory");
    let project = sessions.path().join("--project--");
    fs::create_dir(&project).expect("made");
    let path = project.join("s.jsonl").to_str().expect("text").to_owned();
    fs::write(&path, "{\"type\":\"session\",\"id\":\"s1\"}\n").expect("written");
    let scope = ListScope::all(sessions.path().to_str().expect("text").to_owned());
    assert_eq!(by_id(&scope, b"s1", &Fixed).expect("read"), Some(path));
    assert_eq!(by_id(&scope, b"s", &Fixed).expect("read"), None);
}

/// Regression: if no descriptor was left for a file, the file counted as one without the id.
#[cfg(unix)]
#[test]
fn a_search_for_an_id_fails_if_no_descriptor_is_left() {
    use crate::io::fs::faults::{with_first, InjectedFault};
    use crate::io::fs::FsCall;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl");
    fs::write(&path, "{\"type\":\"session\",\"id\":\"s1\"}\n").expect("written");
    let scope = ListScope::dir(dir.path().to_str().expect("text").to_owned(), None);
    let find = || by_id_prefix(&scope, b"s", true, &Fixed).map(|found| found.len());
    assert_eq!(find().expect("found"), 1);
    let (found, _) = with_first(FsCall::Open, InjectedFault::Once(libc::EMFILE), find);
    assert_eq!(found.expect_err("no descriptor").path(), path.to_str());
    let (found, _) = with_first(FsCall::Open, InjectedFault::Once(libc::EMFILE), || by_id(&scope, b"s1", &Fixed));
    assert_eq!(found.expect_err("no descriptor").path(), path.to_str());
    let (found, _) = with_first(FsCall::Open, InjectedFault::Once(libc::EACCES), find);
    assert_eq!(found.expect("others are found"), 0);
}
