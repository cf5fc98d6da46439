use super::*;
use crate::format::entry::Damage;
use crate::storage::memory::MemoryStorage;
use crate::tree::RowNo;

fn load_text(text: &[u8]) -> Option<Loaded> {
    load(&MemoryStorage::new("test".into(), text.to_vec())).expect("readable")
}

fn ids(index: &Index) -> Vec<String> {
    let rows = 0..index.tree.len() as RowNo;
    rows.map(|row| String::from_utf8_lossy(index.tree.id_of(row)).into_owned()).collect()
}

/// Regression: white space at the end counted as a line, and so did the text that continued it.
#[test]
fn white_space_at_the_end_is_not_indexed_before_it_is_continued() {
    let start = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
    let entry = "{\"type\":\"custom\",\"id\":\"a\"}";
    for (blank, more) in [("\r", "torn\n"), (" ", "x"), ("\t\n ", entry), ("\n\n\r", "\ntorn\n"), ("", entry)] {
        for after in ["", entry] {
            let start = [start, after, blank].concat();
            let whole = [&*start, more, "\ntorn\n"].concat();
            let mut early = load_text(start.as_bytes()).expect("a session").index;
            early
                .read_more(&MemoryStorage::new("test".into(), whole.clone().into_bytes()), u64::MAX)
                .expect("readable");
            let index = load_text(whole.as_bytes()).expect("a session").index;
            if after.is_empty() || blank.contains('\n') {
                assert_eq!(ids(&early), ids(&index), "{whole:?}");
                assert_eq!(early.damaged(), index.damaged(), "{whole:?}");
            }
        }
    }
}

#[test]
fn a_later_header_that_is_unterminated_is_one_line() {
    let start = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"session\",\"id\":\"t\"}";
    let whole = format!("{start}\ntorn\n{{\"id\":\"a\"}}\n");
    let mut early = load_text(start.as_bytes()).expect("a session").index;
    assert_eq!((early.indexed_end(), early.is_after_unterminated_line()), (start.len() as u64, true));
    early.read_more(&MemoryStorage::new("test".into(), whole.clone().into_bytes()), u64::MAX).expect("readable");
    let index = load_text(whole.as_bytes()).expect("a session").index;
    assert_eq!((ids(&early), early.damaged()), (ids(&index), index.damaged()));
}

#[test]
fn damaged_lines_are_passed_over_and_named() {
    let text = b"garbage\n{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n\n{\"id\":\"a\",\"type\":\"custom\"}\r\nnull\n{\"type\":\"x\"}\n{\"id\":\"b\",\"bad\":\"\xff\"}";
    let loaded = load_text(text).expect("a session");
    assert_eq!(ids(&loaded.index), ["a", "b"]);
    assert!(loaded.is_unterminated);
    let damaged: Vec<_> = loaded.index.damaged().iter().map(|line| (line.line, line.damage)).collect();
    assert_eq!(damaged, [(1, Damage::NotJson), (5, Damage::NotAnObject), (6, Damage::NoId)]);
}

#[test]
fn the_first_line_that_parses_must_be_a_header() {
    assert!(load_text(b"null\n{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n").is_none());
    assert!(load_text(b"").is_none());
    assert!(load_text(b"\n \n").is_none());
}

#[test]
fn a_torn_line_is_read_again_when_it_is_whole() {
    let head = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"id\":\"a\"}\n";
    let mut loaded = load_text(format!("{head}{{\"id\":").as_bytes()).expect("a session");
    assert_eq!(ids(&loaded.index), ["a"]);
    let grown = MemoryStorage::new("test".into(), format!("{head}{{\"id\":\"b\"}}\n{{\"id\":\"c\"}}\n").into_bytes());
    assert!(!loaded.index.read_more(&grown, u64::MAX).expect("read"));
    assert_eq!(ids(&loaded.index), ["a", "b", "c"]);
    assert_eq!(loaded.index.tree.leaf(), Some(0));
    assert!(loaded.index.damaged().is_empty());
}
