use std::fs;
use std::io::Write as _;

use super::layout::Merged;
use super::*;
use crate::base::options::SessionFileOptions;
use crate::io::fs::faults::before_next;
use crate::io::fs::FsCall;
use crate::session::{Persistence, Session};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/here"}"#;

fn entry(id: &str, parent: &str) -> String {
    format!(r#"{{"type":"custom","id":"{id}","parentId":"{parent}","customType":"x"}}"#)
}

struct Scratch {
    _dir: tempfile::TempDir,
    path: String,
}

/// A session file with these lines after its header.
fn file(lines: &[&str]) -> Scratch {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let all: String = std::iter::once(&HEADER).chain(lines).map(|line| format!("{line}\n")).collect();
    fs::write(&path, all).expect("written");
    Scratch { _dir: dir, path }
}

impl Scratch {
    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.path).expect("read");
        assert!(text.ends_with('\n'));
        text.lines().skip(1).map(str::to_owned).collect()
    }

    fn merge(&self, stored: &[&str]) -> Merged {
        self.merge_since(stored, None)
    }

    fn merge_since(&self, stored: &[&str], since: Option<Since<'_>>) -> Merged {
        let stored: String = stored.iter().map(|line| format!("{line}\n")).collect();
        let merged = merge(&self.path, "s", stored.as_bytes(), since).expect("merged");
        #[cfg(unix)]
        if !merged.needs_all {
            assert_eq!(merged.inode, self.inode());
        }
        // The inode differs with each change.
        Merged { inode: String::new(), ..merged }
    }

    #[cfg(unix)]
    fn inode(&self) -> String {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(&self.path).expect("there").ino().to_string()
    }

    fn size(&self) -> u64 {
        fs::metadata(&self.path).expect("there").len()
    }
}

#[test]
fn stored_lines_come_in_their_order_and_those_that_are_not_stored_after_them() {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|id| entry(id, "p"));
    let file = file(&[&a, "torn {", "", &c, &d, "torn too"]);
    let stored = [a.as_str(), &b, &c];
    let merged = file.merge(&stored);
    let expected = [a.as_str(), "torn {", "", &b, &c, &d, "torn too"];
    assert_eq!(file.lines(), expected);
    let stored_bytes = [HEADER].iter().chain(&expected[..5]).map(|line| line.len() as u64 + 1).sum();
    let same = Merged { added: 1, unstored: 1, stored_bytes, changed: true, ..Merged::default() };
    assert_eq!(merged, same);
    assert_eq!(file.merge(&stored), Merged { added: 0, changed: false, ..same });
}

#[test]
fn a_repeated_entry_becomes_one() {
    let [a, b] = ["a", "b"].map(|id| entry(id, "p"));
    let file = file(&[&a, &b, &a]);
    file.merge(&[&b, &b]);
    assert_eq!(file.lines(), [b, a]);
}

#[test]
fn lines_after_the_known_ones_are_appended() {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|id| entry(id, "p"));
    let file = file(&[&a]);
    let bytes = file.size();
    let mut appended = fs::OpenOptions::new().append(true).open(&file.path).expect("opened");
    appended.write_all(format!("{c}\nhalf").as_bytes()).expect("written");
    let tail = format!("{a}\n");
    let since = Since { bytes, tail: tail.as_bytes() };
    let merged = file.merge_since(&[&a, &b], Some(since));
    assert_eq!((merged.added, merged.unstored, merged.stored_bytes), (1, 1, bytes + b.len() as u64 + 1));
    assert_eq!(file.lines(), [a.as_str(), &b, &c, "half"]);
    // A line that this host appended itself is in the front, and others were faster.
    assert!(file.merge_since(&[&d, &a], Some(since)).needs_all);
    // The position now contains other bytes.
    let other = Since { bytes: bytes + 3, tail: tail.as_bytes() };
    assert!(file.merge_since(&[&b], Some(other)).needs_all);
}

/// Stores use long ids. Short ids of machines that never met may be equal. The last entry counts, as in pi.
#[test]
fn entries_that_have_one_id_are_both_there() {
    let [mine, theirs, child] = [entry("c0ffee00", "p"), entry("c0ffee00", "q"), entry("child", "c0ffee00")];
    let file = file(&[&mine, &child]);
    let bytes = file.size();
    file.merge(&[&theirs]);
    assert_eq!(file.lines(), [theirs.as_str(), &mine, &child]);
    file.merge(&[&mine, &child, &theirs]);
    assert_eq!(file.lines(), [mine.as_str(), &child, &theirs]);
    let tail = format!("{child}\n");
    file.merge_since(&[&entry("child", "q")], Some(Since { bytes, tail: tail.as_bytes() }));
    assert_eq!(file.lines(), [mine, child, entry("child", "q"), theirs]);
}

#[test]
fn a_file_that_is_another_session_or_an_old_one_or_none_stays_as_it_is() {
    for text in [
        "",
        "no JSON\n",
        "{\"type\":\"session\",\"version\":3,\"id\":\"other\"}\n",
        "{\"type\":\"session\",\"id\":\"s\"}\n",
    ] {
        let file = file(&[]);
        fs::write(&file.path, text).expect("written");
        let line = format!("{}\n", entry("a", "p"));
        let stored = line.as_bytes();
        merge(&file.path, "s", stored, None).expect_err(text);
        create(&file.path, "s", HEADER.as_bytes(), stored).expect_err("there is a file");
        assert_eq!(fs::read_to_string(&file.path).expect("read"), text);
    }
}

#[test]
fn an_unterminated_stored_line_is_refused() {
    let file = file(&[]);
    merge(&file.path, "s", entry("a", "p").as_bytes(), None).expect_err("no newline");
    assert_eq!(file.lines(), [""; 0]);
}

/// Regression: such a line was added, and again with each merge.
#[test]
fn a_stored_line_that_is_not_an_entry_is_refused_by_its_number_and_changes_nothing() {
    let refused = [
        ("", "blank"),
        (" \t", "blank"),
        ("null", "valid JSON but no object"),
        ("[]", "valid JSON but no object"),
        ("{}", "an entry without a string id"),
        (r#"{"type":"custom","id":5}"#, "an entry without a string id"),
        ("garbage", "not valid JSON"),
        (HEADER, "a header"),
    ];
    for (line, reason) in refused {
        let file = file(&[&entry("a", "p")]);
        let before = fs::read(&file.path).expect("read");
        let lines = format!("{}\n{line}\n{}\n", entry("b", "p"), entry("c", "p"));
        let stored = lines.as_bytes();
        let tail = format!("{}\n", entry("a", "p"));
        let since = Since { bytes: file.size(), tail: tail.as_bytes() };
        for since in [None, Some(since)] {
            let error = merge(&file.path, "s", stored, since).expect_err(line);
            assert_eq!(error.to_string(), format!("line 2 of `lines` is not an entry: {reason}"));
        }
        assert_eq!(fs::read(&file.path).expect("read"), before, "{line}");
        fs::remove_file(&file.path).expect("removed");
        create(&file.path, "s", HEADER.as_bytes(), stored).expect_err(line);
        assert!(!fs::exists(&file.path).expect("asked"), "{line}");
    }
}

#[test]
fn a_new_file_has_the_header_and_the_lines() {
    let file = file(&[]);
    let line = format!("{}\n", entry("a", "p"));
    let stored = line.as_bytes();
    fs::remove_file(&file.path).expect("removed");
    create(&file.path, "other", HEADER.as_bytes(), stored).expect_err("the header is another session's");
    create(&file.path, "s", format!("{HEADER}\n").as_bytes(), stored).expect_err("two lines");
    let old = HEADER.replace("\"version\":3", "\"version\":2");
    let error = create(&file.path, "s", old.as_bytes(), stored).expect_err("an old version");
    assert!(error.to_string().ends_with("of version 3"), "{error}");
    assert!(!fs::exists(&file.path).expect("asked"));
    let merged = create(&file.path, "s", HEADER.as_bytes(), stored).expect("made");
    #[cfg(unix)]
    assert_eq!(merged.inode, file.inode());
    assert_eq!((merged.added, merged.stored_bytes), (1, file.size()));
    assert_eq!(file.lines(), [entry("a", "p")]);
}

#[test]
fn what_is_appended_during_a_merge_is_there_afterwards() {
    for moment in [FsCall::Write, FsCall::Sync, FsCall::Rename] {
        let [a, b, c] = ["a", "b", "c"].map(|id| entry(id, "p"));
        let file = file(&[&b]);
        let (path, text) = (file.path.clone(), format!("{c}\n"));
        before_next(moment, move || {
            let mut other = fs::OpenOptions::new().append(true).open(path).expect("opened");
            other.write_all(text.as_bytes()).expect("written");
        });
        file.merge(&[&a, &b]);
        assert_eq!(file.lines(), [a, b, c], "{moment:?}");
        assert_eq!(fs::read_dir(file._dir.path()).expect("read").count(), 1, "nothing is left beside it");
    }
}

#[test]
fn an_open_session_keeps_its_leaf_and_sees_what_was_added() {
    let [a, b, c, d] = [entry("a", "p"), entry("b", "a"), entry("c", "a"), entry("d", "c")];
    let file = file(&[&a, &b]);
    let mut session = Session::open(&file.path, Persistence::File, SessionFileOptions::default()).expect("opened");
    file.merge(&[&a, &c, &d]);
    session.refresh().expect("read");
    let tree = session.tree();
    assert_eq!(tree.len(), 4);
    assert_eq!(tree.leaf().map(|leaf| tree.id_of(leaf)), Some(&b"b"[..]));
}
